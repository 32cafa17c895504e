"""Keys, certificates and the federation folder."""

import ipaddress
import json
import ssl
import stat

import pytest
from cryptography import x509

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation, open_federation, read_kit
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


def test_a_kit_of_another_protocol_or_none_is_refused(federation, tmp_path):
    about = federation.kit.folder / "federation.json"
    folder = federation.kit.folder
    about.write_text(json.dumps({"protocol": 99, "host": "h", "port": 1}))
    with pytest.raises(FedDPError, match="got 99: server and site must have the same version"):
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
