"""Keys, certificates and the federation folder."""

import ipaddress
import json
import ssl
import stat
import time

import pytest
from cryptography import x509

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.keys import endorsed, hosts_of, is_encrypted, load_authority_key, read_certificates, write_site_key
from feddp_kmeans.network.deployment.kit import find_federation, find_kit, make_federation, open_federation, read_kit
from feddp_kmeans.network.secure_sum.identity import load_identity


@pytest.fixture
def federation(tmp_path):
    made = make_federation(tmp_path / "federation", ["server.example.org", "10.1.2.3"], 9443)
    for name in ("berlin", "paris"):
        _, public = write_site_key(tmp_path, name)
        (made.kit.folder / "sites" / public.name).write_bytes(public.read_bytes())
    return made


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_kit_holds_what_is_public_and_the_private_folder_all_the_rest(federation):
    folder = federation.kit.folder.parent
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == [
        "private/ca.key",
        "private/server.crt",
        "private/server.key",
        "public/ca.crt",
        "public/federation.json",
        "public/sites/berlin.pub",
        "public/sites/paris.pub",
    ]
    for path in federation.kit.folder.rglob("*.*"):
        assert b"PRIVATE" not in path.read_bytes()


def test_private_keys_are_for_their_owner_alone(federation, tmp_path):
    private = [federation.key, federation.key.with_name("ca.key"), tmp_path / "berlin.key"]
    assert [mode(path) for path in private] == [0o600] * 3
    assert mode(federation.key.parent) == 0o700


