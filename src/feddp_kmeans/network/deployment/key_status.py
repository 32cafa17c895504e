"""The keys and certificates of a federation for a person to read: fingerprints in words, validity, and what is wrong with them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from feddp_kmeans.network.deployment.keys import is_encrypted, private_matches, read_certificates
from feddp_kmeans.network.deployment.kit import FederationFolder, Kit
from feddp_kmeans.network.fingerprint import in_words
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.secure_sum.identity import open_mode
from feddp_kmeans.network.site_key import SiteKey, when

_DAY = 86_400
_SOON = 30
"""Days before its end from which a key is said to expire soon."""


@dataclass(frozen=True)
class KeyLine:
    """One key or certificate."""

    name: str
    words: str
    since: int | None
    until: int | None
    remarks: tuple[str, ...] = ()

    @property
    def days_left(self) -> int | None:
        """Return the whole days until the key expires, negative afterwards; None if it never does."""
        return None if self.until is None else int((self.until - time.time()) // _DAY)

    @property
    def expired(self) -> bool:
        """Return whether the key's time is over."""
        return self.until is not None and time.time() > self.until

    @property
    def text(self) -> str:
        """Return the key on one line, with what a person should do something about in capital letters or in words."""
        validity, left = f"valid from {when(self.since)[:10]} until {when(self.until)[:10]}", self.days_left
        if left is None:
            validity = "never expires"
        elif self.expired:
            validity += ", EXPIRED"
        else:
            validity += f", {left} days left" + (", EXPIRES SOON" if left < _SOON else "")
        return "; ".join([f"{self.name}: {self.words}", validity, *self.remarks])


def key_lines(kit: Kit, folder: FederationFolder | None) -> list[KeyLine]:
    """Return the authorities, the server's certificate if its folder is here, and all sites."""
    first, *others = kit.authorities()
    sites = [_site_line(site) for site in kit.roster().sites]
    if folder is None:
        return [*(_certificate_line("authority", one) for one in (first, *others)), *sites]
    key = folder.authority_key
    kept = () if is_encrypted(key) or not key.exists() else ("ca.key is NOT ENCRYPTED",)
    (server,) = read_certificates(folder.certificate)
    fits = () if private_matches(folder.key, server) else ("server.key is NOT ITS KEY",)
    return [
        _certificate_line("authority", first, *_exposed(key), *kept),
        *(_certificate_line("earlier authority", one) for one in others),
        _certificate_line("server", server, *_exposed(folder.key), *fits),
        *sites,
    ]


def roster_lines(roster: Roster) -> Iterator[str]:
    """Yield the words of a roster and a line for each of its sites."""
    yield f"roster of {len(roster.sites)} sites at {roster.host}, port {roster.port}: {roster.words}"
    for site in roster.sites:
        yield f"  {_site_line(site).text}"


def _site_line(site: SiteKey) -> KeyLine:
    return KeyLine(site.name, site.words, site.since, site.until, ("REVOKED",) if site.revoked else ())


def _certificate_line(name: str, certificate: x509.Certificate, *remarks: str) -> KeyLine:
    since, until = (int(at.timestamp()) for at in (certificate.not_valid_before_utc, certificate.not_valid_after_utc))
    return KeyLine(name, in_words(certificate.public_bytes(Encoding.DER)), since, until, remarks)


def _exposed(path: Path) -> tuple[str, ...]:
    """Return what is wrong with the mode of a private key, if the file is here."""
    mode = open_mode(path) if path.exists() else None
    return () if mode is None else (f"{path.name} is READABLE BY OTHERS, mode {mode}: chmod 600 {path}",)
