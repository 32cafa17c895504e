"""A Ray that lets no stranger in, and has limits for a busy machine."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Flower's simulation engine is an extra")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment import own_ray
from feddp_kmeans.network.deployment.own_ray import patient, running

OURS = """
import sys
from feddp_kmeans.network.deployment.own_ray import FOLDER, ray, running
from feddp_kmeans.network.deployment.children import private_folder
with private_folder(FOLDER) as folder, running(folder):
    assert ray.get(ray.remote(lambda: 7).remote()) == 7
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
"""
STRANGER = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
print("in:", ray.get(ray.remote(num_cpus=0)(lambda: 7).remote(), timeout=60))
"""


@pytest.mark.slow  # Ray is started, and connected to, three times.
def test_whoever_does_not_know_the_token_does_not_get_in(tmp_path):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    ours = subprocess.Popen([sys.executable, "-c", OURS], env=plain, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = ours.stdout.readline().strip()
        assert address
        for token in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}):
            command = [sys.executable, "-W", "ignore", "-c", STRANGER, address]
            told = subprocess.run(command, env=plain | token, capture_output=True, text=True, check=False, timeout=600)
            assert told.returncode != 0
            assert "in:" not in told.stdout
    finally:
        ours.communicate(timeout=120)
    assert ours.returncode == 0


def test_a_ray_that_does_not_start_is_told_in_one_line(monkeypatch, tmp_path):
    def fail(**_):
        raise Exception("The current node timed out\nduring startup.")  # noqa: TRY002 - what Ray raises

    ended = []
    monkeypatch.setattr(own_ray, "ray", SimpleNamespace(init=fail, shutdown=lambda: ended.append(1)))
    with (
        pytest.raises(FedDPError, match="Ray must start on this machine, but says: The current node timed out during startup"),
        running(tmp_path),
    ):
        pass
    assert ended == [1]


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=0.0, monotonic=lambda: made.now, sleep=lambda seconds: setattr(made, "now", made.now + seconds))
    monkeypatch.setattr(own_ray, "time", made)
    return made


def test_a_node_that_is_slow_to_start_is_waited_for(clock):
    def look(address, node):
        if clock.now < 200:
            raise RuntimeError("not yet")
        return {"node": node, "address": address}

    assert patient(look)("here", "n") == {"node": "n", "address": "here"}
    assert 200 <= clock.now < 201


def test_a_node_that_never_starts_is_given_up(clock):
    def look():
        raise RuntimeError("never")

    with pytest.raises(RuntimeError, match="never"):
        patient(look)()
    assert 600 <= clock.now < 602


@pytest.mark.slow  # Ray is imported in a process of its own: ten seconds.
def test_ray_reads_the_limits_uses_the_patient_look_and_has_a_new_secret_each_time():
    script = (
        "import feddp_kmeans.network.deployment.simulate\n"
        "from feddp_kmeans.network.deployment import own_ray\n"
        "from ray._private import ray_constants, services\n"
        "import os\n"
        "print(ray_constants.GCS_SERVER_REQUEST_TIMEOUT_SECONDS, services.get_node.__qualname__)\n"
        "print(os.environ['RAY_AUTH_MODE'], os.environ['RAY_AUTH_TOKEN'])"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300).stdout
    limits, secret = told.splitlines()
    assert limits == "600 patient.<locals>.look_again"
    assert secret.startswith("token ")
    assert len(secret) == 64 + 6
    assert secret.split()[1] != os.environ["RAY_AUTH_TOKEN"]
