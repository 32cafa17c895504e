"""The compose file is one that compose takes, gives its services no more than they need, and its commands make a federation."""

import json
import os
import re
import shlex
import subprocess

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("yaml")

from tests.cli.command import COMMAND
from tests.deploy.services import FILE, SERVICES, SITES, prepared
from tests.end_to_end.processes import are_gone, kill


def test_compose_takes_the_file():
    tool = next((tool for tool in (["docker-compose"], ["docker", "compose"]) if works([*tool, "version"])), None)
    if tool is None:
        pytest.skip("neither docker-compose nor docker compose is installed")
    check = [*tool, "-f", FILE, "config", "-q"]
    done = subprocess.run(check, env=os.environ | {"FEDDP_USER": "1:1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    nobody = {name: value for name, value in os.environ.items() if name != "FEDDP_USER"}
    done = subprocess.run(check, env=nobody, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "must be the owner of the keys" in done.stderr


def works(command):
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_gets_no_more_than_it_needs(name):
    service = SERVICES[name]
    assert len(SITES) == 3
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].startswith("${FEDDP_USER:?")
    assert service["restart"] == ("on-failure:5" if name == "server" else "unless-stopped")
    assert not {"privileged", "cap_add", "pid", "network_mode", "devices"} & set(service)
    writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
    assert writable == (["./run:/run-folder"] if name == "server" else [f"{name}-state:/state"])
    # No site sees another's files, or the server's key.
    others = ["private", *(other for other in (*SITES, "./run") if other != name)]
    assert name == "server" or not [volume for volume in service["volumes"] for other in others if other in volume]


def arguments_of(service, folder):
    """Return a service's command with the paths of this machine in place of those in the container."""
    places = {}
    for volume in service["volumes"]:
        source, target = volume.split(":")[:2]
        places[target] = folder / source if source.startswith(".") else folder / "volumes" / source
        if not source.startswith("."):
            places[target].mkdir(parents=True, exist_ok=True)
    inside = re.compile("(" + "|".join(map(re.escape, sorted(places, key=len, reverse=True))) + ")(?=/|$)")
    return [inside.sub(lambda found: str(places[found[1]]), word) for word in shlex.split(service["command"])]


@pytest.mark.slow  # A federation of processes: a minute.
@pytest.mark.skipif("FEDDP_FEDERATION" not in os.environ, reason="minutes of processes: make federation runs it")
def test_the_commands_of_the_services_make_a_federation(tmp_path):
    means = prepared(tmp_path)
    mark = {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    running = {}
    try:
        for name, service in SERVICES.items():
            with (tmp_path / f"{name}.log").open("wb") as log:
                command = [*COMMAND, *arguments_of(service, tmp_path)]
                running[name] = subprocess.Popen(command, cwd=tmp_path, env=os.environ | mark, stdout=log, stderr=subprocess.STDOUT)
        logs = "\n".join(path.read_text()[-1500:] for path in tmp_path.glob("*.log"))
        assert running["server"].wait(900) == 0, logs
        for name in SITES:
            running[name].terminate()
            running[name].wait(float(SERVICES[name]["stop_grace_period"].removesuffix("s")))
        assert are_gone(*next(iter(mark.items())), seconds=10)
    finally:
        kill(*next(iter(mark.items())))
        for process in running.values():
            process.wait()
    result = json.loads((tmp_path / "run" / "1" / "result.json").read_text())
    assert np.linalg.norm(np.array(result["centers"])[:, None] - means[None], axis=2).min(axis=0).max() < 0.5
    for name in SITES:
        assert len((tmp_path / "volumes" / f"{name}-state" / "budget.jsonl").read_text().splitlines()) == 1
        assert {path.name for path in (tmp_path / name / "data").iterdir()} == {"patients.csv"}
