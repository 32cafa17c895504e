"""Keys and certificates: an authority of the federation's own, a certificate for its server, and a key pair for each site.

Private keys are written for their owner only (mode 0600). A site's private key is made on the site's machine and never leaves it.
"""

import inspect
import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, new_identity, save_identity

_DAYS = 825
"""Days for which a certificate is good; some verifiers refuse more."""

_LOOPBACK = ("localhost", "127.0.0.1")
"""Names in every server's certificate, for connections from its own machine."""

_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "feddp-kmeans federation")])
_SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "feddp-kmeans server")])
_SERVES = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])


def write_authority(folder: Path, hosts: Sequence[str]) -> None:
    """Write a new authority and a server certificate for these names and addresses: ca.key, ca.crt, server.key, server.crt."""
    authority, server = new_identity(), new_identity()
    names = x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys([*hosts, *_LOOPBACK])])
    is_authority = x509.BasicConstraints(ca=True, path_length=0), _usage("key_cert_sign", "crl_sign")
    is_server = x509.BasicConstraints(ca=False, path_length=None), _usage("digital_signature"), _SERVES, names
    certificates = {
        "ca": _signed(authority, _AUTHORITY, authority.public_key(), *is_authority),
        "server": _signed(authority, _SERVER, server.public_key(), *is_server),
    }
    for name, key in (("ca", authority), ("server", server)):
        write_whole(folder / f"{name}.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
        write_whole(folder / f"{name}.crt", certificates[name].public_bytes(Encoding.PEM))


def write_site_key(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a site's new key pair as OpenSSH files; return the private file and the public one."""
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    for path in (private, public):
        if path.exists():
            raise InputError(f"{path.name} must not exist already: whoever holds the old key would be locked out.")
    save_identity(private, new_identity())
    private.with_name(f"{private.name}.pub").rename(public)
    return private, public


def _signed(authority: Identity, subject: x509.Name, public: PublicIdentity, *extensions: x509.ExtensionType) -> x509.Certificate:
    """Return a certificate of the authority; constraints and key usage are critical."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_AUTHORITY)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
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
