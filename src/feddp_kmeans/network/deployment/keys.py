"""Keys and certificates: an authority of the federation's own, a certificate for its server, and a key pair for each site.

Private keys are written for their owner only (mode 0600). A site's private key is made on the site's machine and never leaves it. The
authority's key is needed only to sign certificates: it can be under a passphrase, or kept elsewhere, and the server runs without it.
"""

import inspect
import ipaddress
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, load_identity, new_identity, private_bytes, save_identity
from feddp_kmeans.network.site_key import check_site_name, stated_line

DAYS = 825
"""Days for which a server's certificate and a site's key are valid by default; some verifiers refuse certificates of more."""

_AUTHORITY_DAYS = 3650
_MOST_DAYS = 3650

_LOOPBACK = ("localhost", "127.0.0.1")
"""Names in every server's certificate, for connections from its own machine."""

_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "feddp-kmeans federation")])
_SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "feddp-kmeans server")])
_SERVES = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
_ENCRYPTED = b"BEGIN ENCRYPTED PRIVATE KEY"


def write_authority(private: Path, certificate: Path, passphrase: bytes | None) -> None:
    """Write a new authority: its key, under a passphrase if there is one, and its certificate."""
    authority = new_identity()
    _save(private, authority, NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase))
    write_whole(certificate, _pem([_authority_certificate(authority, authority)]))


def write_server(private: Path, authority_key: Path, authorities: Path, hosts: Sequence[str], passphrase: bytes | None, days: int) -> None:
    """Write a new key and certificate of the server for these names, server.key and server.crt, signed by the first of the authorities."""
    names = server_names(hosts)
    authority, current = load_authority_key(authority_key, passphrase), read_certificates(authorities)[0]
    _check_current(authority, current)
    end = min(datetime.now(UTC) + timedelta(days=check_days(days)), current.not_valid_after_utc)
    server = new_identity()
    is_server = x509.BasicConstraints(ca=False, path_length=None), _usage("digital_signature"), _SERVES, names
    made = _signed(authority, _SERVER, server.public_key(), end, *is_server)
    _save(private / "server.key", server, NoEncryption())
    write_whole(private / "server.crt", _pem([made]))


def server_names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """Return the names and addresses of a server's certificate; refuse what is neither."""
    return x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys([*hosts, *_LOOPBACK])])


def renew_authority(authority_key: Path, authorities: Path, endorsements: Path, passphrase: bytes | None) -> None:
    """Put a new authority first and keep the earlier ones: sites accept certificates of all of them.

    The earlier authority vouches for the new one by a certificate that it signs for the new key.
    """
    earlier, before = load_authority_key(authority_key, passphrase), read_certificates(authorities)
    _check_current(earlier, before[0])
    new, next_key = new_identity(), authority_key.with_name("next.key")
    _save(next_key, new, NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase))
    known = read_certificates(endorsements) if endorsements.exists() else []
    write_whole(endorsements, _pem([*known, _authority_certificate(earlier, new)]))
    now = datetime.now(UTC)
    write_whole(authorities, _pem([_authority_certificate(new, new), *(one for one in before if one.not_valid_after_utc > now)]))
    next_key.replace(authority_key)


