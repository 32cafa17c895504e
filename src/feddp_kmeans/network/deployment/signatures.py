"""Signatures of sites on the roster of their kit: one small file per site, so that they can be gathered by copying."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.kit import Kit
from feddp_kmeans.network.deployment.plain_files import read_plain, write_plain
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.secure_sum.fields import Plain, statement
from feddp_kmeans.network.secure_sum.identity import Identity, sign, verify
from feddp_kmeans.network.site_key import SiteKey

_FOLDER = "signatures"
_AHEAD = 86_400
"""Seconds by which the clock of a signer may be ahead of ours."""


@dataclass(frozen=True)
class RosterSignature(Plain):
    """One site's signature on a roster."""

    name: str
    roster: str
    """The digest of the roster."""
    signed: int
    """When, in seconds since 1970: an earlier roster that is handed out again has earlier signatures."""
    signature: bytes = b""

    @property
    def content(self) -> bytes:
        """Return what is signed."""
        return statement("roster signature", self.name, self.roster, self.signed)

    def holds(self, roster: Roster, keys: Iterable[SiteKey]) -> bool:
        """Return whether this is a signature on the roster with one of these keys, which must be valid now."""
        if self.roster != roster.digest or not 0 <= self.signed <= time.time() + _AHEAD:
            return False
        return any(verify(site.key, self.signature, self.content) for site in keys if site.name == self.name and site.problem() is None)


def sign_roster(kit: Kit, identity: Identity) -> Path:
    """Sign the roster of a kit with a site's key; return the file with the signature."""
    name, roster = kit.name_of(identity.public_key()), kit.roster()
    unsigned = RosterSignature(name, roster.digest, int(time.time()))
    made = RosterSignature(name, unsigned.roster, unsigned.signed, sign(identity, unsigned.content))
    path = kit.folder / _FOLDER / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    write_plain(path, made)
    return path


def read_signatures(kit: Kit) -> list[RosterSignature]:
    """Return the signatures in a kit, whatever roster they are for; refuse a file that is none, or that is of another site."""
    found = []
    for path in sorted((kit.folder / _FOLDER).glob("*.json")):
        one = read_plain(path, RosterSignature, f"hold a site's signature on the roster, as any file in {_FOLDER}/")
        if one.name != path.stem:
            raise InputError(f"{_FOLDER}/{path.name} must be the file of the site that it names, got that of {one.name!r:.80}.")
        found.append(one)
    return found


def signers(kit: Kit, roster: Roster) -> list[str]:
    """Return the sites of the roster that have signed it."""
    return [one.name for one in read_signatures(kit) if one.holds(roster, roster.sites)]
