"""Limits for a Ray that starts on a busy machine."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Flower's simulation engine is an extra")

from feddp_kmeans.deployment import patient_ray
from feddp_kmeans.deployment.patient_ray import patient


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=0.0, monotonic=lambda: made.now, sleep=lambda seconds: setattr(made, "now", made.now + seconds))
    monkeypatch.setattr(patient_ray, "time", made)
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


def test_ray_reads_the_limits_and_uses_the_patient_look():
    script = (
        "import feddp_kmeans.deployment.simulate\n"
        "from feddp_kmeans.deployment import patient_ray\n"
        "from ray._private import ray_constants, services\n"
        "print(ray_constants.GCS_SERVER_REQUEST_TIMEOUT_SECONDS, services.get_node.__qualname__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "600 patient.<locals>.look_again\n"


@pytest.mark.parametrize(("temporary", "chosen"), [("/tmp", "/tmp"), ("/scratch/me", "/scratch/me"), ("/" + "x" * 30, "/tmp")])
def test_a_temporary_folder_whose_name_is_too_long_for_sockets_is_not_used(temporary, chosen):
    script = f"import tempfile; tempfile.tempdir = {temporary!r}\nfrom feddp_kmeans.deployment.patient_ray import FOLDER\nprint(FOLDER)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300).stdout == f"{chosen}\n"
