"""The federation folder: ``public/`` is the kit that every site gets, ``private/`` never leaves the server."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import read_object
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.keys import write_authority
from feddp_kmeans.network.secure_sum.identity import PublicIdentity, load_public, public_line
from feddp_kmeans.network.wire import PROTOCOL

_PUBLIC, _PRIVATE, _SITES, _ABOUT = "public", "private", "sites", "federation.json"
_HOST = re.compile(r"[A-Za-z0-9._:%-]{1,253}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_PORTS = range(1, 1 << 16)


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

    def sites(self) -> dict[str, PublicIdentity]:
        """Return every site's public key by its name, in the order of names; refuse one key under two names."""
        found: dict[str, PublicIdentity] = {}
        names: dict[str, str] = {}
        for path in sorted((self.folder / _SITES).glob("*.pub")):
            check_site_name(path.stem)
            found[path.stem] = load_public(path)
            other = names.setdefault(public_line(found[path.stem]), path.stem)
            if other != path.stem:
                raise InputError(f"{path.name} must hold a key of its own, got the key of {other!r}: one site would count twice.")
        return found

    def name_of(self, key: PublicIdentity) -> str:
        """Return the name under which a public key is known; refuse one that is not."""
        for name, known in self.sites().items():
            if known == key:
                return name
        raise InputError("--key must belong to a site of this federation; the server has to put its .pub file into public/sites first.")


@dataclass(frozen=True)
class FederationFolder:
    """The server's folder: the kit, and the certificate and the private key that only the server may read."""

    kit: Kit
    certificate: Path
    key: Path


def make_federation(folder: Path, hosts: Sequence[str], port: int) -> FederationFolder:
    """Make a federation folder for a server that is reached by these names; sites use the first."""
    if not hosts:
        raise InputError("--host must be given: the name or address by which sites reach the server.")
    if port not in _PORTS:
        raise InputError(f"--port must be between 1 and 65535, got {port}.")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"the federation folder must be new or empty, got {str(folder)!r}.")
    public, private = folder / _PUBLIC, folder / _PRIVATE
    (public / _SITES).mkdir(parents=True)
    private.mkdir(mode=0o700)
    write_authority(private, hosts)
    (private / "ca.crt").rename(public / "ca.crt")
    about = {"protocol": PROTOCOL, "host": hosts[0], "port": port}
    write_whole(public / _ABOUT, (json.dumps(about, indent=2) + "\n").encode())
    return _federation(folder)


def open_federation(folder: Path) -> FederationFolder:
    """Return the federation in a folder; refuse a folder that feddp keys did not make."""
    found = _federation(folder)
    if not (found.key.is_file() and found.certificate.is_file()):
        raise InputError(f"the federation folder must be one that feddp keys made, got {str(folder)!r}.")
    if not found.kit.sites():
        raise InputError(f"{_PUBLIC}/{_SITES} must hold the .pub file of every site, got none in {str(folder)!r}.")
    return found


def _federation(folder: Path) -> FederationFolder:
    return FederationFolder(read_kit(folder / _PUBLIC), folder / _PRIVATE / "server.crt", folder / _PRIVATE / "server.key")


def read_kit(folder: Path) -> Kit:
    """Return the kit in a folder; refuse another protocol than ours."""
    about = read_object(folder / _ABOUT, "be in the public/ folder of a federation, as feddp keys wrote it")
    protocol, host, port = (about.get(name) for name in ("protocol", "host", "port"))
    if protocol != PROTOCOL:
        raise InputError(f"the kit must be of protocol {PROTOCOL}, got {protocol!r:.40}: server and site must have the same version.")
    if not isinstance(host, str) or not _HOST.fullmatch(host) or type(port) is not int or port not in _PORTS:
        raise InputError(f"{_ABOUT} must state host and port, got {host!r:.80} and {port!r:.80}.")
    return Kit(folder, host, port)


def check_site_name(name: str) -> None:
    """Refuse a name that is no safe file name on every system."""
    if not _NAME.fullmatch(name):
        raise InputError(f"a site's name must be lower-case letters, digits, dots, dashes and underscores, got {name!r}.")
