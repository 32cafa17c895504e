"""``feddp keys`` and the roster lines of ``feddp join``, as people at the server and at the sites type them."""

import shutil
import time
from importlib import import_module

import pytest

pytest.importorskip("flwr")

from feddp_kmeans.network.deployment import join
from feddp_kmeans.network.deployment.keys import is_encrypted
from feddp_kmeans.network.deployment.kit import read_kit
from tests.cli.command import command_in


@pytest.fixture
def feddp(tmp_path, monkeypatch, capsys):
    """Return what runs a command in a folder of its own: its exit status and what it said."""
    monkeypatch.setattr(join, "join", lambda *_: None)
    return command_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def federation(feddp, tmp_path):
    """Make three hospitals' keys and a kit; return what runs ``feddp join`` for berlin."""
    feddp("keys", "federation", "--host", "127.0.0.1")
    for name in ("aachen", "berlin", "celle"):
        feddp("keys", "--site", name)
        shutil.copy(tmp_path / f"{name}.pub", tmp_path / "federation" / "public" / "sites")
    (tmp_path / "berlin.csv").write_text("x,y\n1,2\n3,4\n")
    given = ("join", "federation/public", "--key", "berlin.key", "--data", "berlin.csv", "--limit", 2)
    return lambda *more: feddp(*given, *more)


def words(tmp_path):
    return read_kit(tmp_path / "federation" / "public").roster_fingerprint


def test_the_status_shows_the_words_to_compare_and_ends_with_1_if_a_key_is_over(feddp, federation, tmp_path, monkeypatch):
    status, said = feddp("keys", "federation", "--status")
    assert status == 0
    assert "ca.key is NOT ENCRYPTED" in said
    assert f"roster of 3 sites: {words(tmp_path)}; signed by nobody" in said
    feddp("keys", "--sign", "federation/public", "--key", "celle.key")
    status, said = feddp("keys", "federation/public", "--status")
    assert (status, "server:" in said) == (0, False)
    assert said.endswith("signed by celle")
    now = time.time() + 826 * 86_400
    monkeypatch.setattr(time, "time", lambda: now)
    status, said = feddp("keys", "federation", "--status")
    assert status == 1
    assert said.count("EXPIRED") == 4


def test_a_site_sees_who_is_in_the_roster_and_confirms_its_words(federation, tmp_path):
    status, said = federation()
    assert status == 0, said
    assert f"roster {words(tmp_path)}: nobody has signed it. Compare its words" in said
    assert all(f" {name}: " in said for name in ("aachen", "berlin", "celle"))
    status, said = federation("--roster", words(tmp_path))
    assert status == 0
    assert "its words were compared" in said
    status, said = federation("--roster", "lusab-babad")
    assert status == 1
    assert said.endswith("got 'lusab-babad': they are different rosters.")


def test_another_roster_is_refused_until_its_words_are_given(feddp, federation, tmp_path):
    federation()
    (tmp_path / "celle.key").unlink()
    (tmp_path / "celle.pub").unlink()
    feddp("keys", "--site", "celle")
    shutil.copy(tmp_path / "celle.pub", tmp_path / "federation" / "public" / "sites")
    status, said = federation()
    assert status == 1
    assert said.startswith("feddp: the roster must be the one that this site joined, ")
    assert federation("--roster", words(tmp_path))[0] == 0
    assert federation()[0] == 0


def test_a_signed_roster_is_joined_without_words(feddp, federation):
    for name in ("aachen", "berlin"):
        status, said = feddp("keys", "--sign", "federation/public", "--key", f"{name}.key")
        assert status == 0
        assert "Signed. If another site has other words, delete" in said
    status, said = federation()
    assert status == 1
    assert "must be signed by 3 of its 3 sites, this one among them, got aachen, berlin; missing: celle." in said
    assert federation("--colluders", 0)[0] == 0


def test_a_site_renews_its_key_and_the_others_need_nothing(feddp, federation, tmp_path):
    federation()
    status, said = feddp("keys", "--site", "celle", "--renew")
    assert status == 0
    assert "celle.old.key is the earlier key: use it until the server has celle.pub" in said
    shutil.copy(tmp_path / "celle.pub", tmp_path / "federation" / "public" / "sites")
    status, said = federation()
    assert status == 0
    assert "the earlier ones vouch for them" in said


