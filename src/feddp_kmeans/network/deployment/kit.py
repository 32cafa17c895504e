"""The federation folder: ``public/`` is the kit that every site gets, ``private/`` never leaves the server."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, read_object
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.keys import (
    DAYS,
    check_days,
    hosts_of,
    read_certificates,
    renew_authority,
    server_names,
    write_authority,
    write_server,
)
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.secure_sum.identity import PublicIdentity, private_bytes
from feddp_kmeans.network.site_key import read_site_key, when

_PUBLIC, _PRIVATE, _SITES, _REVOKED, _ABOUT = "public", "private", "sites", "revoked", "federation.json"
_HOST = re.compile(r"[A-Za-z0-9._:%-]{1,253}")
PORTS = range(1, 1 << 16)
_FORMAT = 1


@dataclass(frozen=True)
class Kit:
    """What a site knows of its federation: the server's address, the authority of its certificate, and the keys of all sites."""

    folder: Path
    host: str
    port: int

    @property
    def address(self) -> str:
        """Return the server's address as HOST:PORT."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> Path:
        """Return the certificate of the federation's authority."""
        return self.folder / "ca.crt"

    @property
    def endorsements(self) -> Path:
        """Return the certificates by which earlier authorities vouch for later ones; there may be no such file."""
        return self.folder / "ca.renewed.crt"

    @property
    def roster_fingerprint(self) -> str:
        """Return the words of the roster, which all sites of a federation have in common."""
        return self.roster().words

    def authorities(self) -> list[x509.Certificate]:
        """Return the certificates that the server's own may be signed with: the current authority's first."""
        return read_certificates(self.authority)

    def roster(self) -> Roster:
        """Return all sites, in the order of names, as their files state them now."""
        found = {path.stem: read_site_key(path) for path in self._keys(_SITES)}
        for path in self._keys(_REVOKED):  # read later: a key that is being revoked is in one folder or the other
            site = read_site_key(path, revoked=True)
            if found.setdefault(path.stem, site).line == site.line:
                found[path.stem] = site
        authorities = tuple(certificate.fingerprint(hashes.SHA256()) for certificate in self.authorities())
        return Roster(self.host, self.port, authorities, tuple(found[name] for name in sorted(found)))

    def sites(self) -> dict[str, PublicIdentity]:
        """Return the keys that may be used now by the names of their sites, in the order of names."""
        return self.roster().usable

    def name_of(self, key: PublicIdentity) -> str:
        """Return the name under which a public key is known; refuse one that is not, or that may not be used now."""
        for site in self.roster().sites:
            if site.key == key:
                site.usable()
                return site.name
        raise InputError("--key must belong to a site of this federation; the server has to put its .pub file into public/sites first.")

    def revoke(self, name: str) -> None:
        """Mark the key of a site as revoked: it still counts as a site, and its key is not accepted any more."""
        path = self.folder / _SITES / f"{name}.pub"
        if path not in self._keys(_SITES):
            raise InputError(f"--revoke must name a site of the federation, got {name!r:.80}.")
        (self.folder / _REVOKED).mkdir(exist_ok=True)
        path.replace(self.folder / _REVOKED / path.name)

    def _keys(self, folder: str) -> list[Path]:
        return sorted((self.folder / folder).glob("*.pub"))


@dataclass(frozen=True)
class FederationFolder:
    """The server's folder: the kit, and the certificate and the private key that only the server may read."""

    kit: Kit
    certificate: Path
    key: Path

    @property
    def authority_key(self) -> Path:
        """Return the key of the authority, which is needed only to sign certificates."""
        return self.key.with_name("ca.key")

    def renew(self, passphrase: bytes | None, days: int = DAYS) -> None:
        """Make a new key and certificate of the server for the same names, signed by the current authority."""
        write_server(self.key.parent, self.authority_key, self.kit.authority, hosts_of(self.certificate), passphrase, days)

    def renew_authority(self, passphrase: bytes | None) -> None:
        """Make a new authority. The server's certificate stays that of the earlier one until it is renewed."""
        renew_authority(self.authority_key, self.kit.authority, self.kit.endorsements, passphrase)


def make_federation(folder: Path, hosts: Sequence[str], port: int, passphrase: bytes | None = None, days: int = DAYS) -> FederationFolder:
    """Make a federation folder for a server that is reached by these names; sites use the first. The passphrase is of the authority."""
    check_new(folder, hosts, port)
    check_days(days)
    public, private = folder / _PUBLIC, folder / _PRIVATE
    (public / _SITES).mkdir(parents=True)
    private.mkdir(mode=0o700)
    write_authority(private / "ca.key", public / "ca.crt", passphrase)
    write_server(private, private / "ca.key", public / "ca.crt", hosts, passphrase, days)
    about = {"format": _FORMAT, "host": hosts[0], "port": port}
    write_whole(public / _ABOUT, (json.dumps(about, indent=2) + "\n").encode())
    return _federation(folder)


def check_new(folder: Path, hosts: Sequence[str], port: int) -> None:
    """Refuse names, a port or a folder of which no federation can be made."""
    if not hosts:
        raise InputError("--host must be given: the name or address by which sites reach the server.")
    server_names(hosts)
    if port not in PORTS:
        raise InputError(f"--port must be between 1 and 65535, got {port}.")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"the federation folder must be new or empty, got {str(folder)!r}.")


def open_federation(folder: Path) -> FederationFolder:
    """Return the federation in a folder, to serve it; refuse one without sites, an expired certificate, or a key that others can read."""
    found = find_federation(folder)
    private_bytes(found.key)
    for path in (found.kit.authority, found.certificate):
        end = int(read_certificates(path)[0].not_valid_after_utc.timestamp())
        if time.time() > end:
            raise InputError(f"{path.name} must be valid, but it expired at {when(end)}; feddp keys --help says how to renew it.")
    if not found.kit.sites():
        raise InputError(f"{_PUBLIC}/{_SITES} must hold the .pub file of every site, got no valid one in {str(folder)!r}.")
    return found


def find_federation(folder: Path) -> FederationFolder:
    """Return the federation in a folder; refuse a folder that feddp keys did not make."""
    found = _federation(folder)
    if not (found.key.is_file() and found.certificate.is_file()):
        raise InputError(f"the federation folder must be one that feddp keys made, got {str(folder)!r}.")
    return found


def find_kit(folder: Path) -> Kit:
    """Return the kit in a folder, or the kit of the federation in it."""
    return read_kit(folder if (folder / _ABOUT).exists() or not (folder / _PUBLIC).is_dir() else folder / _PUBLIC)


def _federation(folder: Path) -> FederationFolder:
    return FederationFolder(read_kit(folder / _PUBLIC), folder / _PRIVATE / "server.crt", folder / _PRIVATE / "server.key")


def read_kit(folder: Path) -> Kit:
    """Return the kit in a folder."""
    about = read_object(folder / _ABOUT, "be in the public/ folder of a federation, as feddp keys wrote it")
    check_format(about, _FORMAT, _ABOUT)
    host, port = about.get("host"), about.get("port")
    if not isinstance(host, str) or not _HOST.fullmatch(host) or type(port) is not int or port not in PORTS:
        raise InputError(f"{_ABOUT} must state host and port, got {host!r:.80} and {port!r:.80}.")
    return Kit(folder, host, port)
