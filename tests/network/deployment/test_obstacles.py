"""What stands between a site and its server: every cause has its own sentence."""

import http.server
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate

import httpx
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment import obstacles
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.kit import make_federation
from feddp_kmeans.network.deployment.obstacles import NotReachedError, Reached, reach


class Health(http.server.BaseHTTPRequestHandler):
    """Answers /health with a status and a clock."""

    status, ahead = 200, 0.0

    def do_GET(self):
        self.send_response_only(self.status)
        self.send_header("date", formatdate(time.time() + self.ahead, usegmt=True))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def serving(handler=Health, federation=None, host="127.0.0.1"):
    with http.server.ThreadingHTTPServer((host, 0), handler) as server:
        if federation is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(federation.certificate, federation.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    return make_federation(tmp_path_factory.mktemp("keys") / "federation", ["127.0.0.1"], 9443)


def why(host, port, authority=None, kind=NotReachedError):
    with pytest.raises(kind) as refused:
        reach(host, port, authority)
    return str(refused.value)


def test_a_server_that_is_there_is_reached_with_its_clock(federation):
    with serving() as port:
        assert abs(reach("127.0.0.1", port, None).ahead) < 60
    with serving(federation=federation) as port:
        assert abs(reach("127.0.0.1", port, federation.kit.authority).ahead) < 60


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70, "\u00e4" * 70])
def test_a_name_that_cannot_be_resolved(host):
    assert why(host, 9443) == f"the name {host} cannot be resolved: is it right, and is there a network"


def test_a_port_where_nobody_listens():
    port = free_port()
    assert why("127.0.0.1", port) == f"nothing listens at 127.0.0.1:{port}: is the server running"


def test_a_firewall_that_drops_everything(monkeypatch):
    def drop(*_, **__):
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", drop)
    assert why("10.0.0.1", 9443) == "no answer from 10.0.0.1:9443 within 10 s: does a firewall stand between"


def test_a_network_without_a_way(monkeypatch):
    def lost(*_, **__):
        raise OSError(113, "No route to host")

    monkeypatch.setattr(socket, "create_connection", lost)
    assert why("10.0.0.1", 9443) == "no way to 10.0.0.1:9443: No route to host"


def test_a_certificate_of_another_federation_or_for_another_name_ends_all_tries(federation, tmp_path):
    other = make_federation(tmp_path / "other", ["server.example.org"], 9443)
    with serving(federation=other) as port:
        said = why("127.0.0.1", port, federation.kit.authority, FedDPError)
        assert said.startswith(f"the server at 127.0.0.1:{port} must have a certificate of this federation: ")
    with serving(federation=other, host="127.0.0.2") as port:
        said = why("127.0.0.2", port, other.kit.authority, FedDPError)
        assert said == f"the certificate of the server at 127.0.0.2:{port} must be for '127.0.0.2', got one for other names."


def test_a_certificate_that_is_not_valid_at_this_hour(federation, monkeypatch):
    for code, words in ((10, "has expired"), (9, "is not valid yet")):

        def refuse(*_, code=code, **__):
            error = ssl.SSLCertVerificationError()
            error.verify_code = code
            raise error

        monkeypatch.setattr(ssl.SSLContext, "wrap_socket", refuse)
        with serving() as port:
            said = why("127.0.0.1", port, federation.kit.authority)
        assert said.startswith(f"the certificate of the server at 127.0.0.1:{port} {words}, if this clock is right: here it is 20")


def test_what_is_no_feddp_server(federation):
    with serving() as port:
        assert (
            why("127.0.0.1", port, federation.kit.authority) == f"what answers at 127.0.0.1:{port} does not speak TLS: is it a feddp server"
        )
    with serving(federation=federation) as port:
        assert why("127.0.0.1", port).startswith(f"what answers at 127.0.0.1:{port} is no feddp server")

    class Lost(Health):
        status = 404

    with serving(Lost) as port:
        assert why("127.0.0.1", port) == f"what answers at 127.0.0.1:{port} is no feddp server (status 404)"


def test_a_server_that_takes_connections_and_says_nothing(federation, monkeypatch):
    monkeypatch.setattr(obstacles, "_ANSWER", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        port = mute.getsockname()[1]
        for authority in (None, federation.kit.authority):
            assert why("127.0.0.1", port, authority) == f"the server at 127.0.0.1:{port} takes connections, but does not answer"


@pytest.mark.parametrize(("ahead", "words"), [(3600, "3600 s ahead of"), (-400, "400 s behind"), (6, "6 s ahead of")])
def test_a_clock_that_is_off_is_named_with_its_direction(ahead, words):
    class Off(Health):
        pass

    Off.ahead = -ahead
    with serving(Off) as port:
        found = reach("127.0.0.1", port, None).clock()
    assert str(found)[: len("this machine's clock is ")] == "this machine's clock is "
    seconds = int(str(found).split()[4])
    assert abs(seconds - abs(ahead)) <= 30  # A busy machine.
    assert words.partition(" s ")[2] in str(found)
    assert "at most 5 s ahead and 300 s behind are taken" in str(found)


@pytest.mark.parametrize("ahead", [0.0, 4.0, -250.0])
def test_a_clock_within_what_the_server_takes_is_no_obstacle(ahead):
    assert Reached(ahead).clock() is None


@pytest.mark.parametrize(
    ("status", "content", "ahead", "words"),
    [
        (412, {"code": 2004, "detail": "", "extra": "unknown key"}, 0.0, "has to put berlin.pub into public/sites/"),
        (412, {"code": 2004, "detail": ""}, 0.0, "another process takes part with this site's key"),
        (400, {"code": 1001, "detail": ""}, 0.0, "another version of flwr"),
        (401, {"detail": ""}, 99.0, "clock is 99 s ahead of"),
        (401, {"detail": ""}, 0.0, "the server refuses this site (status 401)"),
    ],
)
def test_a_refusal_has_its_reason(status, content, ahead, words):
    response = httpx.Response(status, json=content, request=httpx.Request("POST", "http://127.0.0.1:1/"))
    error = httpx.HTTPStatusError("no", request=response.request, response=response)
    assert words in str(Reached(ahead).refusal(error, "berlin"))
