"""What is ours in Flower's processes: the gate of the SuperLink, the end with the parent."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from feddp_kmeans.network.deployment.child import FLEET, HEALTH, Gate
from feddp_kmeans.network.flower import bundles

SECRET = "5" * 64
PROOF = (b"authorization", f"Bearer {SECRET}".encode())


def status(path, method="POST", headers=(), secret=SECRET, everybody=HEALTH | FLEET, **more):
    """Return the status with which a gate before an app that says 200 answers."""
    seen = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    async def send(event):
        seen.append(event)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(errors="surrogateescape"),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
    }
    asyncio.run(Gate(app, secret, everybody)(scope | {"client": ("127.0.0.1", 4000)} | more, None, send))
    return seen[0].get("status", seen[0]["type"])


def test_the_routes_for_everybody_are_the_fleet_api_of_flwr_and_its_health_page():
    from flwr.supercore.routers import health
    from flwr.superlink.routers.fleet.router import router

    assert {(method, route.path) for route in router.routes for method in route.methods} == FLEET - {("POST", bundles.SITES)}
    assert ("POST", bundles.SITES) in FLEET
    assert {(method, route.path) for route in health.router.routes for method in route.methods} == HEALTH


@pytest.mark.parametrize(("method", "path"), sorted(HEALTH | FLEET))
def test_everybody_reaches_what_is_for_everybody(method, path):
    assert status(path, method) == 200
    assert status(path, method, client=("10.0.0.7", 4000)) == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/control/start-run", "/v1/control/register-node", "/v1/runtime/acquire-task"),
        *(bundles.PATH, "/docs", "/openapi.json", "/", "", "/v2/fleet/x"),
    ],
)
def test_all_the_rest_takes_the_secret_wherever_it_comes_from(path):
    for method in ("GET", "POST"):
        assert status(path, method) == 403
        assert status(path, method, [PROOF]) == 200
        assert status(path, method, [PROOF], client=("10.0.0.7", 4000)) == 200


ACTIVATE = "/v1/fleet/activate-node"


@pytest.mark.parametrize(
    "scope",
    [
        {"method": "GET"},
        {"method": "HEAD"},
        {"method": "OPTIONS"},
        {"method": "CONNECT"},
        {"method": "post"},
        {"raw_path": b"/v1/fleet/activate%2Dnode"},
        {"raw_path": b"/v1/control/start-run"},
        {"raw_path": b"/v1/fleet/../fleet/activate-node"},
        {"raw_path": None},
        {"path": "/\udc80", "raw_path": b"/%80"},
        {"root_path": "/v1/control"},
        {"root_path": "/v1/fleet/activate-node"},
        {"query_string": b"x=1"},
        {"type": "websocket"},
        {"type": "unheard-of"},
        *(
            {"path": path, "raw_path": path.encode()}
            for path in (
                "/v1/fleet/",
                "/v1/fleet",
                "/v1/fleet/activate-node/",
                "/v1/fleet//activate-node",
                "//v1/fleet/activate-node",
                "/v1//fleet/activate-node",
                "/V1/Fleet/Activate-Node",
                "/v1/fleet/../control/start-run",
                "/v1/fleet/../fleet/activate-node",
                "/v1/fleet/./activate-node",
                "/v1/fleet/%2e%2e/control/start-run",
                "/v1/fleet/..%2fcontrol/start-run",
                "/v1/fleet/..\\control\\start-run",
                "/v1/fleet/activate-node;x",
                "/v1/fleet/activate-node#",
                "/v1/fleet/activate-node?",
                "/v1/fleet/activate-node\x00",
                "/v1/fleet/activate-node\n",
                " /v1/fleet/activate-node",
                "/v1/fleet/activate-node ",
                "/v1/fleet/ąctivate-node",
                "v1/fleet/activate-node",
                "http://server/v1/fleet/activate-node",
                "https://server/v1/control/start-run",
                "*",
                "/healthy",
                "/health/",
                "/health/../v1/control/start-run",
                "/HEALTH",
            )
        ),
    ],
    ids=str,
)
def test_what_is_not_exactly_a_known_route_is_refused(scope):
    assert status(**{"path": ACTIVATE} | scope) in (403, "websocket.close")


def test_a_websocket_is_closed_even_with_the_secret():
    assert status("/v1/control/start-run", headers=[PROOF], type="websocket") == "websocket.close"


@pytest.mark.parametrize(
    "headers",
    [
        [PROOF, PROOF],
        [PROOF, (b"authorization", b"Bearer x")],
        [(b"authorization", SECRET.encode())],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer ")],
        [(b"authorization", b"bearer " + SECRET.encode())],
        [(b"authorization", f"Bearer {SECRET} ".encode())],
        [(b"authorization", f"Bearer {SECRET[:-1]}".encode())],
        [(b"authorization", f"Bearer {SECRET}0".encode())],
        [(b"authorization", "Bearer ü".encode())],
        [(b"x-authorization", PROOF[1])],
        [(b"cookie", b"authorization=" + PROOF[1])],
        [(b"x-forwarded-for", b"127.0.0.1"), (b"forwarded", b"for=127.0.0.1"), (b"x-real-ip", b"127.0.0.1"), (b"host", b"localhost")],
    ],
    ids=str,
)
def test_nothing_but_the_whole_secret_once_opens_the_gate(headers):
    assert status("/v1/control/start-run", headers=headers) == 403
    assert status("/v1/control/start-run", headers=[PROOF]) == 200


@pytest.mark.parametrize("secret", ["", " ", "5" * 63, "5" * 65])
def test_a_gate_without_a_whole_secret_is_not_built(secret):
    with pytest.raises(ValueError, match="secret must have 64 characters"):
        status("/", secret=secret)


def test_the_servers_own_start_and_end_pass_the_gate():
    assert status("", type="lifespan") == 200


def test_a_child_ends_with_its_parent_even_where_that_is_killed(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    inner = (
        "import sys, time\nfrom feddp_kmeans.network.deployment import child\n"
        "child._PROGRAMS['sleep'] = lambda _: time.sleep(60)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid()))\n"
        "__import__('signal').signal(15, lambda *_: sys.exit(0))\n"
        f"sys.argv = ['child', sys.argv[1], {str(home)!r}, 'sleep']\nchild.main()"
    )
    outer = f"import os, subprocess, sys\nsubprocess.run([sys.executable, '-c', {inner!r}, str(os.getpid())], input=b'')"
    parent = subprocess.Popen([sys.executable, "-c", outer])
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not alive(pid))
    assert not home.exists()


def wait_until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
