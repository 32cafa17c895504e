"""Identities: ssh-keygen's files are read and written, and a signature holds for one key and message."""

import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum.identity import (
    load_identity,
    load_public,
    new_identity,
    parse_public,
    public_line,
    save_identity,
    sign,
    verify,
)


def test_a_signature_holds_for_its_key_and_message_alone():
    one, other = new_identity(), new_identity()
    signature = sign(one, b"message")
    assert verify(one.public_key(), signature, b"message")
    assert not verify(one.public_key(), signature, b"massage")
    assert not verify(other.public_key(), signature, b"message")
    assert not verify(one.public_key(), b"", b"message")
    assert not verify(one.public_key(), signature[:-1], b"message")


def test_a_saved_identity_comes_back_and_only_its_owner_can_read_it(tmp_path):
    identity = new_identity()
    path = tmp_path / "site"
    save_identity(path, identity)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_identity(path).private_numbers() == identity.private_numbers()
    (tmp_path / "site.pub").write_text(f"{public_line(identity.public_key())}\n")
    assert load_public(tmp_path / "site.pub") == identity.public_key()
    assert parse_public(public_line(identity.public_key()) + " a comment\n") == identity.public_key()


def test_a_key_is_never_overwritten(tmp_path):
    path = tmp_path / "site"
    save_identity(path, new_identity())
    before = path.read_bytes()
    with pytest.raises(FedDPError, match="site must be a new file"):
        save_identity(path, new_identity())
    assert path.read_bytes() == before


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not on this machine")
def test_keys_of_ssh_keygen_are_read_and_ours_are_read_by_it(tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", theirs], check=True)
    assert load_identity(theirs).public_key() == load_public(tmp_path / "theirs.pub")
    save_identity(ours, identity := new_identity())
    line = subprocess.run(["ssh-keygen", "-y", "-f", ours], check=True, capture_output=True, text=True).stdout
    assert parse_public(line) == identity.public_key()


def test_other_keys_are_refused(tmp_path):
    path = tmp_path / "key"
    for other in (ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()):
        path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        path.chmod(0o600)
        with pytest.raises(FedDPError, match="key must hold an ECDSA P-384 private key"):
            load_identity(path)
        with pytest.raises(FedDPError, match="must be an ECDSA P-384 key"):
            parse_public(other.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"\xff\xfe", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"]
)
def test_files_that_are_no_keys_are_refused(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    for load in (load_identity, load_public):
        with pytest.raises(FedDPError, match="key must"):
            load(path)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o666, 0o755])
def test_a_private_key_that_others_can_read_or_change_is_refused_with_the_remedy(tmp_path, mode):
    path = tmp_path / "site.key"
    save_identity(path, new_identity())
    path.chmod(mode)
    with pytest.raises(FedDPError, match=f"site.key must be for its owner only, got mode {mode:04o}; type: chmod 600 {path}"):
        load_identity(path)
    path.chmod(0o400)
    load_identity(path)


def test_a_credential_of_a_service_is_taken_whatever_its_mode_says(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "site.key"
    save_identity(path, new_identity())
    path.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(FedDPError, match="must be for its owner only"):
        load_identity(path)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "own"))
    load_identity(path)


def test_missing_files_are_refused(tmp_path):
    for load in (load_identity, load_public):
        with pytest.raises(FedDPError, match=r"none must be a .* key file, got No such file"):
            load(tmp_path / "none")
    for bad in (None, 3, "ecdsa-sha2-nistp384 AAAA", ""):
        with pytest.raises(FedDPError, match="must be an ECDSA P-384 key"):
            parse_public(bad)
