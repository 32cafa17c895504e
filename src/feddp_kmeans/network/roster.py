"""The roster of a federation: who its sites are, with which keys, and where its server is. Sites compare it by its words."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.fingerprint import ROSTER_WORDS, in_words
from feddp_kmeans.network.secure_sum.fields import Plain, encode, statement
from feddp_kmeans.network.secure_sum.identity import PublicIdentity
from feddp_kmeans.network.site_key import SiteKey


@dataclass(frozen=True)
class Roster(Plain):
    """What all sites of a federation have to agree on."""

    host: str
    port: int
    authorities: tuple[bytes, ...]
    """SHA-256 fingerprints of the certificates that the server's own may be signed with."""
    sites: tuple[SiteKey, ...]
    """Every site, in the order of names. Those that are expired or revoked count as sites, too, and cannot take part."""

    def __post_init__(self) -> None:
        names: dict[str, str] = {}
        for site in self.sites:
            if (other := names.setdefault(site.line, site.name)) != site.name:
                raise InputError(f"{site.name}.pub must hold a key of its own, got the key of {other!r}: one site would count twice.")

    @property
    def content(self) -> bytes:
        """Return what the words and the signatures of a roster stand for: all of it, except which keys were revoked since."""
        return statement("roster", self.host, str(self.port), encode(*self.authorities), encode(*(site.content for site in self.sites)))

    @property
    def digest(self) -> str:
        """Return the SHA-256 digest of the roster, as hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def words(self) -> str:
        """Return the fingerprint of the whole roster: the first half of the digest."""
        return in_words(self.content, ROSTER_WORDS)

    def get(self, name: str) -> SiteKey | None:
        """Return a site's entry, or None."""
        return next((site for site in self.sites if site.name == name), None)

    @property
    def usable(self) -> dict[str, PublicIdentity]:
        """Return the keys that may be used now, by name."""
        return {site.name: site.key for site in self.sites if site.problem() is None}

    @property
    def problems(self) -> dict[str, str]:
        """Return why sites cannot take part now, by name."""
        return {site.name: problem for site in self.sites if (problem := site.problem()) is not None}

    def without(self, revoked: "Roster | None") -> "Roster":
        """Return this roster, in which keys that are revoked in the other one are revoked as well."""
        lines = set() if revoked is None else {site.line for site in revoked.sites if site.revoked}
        return replace(self, sites=tuple(replace(site, revoked=site.revoked or site.line in lines) for site in self.sites))


class KnownSites(Mapping[str, PublicIdentity]):
    """All sites of a roster. To ask for a key that may not be used now is an error that says why.

    Thresholds are computed from their number. A site that is revoked or expired keeps counting: otherwise a server could lower the
    threshold by revoking honest sites.
    """

    def __init__(self, roster: Roster) -> None:
        self._sites = {site.name: site for site in roster.sites}

    def __getitem__(self, name: str) -> PublicIdentity:
        return self._sites[name].usable()

    def __contains__(self, name: object) -> bool:
        return name in self._sites

    def __iter__(self) -> Iterator[str]:
        return iter(self._sites)

    def __len__(self) -> int:
        return len(self._sites)
