"""What a person reads about the keys of a federation."""

import time

import pytest

from feddp_kmeans.network.deployment.key_status import key_lines, roster_lines
from tests.network.deployment.federations import Federation


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path, ("aachen", "berlin"))


def lines(federation):
    return {line.name: line for line in key_lines(federation.kit, federation.server)}


def test_every_key_has_its_words_and_its_days(federation):
    found = lines(federation)
    assert list(found) == ["authority", "server", "aachen", "berlin"]
    roster = federation.kit.roster()
    assert found["berlin"].words == roster.get("berlin").words
    assert found["berlin"].text.startswith(f"berlin: {found['berlin'].words}; valid from ")
    assert found["berlin"].text.endswith("824 days left")
    assert found["authority"].days_left == 3649
    assert len({line.words for line in found.values()}) == 4
    assert not any(line.expired for line in found.values())
    assert [line.name for line in key_lines(federation.kit, None)] == ["authority", "aachen", "berlin"]


def test_what_is_wrong_is_said(federation):
    assert "ca.key is NOT ENCRYPTED" in lines(federation)["authority"].text
    for path in (federation.server.key, federation.server.authority_key):
        path.chmod(0o640)
    federation.kit.revoke("aachen")
    federation.admit("berlin", days=3)
    found = lines(federation)
    assert f"ca.key is READABLE BY OTHERS, mode 0640: chmod 600 {federation.server.authority_key}" in found["authority"].text
    assert "server.key is READABLE BY OTHERS, mode 0640" in found["server"].text
    assert found["aachen"].text.endswith("REVOKED")
    assert found["berlin"].text.endswith("2 days left, EXPIRES SOON")
    path = federation.kit.folder / "sites" / "berlin.pub"
    path.write_text(" ".join(path.read_text().split()[:2]))
    assert lines(federation)["berlin"].text.endswith("never expires")


def test_what_has_expired_is_said(federation, monkeypatch):
    now = time.time() + 826 * 86_400
    monkeypatch.setattr(time, "time", lambda: now)
    found = lines(federation)
    assert [line.name for line in found.values() if line.expired] == ["server", "aachen", "berlin"]
    assert found["server"].text.endswith("EXPIRED")


def test_an_encrypted_or_absent_authoritys_key_is_no_reason_to_warn(tmp_path):
    federation = Federation(tmp_path, ("aachen",), passphrase=b"words")
    assert lines(federation)["authority"].text.endswith("days left")
    federation.server.authority_key.unlink()
    assert lines(federation)["authority"].text.endswith("days left")


def test_a_key_that_does_not_belong_to_its_certificate_is_named(federation):
    federation.server.key.write_bytes(federation.server.authority_key.read_bytes())
    assert "server.key is NOT ITS KEY" in lines(federation)["server"].text


def test_an_earlier_authority_is_shown(federation):
    federation.server.renew_authority(None)
    assert list(lines(federation))[:3] == ["authority", "earlier authority", "server"]


def test_the_roster_is_shown_with_its_words_and_its_sites(federation):
    first, *sites = roster_lines(federation.kit.roster())
    assert first == f"roster of 2 sites at server.example.org, port 9443: {federation.kit.roster_fingerprint}"
    assert [line.split(":")[0] for line in sites] == ["  aachen", "  berlin"]