def endorsed(new: x509.Certificate, earlier: x509.Certificate, endorsements: Sequence[x509.Certificate]) -> bool:
    """Return whether an earlier authority, which must still be valid, has signed a certificate for the key of a new one."""
    if time.time() > earlier.not_valid_after_utc.timestamp():
        return False
    for one in endorsements:
        with suppress(ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            one.verify_directly_issued_by(earlier)
            if one.public_key() == new.public_key() and _is_authority(one):
                return True
    return False


def _is_authority(certificate: x509.Certificate) -> bool:
    """Return whether a certificate is one of an authority: the earlier one has signed the server's as well."""
    return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def _check_current(authority: Identity, certificate: x509.Certificate) -> None:
    if authority.public_key() != certificate.public_key():
        raise InputError(
            "ca.key must be the key of the first certificate in ca.crt, got another; a next.key near it is of an interrupted renewal."
        )


def hosts_of(certificate: Path) -> list[str]:
    """Return the names and addresses of a server's certificate."""
    names = read_certificates(certificate)[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]


def read_certificates(path: Path) -> list[x509.Certificate]:
    """Return the certificates in a file, at least one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name} must hold a certificate, got {error.strerror}.") from None
    return parse_certificates(content, path.name)


def parse_certificates(content: bytes, what: str) -> list[x509.Certificate]:
    """Return the certificates that PEM text states, at least one."""
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        raise InputError(f"{what} must hold a certificate, got something else or a part of one.") from None


def as_text(certificate: x509.Certificate) -> str:
    """Return a certificate as PEM text."""
    return certificate.public_bytes(Encoding.PEM).decode()


def is_encrypted(path: Path) -> bool:
    """Return whether a private key is under a passphrase."""
    return path.is_file() and _ENCRYPTED in path.read_bytes()


def load_authority_key(path: Path, passphrase: bytes | None) -> Identity:
    """Return the key of the authority; refuse a wrong passphrase."""
    content, encrypted = private_bytes(path), is_encrypted(path)
    if encrypted and passphrase is None:
        raise InputError(f"{path.name} must be opened with its passphrase: give --passphrase-file.")
    try:
        found = load_pem_private_key(content, passphrase if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise InputError(f"{path.name} must hold the authority's key, got another passphrase than its own, or no whole key.")
    return found


def private_matches(path: Path, certificate: x509.Certificate) -> bool:
    """Return whether a file holds the private key of a certificate."""
    with suppress(OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return load_pem_private_key(path.read_bytes(), None).public_key() == certificate.public_key()
    return False


def write_site_key(folder: Path, name: str, days: int = DAYS) -> tuple[Path, Path]:
    """Write a site's new key pair as OpenSSH files; return the private file and the public one."""
    check_site_name(name)
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    for path in (private, public):
        if path.exists():
            raise InputError(
                f"{path.name} must not exist already: whoever holds the old key would be locked out. For a new key, add --renew."
            )
    new = new_identity()
    line = stated_line(name, new, check_days(days))
    save_identity(private, new)
    write_whole(public, f"{line}\n".encode())
    return private, public


def renew_site_key(folder: Path, name: str, days: int = DAYS) -> tuple[Path, Path, Path]:
    """Write a new key pair that the site's present key vouches for; return its files and the one in which the present key is kept."""
    check_site_name(name)
    private, public, kept = folder / f"{name}.key", folder / f"{name}.pub", folder / f"{name}.old.key"
    earlier, new = load_identity(private), new_identity()
    if kept.exists():
        raise InputError(f"{kept.name} must not exist already: remove it once the federation knows the key that replaced it.")
    line = stated_line(name, new, check_days(days), earlier)
    private.rename(kept)
    save_identity(private, new)
    write_whole(public, f"{line}\n".encode())
    return private, public, kept


def check_days(days: int) -> int:
    """Return the days for which a key is valid; refuse none, and more than ten years."""
    if not 1 <= days <= _MOST_DAYS:
        raise InputError(f"--days must be from 1 to {_MOST_DAYS}, got {days}.")
    return days


def _save(path: Path, key: Identity, encryption: KeySerializationEncryption) -> None:
    write_whole(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption), mode=0o600)


def _pem(certificates: Sequence[x509.Certificate]) -> bytes:
    return "".join(map(as_text, certificates)).encode()


def _authority_certificate(signer: Identity, authority: Identity) -> x509.Certificate:
    """Return a certificate for the key of an authority."""
    end = datetime.now(UTC) + timedelta(days=_AUTHORITY_DAYS)
    constraints = x509.BasicConstraints(ca=True, path_length=0), _usage("key_cert_sign", "crl_sign")
    return _signed(signer, _AUTHORITY, authority.public_key(), end, *constraints)


def _signed(
    authority: Identity, subject: x509.Name, public: PublicIdentity, end: datetime, *extensions: x509.ExtensionType
) -> x509.Certificate:
    """Return a certificate of the authority; constraints and key usage are critical."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_AUTHORITY)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(hours=1))
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints | x509.KeyUsage))
    return builder.sign(authority, hashes.SHA384())


def _usage(*purposes: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in purposes for name in inspect.signature(x509.KeyUsage).parameters})


def _general_name(host: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    try:
        return x509.DNSName(host)
    except ValueError:
        raise InputError(f"--host must be a name or an address, got {host!r}.") from None
