"""Keys and certificates: an authority of the federation's own, a certificate for its server, and a key pair for each site.

Private keys are written for their owner only (mode 0600). A site's private key is made where it is used and never leaves that place.
"""

import inspect
import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum.identity import new_identity, save_identity

_DAYS = 825
"""Days for which a certificate is good; more than this some verifiers refuse."""

_LOOPBACK = ("localhost", "127.0.0.1")
"""Names that every server has: its own processes reach it by them."""


def write_authority(folder: Path, hosts: Sequence[str]) -> None:
    """Write a new authority and a server certificate for these names and addresses: ca.key, ca.crt, server.key, server.crt."""
    authority_key, server_key = new_identity(), new_identity()
    authority = _certificate(
        "feddp-kmeans federation", authority_key.public_key(), authority_key, None, _authority_extensions(authority_key)
    )
    server = _certificate(
        "feddp-kmeans server", server_key.public_key(), authority_key, authority, _server_extensions(hosts, authority_key)
    )
    for name, key in (("ca", authority_key), ("server", server_key)):
        write_whole(folder / f"{name}.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    for name, certificate in (("ca", authority), ("server", server)):
        write_whole(folder / f"{name}.crt", certificate.public_bytes(Encoding.PEM))


def write_site_key(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a site's new key pair as OpenSSH files; return the private file and the public one."""
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    for path in (private, public):
        if path.exists():
            raise InputError(f"{path.name} must not exist already: whoever holds the old key would be locked out.")
    save_identity(private, new_identity())
    private.with_name(f"{private.name}.pub").rename(public)
    return private, public


def _certificate(
    name: str,
    public: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
    )
    for extension, critical in (*extensions, (x509.SubjectKeyIdentifier.from_public_key(public), False)):
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA384())


def _authority_extensions(key: ec.EllipticCurvePrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    return [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_usage("key_cert_sign", "crl_sign"), True),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False),
    ]


def _server_extensions(hosts: Sequence[str], authority: ec.EllipticCurvePrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    names = [_general_name(host) for host in dict.fromkeys([*hosts, *_LOOPBACK])]
    return [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage("digital_signature"), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName(names), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False),
    ]


def _usage(*purposes: str) -> x509.KeyUsage:
    every = inspect.signature(x509.KeyUsage).parameters
    return x509.KeyUsage(**{name: name in purposes for name in every})


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise InputError(f"--host must be a name or an address, got {host!r}.") from None
