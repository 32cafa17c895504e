"""Children that start, speak, fail and end."""

import http.server
import secrets
import socket
import threading
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.children import (
    _environment,
    check_guarded,
    free_port,
    is_healthy,
    is_taken,
    last_words,
    private_folder,
    started,
)
from feddp_kmeans.network.deployment.kit import make_federation
from feddp_kmeans.network.deployment.serve import is_loopback, options, superlink


def test_a_child_that_fails_at_once_is_told_in_one_line_with_its_last_words():
    with private_folder() as home, started("superlink", ["--no-such-option"], home, secrets.token_hex(32)) as node:
        with pytest.raises(FedDPError, match=r"the superlink must start, but it ended: .*unrecognized arguments: --no-such-option"):
            node.wait_until(lambda: False)
        assert not node.running


def test_a_child_sees_of_our_environment_what_it_needs_and_nothing_else(tmp_path, monkeypatch):
    for name in ("PATH", "LC_ALL", "HTTPS_PROXY", "FORWARDED_ALLOW_IPS", "FLWR_SOMETHING", "A_PASSWORD"):
        monkeypatch.setenv(name, "ours")
    seen = _environment(str(tmp_path))
    assert (seen["PATH"], seen["LC_ALL"], seen["FLWR_HOME"]) == ("ours", "ours", str(tmp_path))
    assert not {"HTTPS_PROXY", "FORWARDED_ALLOW_IPS", "FLWR_SOMETHING", "A_PASSWORD"} & set(seen)


def test_a_private_folder_is_for_its_owner_alone_and_goes_away():
    with private_folder() as folder:
        assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert not Path(folder).exists()


def test_a_superlink_serves_this_machine_over_tls_and_is_gone_afterwards(tmp_path):
    federation = make_federation(tmp_path / "federation", ["127.0.0.1"], free_port())
    kit = federation.kit
    with superlink(kit.port, federation) as (server, _):
        assert is_healthy(kit.port, kit.authority)
        assert not is_healthy(kit.port)
        with pytest.raises(FedDPError, match=f"something listens on {kit.port} already"), superlink(kit.port):
            pass
    assert not server.running
    assert not is_taken(kit.port)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost", "::1"])
def test_a_host_of_this_machine_only_is_a_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["server.example.org", "localhost.example.org", "127.0.0.1.example.org", "10.1.2.3"])
def test_any_other_host_is_not(host):
    assert not is_loopback(host)


def test_a_server_listens_on_this_machine_only_unless_sites_reach_it_from_elsewhere(tmp_path):
    given = {host: options(make_federation(tmp_path / host, [host], 9443)) for host in ("localhost", "server.example.org")}
    assert [arguments[:2] for arguments in given.values()] == [["--host", "127.0.0.1"], ["--host", "0.0.0.0"]]
    assert all("--insecure" not in arguments and "--enable-supernode-auth" in arguments for arguments in given.values())
    assert options(None) == ["--host", "127.0.0.1", "--insecure"]


def test_what_is_not_a_server_is_not_healthy():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        port = mute.getsockname()[1]
        threading.Thread(target=_hang_up, args=(mute,), daemon=True).start()
        assert not is_healthy(port)
    assert not is_healthy(free_port())


def test_a_server_without_a_gate_is_refused():
    with http.server.HTTPServer(("127.0.0.1", 0), Careless) as careless:
        threading.Thread(target=careless.serve_forever, daemon=True).start()
        assert is_healthy(careless.server_port)
        with pytest.raises(FedDPError, match="must refuse requests without its secret"):
            check_guarded(careless.server_port)
        careless.shutdown()


class Careless(http.server.BaseHTTPRequestHandler):
    """Answers everything to everybody."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_child_that_ended_is_not_ready_whatever_answers_in_its_place():
    with private_folder() as home, started("no-such-program", [], home, secrets.token_hex(32)) as child:
        child.process.wait(60)
        with pytest.raises(FedDPError, match="the no-such-program must start, but it ended: KeyError"):
            child.wait_until(lambda: True)


def _hang_up(listener):
    connection, _ = listener.accept()
    connection.close()


def test_the_last_words_are_the_last_line_that_says_something():
    assert last_words("a\nb\n\nFor more information, visit: x\n") == "b"
    assert last_words("") == "no output"
