"""What is ours in Flower's processes: the gate of the SuperLink, the naps of the SuperNode, the end with the parent."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from feddp_kmeans.deployment import child
from feddp_kmeans.deployment.child import Gate, Naps


def status(path, client, kind="http"):
    """Return the status with which a gate before an app that says 200 answers."""
    seen = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    async def send(event):
        seen.append(event)

    asyncio.run(Gate(app)({"type": kind, "path": path, "client": client}, None, send))
    return seen[0]["status"]


@pytest.mark.parametrize(
    "path", ["/v1/control/start-run", "/v1/control/register-node", "/v1/runtime/acquire-task", "/docs", "/", "/v2/fleet/x"]
)
def test_other_machines_reach_nothing_but_the_fleet_api(path):
    assert status(path, ("10.0.0.7", 4000)) == 403
    assert status(path, None) == 403
    assert status(path, ("127.0.0.1", 4000)) == 200
    assert status(path, ("::1", 4000)) == 200


@pytest.mark.parametrize("path", ["/v1/fleet/activate-node", "/health"])
def test_nodes_reach_the_fleet_api(path):
    assert status(path, ("10.0.0.7", 4000)) == 200


def test_the_servers_own_start_and_end_pass_the_gate():
    assert status("", None, kind="lifespan") == 200


def test_naps_are_short_after_a_message_and_never_longer_than_asked(monkeypatch):
    slept, clock = [], [100.0]
    monkeypatch.setattr(child.time, "sleep", slept.append)
    monkeypatch.setattr(child.time, "monotonic", lambda: clock[0])
    naps = Naps()
    for later in (0, 10, 1000):
        clock[0] = 100.0 + later
        naps.sleep(3)
    naps.sleep(0.5)
    naps.sleep(3)
    assert slept == [0.25, 0.75, 3, 0.25, 0.25]
    assert naps.time is time.time


def test_a_child_ends_with_its_parent_even_where_that_is_killed(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    inner = (
        "import sys, time\nfrom feddp_kmeans.deployment import child\n"
        "child._PROGRAMS['sleep'] = lambda: time.sleep(60)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid()))\n"
        "__import__('signal').signal(15, lambda *_: sys.exit(0))\n"
        f"sys.argv = ['child', sys.argv[1], {str(home)!r}, 'sleep']\nchild.main()"
    )
    outer = f"import os, subprocess, sys\nsubprocess.run([sys.executable, '-c', {inner!r}, str(os.getpid())])"
    parent = subprocess.Popen([sys.executable, "-c", outer])
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not alive(pid))
    assert not home.exists()


def wait_until(holds, seconds=60):
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
