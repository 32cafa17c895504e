"""Long-term keys of parties: ECDSA on P-384 with SHA-384, in the file format of ssh-keygen."""

import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from feddp_kmeans.errors import InputError

Identity = ec.EllipticCurvePrivateKey
PublicIdentity = ec.EllipticCurvePublicKey

_SCHEME = ec.ECDSA(hashes.SHA384())
_OTHERS = 0o077
"""The bits of a file's mode that are for everybody except its owner."""


def new_identity() -> Identity:
    """Return a new private key."""
    return ec.generate_private_key(ec.SECP384R1())


def sign(identity: Identity, message: bytes) -> bytes:
    """Return the signature of a message."""
    return identity.sign(message, _SCHEME)


def verify(public: PublicIdentity, signature: bytes, message: bytes) -> bool:
    """Return whether the signature is this identity's on the message."""
    try:
        public.verify(signature, message, _SCHEME)
    except InvalidSignature:
        return False
    return True


def public_line(public: PublicIdentity) -> str:
    """Return a public key as the line of an OpenSSH .pub file, without a comment."""
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def parse_public(line: str, what: str = "a public key") -> PublicIdentity:
    """Return the key of an OpenSSH public line; a comment after it is ignored."""
    try:
        public = load_ssh_public_key(line.strip().encode())
    except (AttributeError, ValueError, UnsupportedAlgorithm, NotImplementedError):  # the last: of a compressed point
        public = None
    if not isinstance(public, ec.EllipticCurvePublicKey) or public.curve.name != "secp384r1":
        raise InputError(f"{what} must be an ECDSA P-384 key in OpenSSH format, got something else; ssh-keygen -t ecdsa -b 384 makes one.")
    return public


def save_identity(path: Path, identity: Identity) -> None:
    """Write a new private key file that only its owner can read. An existing key is never overwritten."""
    private = identity.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(private)
    except OSError as error:
        raise InputError(f"{path.name} must be a new file in a folder that can be written, got {error.strerror}.") from None


def load_identity(path: Path) -> Identity:
    """Return the private key of a file, as ssh-keygen writes it without a passphrase; refuse a file that others can read."""
    content = private_bytes(path)
    try:
        identity = load_ssh_private_key(content, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm, NotImplementedError):
        identity = None
    if not isinstance(identity, ec.EllipticCurvePrivateKey) or identity.curve.name != "secp384r1":
        raise InputError(f"{path.name} must hold an ECDSA P-384 private key without a passphrase, got something else.")
    return identity


def load_public(path: Path) -> PublicIdentity:
    """Return the public key of a .pub file."""
    return parse_public(key_text(path), path.name)


def key_text(path: Path) -> str:
    """Return the content of a .pub file."""
    return _content(path, "a public key file").decode(errors="replace")


def private_bytes(path: Path, what: str = "a private key file") -> bytes:
    """Return the content of a private file; refuse one that others can read or change."""
    content = _content(path, what)
    if (mode := open_mode(path)) is not None:
        raise InputError(f"{path.name} must be for its owner only, got mode {mode}; type: chmod 600 {path}")
    return content


def open_mode(path: Path) -> str | None:
    """Return the mode of a file that others can read or change; None if they cannot. Windows has no such modes.

    A credential of a systemd service lies in a folder that only the service can open, where modes show more than there is.
    """
    mode, credentials = path.stat().st_mode & 0o777, os.environ.get("CREDENTIALS_DIRECTORY")
    if credentials and path.resolve().parent == Path(credentials).resolve():
        return None
    return f"{mode:04o}" if os.name == "posix" and mode & _OTHERS else None


def _content(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name} must be {what}, got {error.strerror}.") from None
