"""Attacks on a real SuperLink, started by our code, in an environment that is as bad as it gets."""

import http.client
import secrets
import socket
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from flwr.proto.control_pb2 import ListRunsRequest
from flwr.supercore.protobuf.translation import PROTOBUF_REQUEST_TYPES

from feddp_kmeans.network.deployment.child import FLEET
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.serve import superlink

BAD = {
    "FORWARDED_ALLOW_IPS": "*",
    "FLWR_INTERNAL_GRPC_CONTROL_API": "1",
    "FLWR_OIDC_ENABLED": "1",
    "FLWR_TELEMETRY_ENABLED": "1",
    "UVICORN_ROOT_PATH": "/v1/fleet",
    "SSLKEYLOGFILE": "keys.txt",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "A_SECRET_OF_THE_OPERATOR": "xyz",
}
CLAIMS = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost", "Forwarded": "for=127.0.0.1;host=localhost", "X-Real-IP": "::1"}
CLOSED = [*sorted(set(PROTOBUF_REQUEST_TYPES) - FLEET), ("GET", "/docs"), ("GET", "/openapi.json"), ("POST", "/v1/runtime/responses")]


@pytest.fixture
def bad_environment(monkeypatch):
    for name, value in BAD.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)


def status(port, method, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, b"", {"content-type": "application/protobuf"} | headers)
        reply = connection.getresponse()
        assert reply.read() in (b"", b"not for you") or reply.status not in (200, 403) or "Authorization" in headers
        assert reply.getheader("server") is None
        return reply.status
    finally:
        connection.close()


def status_of_target(port, target):
    """Return the status for a request whose target is sent as it stands."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall(b"POST " + target + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return int(raw.makefile("rb").readline().split()[1])


def of_process(child, name):
    return Path(f"/proc/{child.process.pid}/{name}").read_bytes()


def test_the_control_interface_takes_the_secret_whatever_a_request_claims(bad_environment, monkeypatch):
    port = free_port()
    made = []
    token_hex = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda length: made.append(token_hex(length)) or made[-1])
    with superlink(port) as (server, control):
        (secret,) = made
        assert len(bytes.fromhex(secret)) == 32
        proof = {"Authorization": f"Bearer {secret}"}
        for method, path in CLOSED:
            assert status(port, method, path, **CLAIMS) == 403, path
            assert status(port, method, path, Authorization=f"Bearer {token_hex(32)}") == 403, path
        assert status(port, "GET", "/health", **CLAIMS) == 200
        assert status(port, "GET", "/docs", **proof) == 200
        assert status(port, "POST", "/v1/control/list-runs", **proof) not in (401, 403, 404)
        assert status(port, "POST", "/v1/runtime/acquire-task", **proof) not in (401, 403, 404)
        assert control._client.ListRuns(ListRunsRequest()).run_dict == {}  # Through no proxy.
        for path in (b"/v1/fleet/../control/list-runs", b"/v1/fleet/%2e%2e/control/list-runs", b"http://localhost/v1/control/list-runs"):
            assert status_of_target(port, path) in (400, 403), path
        assert status(port, "POST", "/v1/fleet/pull-messages", **CLAIMS) not in (200, 403)  # Open, and asks for a signature itself.

        assert secret.encode() not in of_process(server, "cmdline") + of_process(server, "environ")
        environment = dict(line.decode().split("=", 1) for line in of_process(server, "environ").split(b"\0") if line)
        assert not environment.keys() & ({*BAD} - {"FLWR_TELEMETRY_ENABLED"})
        assert environment["FLWR_TELEMETRY_ENABLED"] == "0"
        home = Path(environment["FLWR_HOME"])
        assert not [path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