def test_the_servers_certificate_names_every_host_and_the_loopback_and_is_signed_by_the_authority(federation):
    server = x509.load_pem_x509_certificate(federation.certificate.read_bytes())
    authority = x509.load_pem_x509_certificate(federation.kit.authority.read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["server.example.org", "localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("127.0.0.1")]
    server.verify_directly_issued_by(authority)
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(federation.certificate, federation.key)


def test_sites_are_told_the_first_host_and_the_port(federation):
    assert federation.kit.address == "server.example.org:9443"
    assert sorted(federation.kit.sites()) == ["berlin", "paris"]


def test_a_site_is_known_by_its_key(federation, tmp_path):
    assert federation.kit.name_of(load_identity(tmp_path / "paris.key").public_key()) == "paris"
    private, _ = write_site_key(tmp_path, "rome")
    with pytest.raises(FedDPError, match="must belong to a site of this federation"):
        federation.kit.name_of(load_identity(private).public_key())


def test_one_key_under_two_names_is_refused(federation):
    sites = federation.kit.folder / "sites"
    (sites / "vienna.pub").write_bytes((sites / "paris.pub").read_bytes())
    with pytest.raises(FedDPError, match=r"vienna\.pub must be the file of the site that it names, got the key of 'paris'"):
        federation.kit.sites()
    (sites / "vienna.pub").write_text(" ".join((sites / "paris.pub").read_text().split()[:2]))
    with pytest.raises(FedDPError, match="one site would count twice"):
        federation.kit.sites()


def test_no_key_is_written_over_another(tmp_path):
    write_site_key(tmp_path, "berlin")
    before = (tmp_path / "berlin.key").read_bytes()
    with pytest.raises(FedDPError, match="must not exist already"):
        write_site_key(tmp_path, "berlin")
    assert (tmp_path / "berlin.key").read_bytes() == before


def test_a_federation_is_made_in_an_empty_folder_only(federation):
    with pytest.raises(FedDPError, match="must be new or empty"):
        make_federation(federation.kit.folder.parent, ["host"], 1)


@pytest.mark.parametrize(
    ("hosts", "port", "rule"), [([], 1, "--host must be given"), (["h"], 0, "--port must be"), (["ü"], 1, "--host must be")]
)
def test_what_cannot_be_an_address_is_refused(tmp_path, hosts, port, rule):
    with pytest.raises(FedDPError, match=rule):
        make_federation(tmp_path / "new", hosts, port)


def test_a_kit_of_a_newer_format_or_none_is_refused_and_an_older_one_is_read(federation, tmp_path):
    about = federation.kit.folder / "federation.json"
    folder = federation.kit.folder
    about.write_text(json.dumps({"protocol": 4, "host": "h", "port": 1}))
    assert read_kit(folder).host == "h"
    about.write_text(json.dumps({"format": 99, "host": "h", "port": 1}))
    with pytest.raises(FedDPError, match=r"format of federation.json must be from 1 to 1, got 99: it was written by a newer feddp"):
        read_kit(folder)
    with pytest.raises(FedDPError, match="must be in the public/ folder"):
        read_kit(tmp_path)


def test_a_federation_without_sites_is_not_served(tmp_path):
    make_federation(tmp_path / "new", ["host"], 1)
    with pytest.raises(FedDPError, match=r"must hold the \.pub file of every site"):
        open_federation(tmp_path / "new")
    with pytest.raises(FedDPError, match=r"federation.json must be in the public/ folder of a federation, as feddp keys wrote it"):
        open_federation(tmp_path)
    (tmp_path / "new" / "private" / "server.key").unlink()
    with pytest.raises(FedDPError, match="must be one that feddp keys made"):
        open_federation(tmp_path / "new")


def serves(federation):
    """Return whether a client that has the kit accepts the server's certificate, in a handshake in memory."""
    accepting, calling = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=federation.kit.authority)
    accepting.load_cert_chain(federation.certificate, federation.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server, client = accepting.wrap_bio(up, down, server_side=True), calling.wrap_bio(down, up, server_hostname="server.example.org")
    for _ in range(4):
        for half in (client, server):
            try:
                half.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_the_servers_certificate_is_renewed_for_the_same_names_and_authority(federation):
    before, key = federation.certificate.read_bytes(), federation.key.read_bytes()
    roster = federation.kit.roster_fingerprint
    federation.renew(None, days=20)
    assert federation.certificate.read_bytes() != before
    assert federation.key.read_bytes() != key
    assert hosts_of(federation.certificate) == ["server.example.org", "localhost", "10.1.2.3", "127.0.0.1"]
    assert mode(federation.key) == 0o600
    assert serves(federation)
    assert federation.kit.roster_fingerprint == roster  # Sites need nothing new.


def test_a_new_authority_overlaps_with_the_earlier_one(federation, monkeypatch):
    earlier = federation.kit.authority.read_bytes()
    federation.renew_authority(None)
    assert serves(federation)  # The server's certificate is still the earlier authority's.
    new, old = federation.kit.authorities()
    assert endorsed(new, old, read_certificates(federation.kit.endorsements))
    assert not endorsed(old, new, read_certificates(federation.kit.endorsements))
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: old.not_valid_after_utc.timestamp() + 1)
        assert not endorsed(new, old, read_certificates(federation.kit.endorsements))
    federation.renew(None)
    assert serves(federation)
    read_certificates(federation.certificate)[0].verify_directly_issued_by(new)
    federation.kit.authority.write_bytes(earlier)
    assert not serves(federation)
    assert not list(federation.key.parent.glob("next.key"))


def test_a_server_certificate_does_not_outlive_its_authority(federation):
    federation.renew(None, days=3650)
    server, authority = (read_certificates(path)[0] for path in (federation.certificate, federation.kit.authority))
    assert server.not_valid_after_utc <= authority.not_valid_after_utc


def test_the_authoritys_key_is_under_its_passphrase_and_the_server_runs_without_it(tmp_path):
    made = make_federation(tmp_path / "federation", ["server.example.org"], 9443, b"open sesame")
    assert is_encrypted(made.authority_key)
    assert b"ENCRYPTED" in made.authority_key.read_bytes()
    for wrong, rule in ((None, "must be opened with its passphrase"), (b"open", "got another passphrase than its own")):
        for renew in (made.renew, made.renew_authority):
            with pytest.raises(FedDPError, match=rf"ca\.key {rule}|ca\.key must hold the authority's key, {rule}"):
                renew(wrong)
    made.renew(b"open sesame")
    made.renew_authority(b"open sesame")
    assert is_encrypted(made.authority_key)
    load_authority_key(made.authority_key, b"open sesame")
    made.authority_key.unlink()
    _, public = write_site_key(tmp_path, "berlin")
    (made.kit.folder / "sites" / public.name).write_bytes(public.read_bytes())
    assert serves(open_federation(tmp_path / "federation"))


def test_an_authoritys_key_that_is_not_of_its_certificate_signs_nothing(federation, tmp_path):
    other = make_federation(tmp_path / "other", ["host"], 1)
    federation.authority_key.write_bytes(other.authority_key.read_bytes())
    before = federation.certificate.read_bytes()
    for renew in (federation.renew, federation.renew_authority):
        with pytest.raises(FedDPError, match=r"ca\.key must be the key of the first certificate in ca\.crt"):
            renew(None)
    assert federation.certificate.read_bytes() == before


def test_private_keys_of_the_server_that_others_can_read_are_refused(federation):
    federation.key.chmod(0o644)
    with pytest.raises(FedDPError, match=r"server\.key must be for its owner only, got mode 0644; type: chmod 600 /.*/server\.key"):
        open_federation(federation.kit.folder.parent)
    federation.authority_key.chmod(0o666)
    for renew in (federation.renew, federation.renew_authority):
        with pytest.raises(FedDPError, match=r"ca\.key must be for its owner only, got mode 0666; type: chmod 600 /.*/ca\.key"):
            renew(None)


def test_an_expired_certificate_is_not_served(federation, monkeypatch):
    folder, now = federation.kit.folder.parent, time.time()
    for days, name in ((826, "server.crt"), (3651, "ca.crt")):
        monkeypatch.setattr(time, "time", lambda: now + days * 86_400)  # noqa: B023 - used at once
        with pytest.raises(FedDPError, match=rf"{name} must be valid, but it expired at 20\d\d-.*; feddp keys --help says how to renew it"):
            open_federation(folder)
    monkeypatch.setattr(time, "time", lambda: now)
    open_federation(folder)


def test_a_revoked_site_is_not_served_and_still_counts(federation):
    words = federation.kit.roster_fingerprint
    federation.kit.revoke("paris")
    assert sorted(federation.kit.sites()) == ["berlin"]
    assert federation.kit.roster().problems == {"paris": "it was revoked"}
    assert federation.kit.roster_fingerprint == words
    for name in ("paris", "rome", "../berlin"):
        with pytest.raises(FedDPError, match="--revoke must name a site of the federation"):
            federation.kit.revoke(name)


def test_a_revoked_key_is_not_brought_back_by_its_file_but_a_new_key_is_another(federation, tmp_path):
    sites = federation.kit.folder / "sites"
    before = (sites / "paris.pub").read_bytes()
    federation.kit.revoke("paris")
    (sites / "paris.pub").write_bytes(before)
    assert "paris" not in federation.kit.sites()
    (tmp_path / "new").mkdir()
    _, public = write_site_key(tmp_path / "new", "paris")
    (sites / "paris.pub").write_bytes(public.read_bytes())
    assert "paris" in federation.kit.sites()


def test_a_site_is_not_known_by_a_key_that_is_over(federation, tmp_path):
    federation.kit.revoke("paris")
    with pytest.raises(FedDPError, match="the key of 'paris' must be valid, but it was revoked"):
        federation.kit.name_of(load_identity(tmp_path / "paris.key").public_key())


def test_a_folder_and_its_kit_are_both_found(federation, tmp_path):
    folder = federation.kit.folder.parent
    assert find_kit(folder) == find_kit(folder / "public") == federation.kit
    assert find_federation(folder) == federation
    with pytest.raises(FedDPError, match="must be in the public/ folder of a federation"):
        find_kit(tmp_path / "nowhere")


def test_nothing_is_left_of_a_federation_that_cannot_be_made(tmp_path):
    for hosts, port, days in ((["ü"], 1, 1), (["h"], 0, 1), (["h"], 1, 0), ([], 1, 1)):
        with pytest.raises(FedDPError):
            make_federation(tmp_path / "new", hosts, port, days=days)
        assert not (tmp_path / "new").exists()