def test_the_server_and_its_authority_are_renewed_with_the_passphrase_of_a_file(feddp, tmp_path):
    phrase, wrong = tmp_path / "phrase", tmp_path / "wrong"
    phrase.write_text("open sesame\n")
    wrong.write_text("open\n")
    for path in (phrase, wrong):
        path.chmod(0o600)
    status, said = feddp("keys", "federation", "--host", "127.0.0.1", "--passphrase-file", phrase)
    assert status == 0
    assert "not encrypted" not in said
    assert is_encrypted(tmp_path / "federation" / "private" / "ca.key")
    for how in ("--renew", "--renew-authority"):
        status, said = feddp("keys", "federation", how)
        assert (status, "ca.key must be opened with its passphrase" in said) == (1, True)
        status, said = feddp("keys", "federation", how, "--passphrase-file", wrong)
        assert (status, "got another passphrase than its own" in said) == (1, True)
        status, said = feddp("keys", "federation", how, "--passphrase-file", phrase)
        assert status == 0, said
    wrong.write_text("\n")
    status, said = feddp("keys", "federation", "--renew", "--passphrase-file", wrong)
    assert (status, "wrong must hold a passphrase, got an empty file" in said) == (1, True)
    phrase.chmod(0o644)
    status, said = feddp("keys", "federation", "--renew", "--passphrase-file", phrase)
    assert (status, "phrase must be for its owner only, got mode 0644; type: chmod 600" in said) == (1, True)


def test_on_a_terminal_the_passphrase_is_asked_for(feddp, tmp_path, monkeypatch):
    command = import_module("feddp_kmeans.cli.keys")
    answers = iter(["open sesame", "open sesame", "open", ""])
    monkeypatch.setattr(command, "_on_a_terminal", lambda: True)
    monkeypatch.setattr(command.typer, "prompt", lambda *_, **__: next(answers))
    assert feddp("keys", "federation", "--host", "127.0.0.1")[0] == 0
    assert is_encrypted(tmp_path / "federation" / "private" / "ca.key")
    assert [feddp("keys", "federation", "--renew")[0] for _ in range(2)] == [0, 1]
    assert "ca.key is not encrypted" in feddp("keys", "second", "--host", "127.0.0.1")[1]
    assert feddp("keys", "second", "--renew")[0] == 0  # Nothing is asked for.


def test_without_a_passphrase_there_is_a_warning(feddp):
    status, said = feddp("keys", "federation", "--host", "127.0.0.1")
    assert status == 0
    assert "ca.key is not encrypted: whoever reads it can pose as the server" in said


def test_a_key_that_others_can_read_is_refused_with_the_remedy(feddp, federation, tmp_path):
    (tmp_path / "berlin.key").chmod(0o666)
    for status, said in (federation(), feddp("keys", "--sign", "federation/public", "--key", "berlin.key")):
        assert (status, said) == (1, "feddp: berlin.key must be for its owner only, got mode 0666; type: chmod 600 berlin.key")
    (tmp_path / "federation" / "private" / "server.key").chmod(0o644)
    status, said = feddp("serve", "federation", "-k", 3, "--epsilon", 1, "--out", "run")
    assert status == 1
    assert "server.key must be for its owner only, got mode 0644; type: chmod 600 federation/private/server.key" in said


def test_a_revoked_site_may_not_join(feddp, federation, tmp_path):
    status, said = feddp("keys", "federation", "--revoke", "berlin")
    assert (status, said.startswith("berlin is revoked from the next run on.")) == (0, True)
    status, said = federation()
    assert (status, said) == (1, "feddp: the key of 'berlin' must be valid, but it was revoked.")
    status, said = feddp("keys", "federation", "--status")
    assert (status, "REVOKED" in said) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--status"], "either a folder with --host, or --site, or --sign"),
        (["--site", "a", "--status"], "must be given with a folder"),
        (["--site", "a", "--revoke", "b"], "must be given with a folder"),
        (["--sign", "x", "--renew"], "must be given with a folder"),
        (["--sign", "x"], "--sign must be given with --key"),
        (["new", "--status", "--renew"], "one of --status, --renew, --renew-authority and --revoke, got several"),
        (["new", "--status"], "must be in the public/ folder of a federation"),
        (["new", "--renew"], "must be in the public/ folder of a federation"),
        (["new", "--revoke", "a"], "must be in the public/ folder of a federation"),
        (["--site", "a", "--renew"], "a.key must be a private key file, got No such file"),
        (["new", "--host", "h", "--days", 0], "--days must be from 1 to 3650, got 0"),
        (["new", "--host", "h", "--passphrase-file", "none"], "none must be a file with a passphrase, got No such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(feddp, tmp_path, arguments, rule):
    status, said = feddp("keys", *arguments)
    assert status == 1
    assert rule in said
    assert not list(tmp_path.iterdir())
