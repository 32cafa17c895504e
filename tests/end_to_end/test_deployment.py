"""A federation of processes on this machine as hospitals would run it: TLS, keys, sites, strangers, and a crash."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("Crypto")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.join import Connection
from feddp_kmeans.network.deployment.join import join as stay
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation, read_kit
from tests.end_to_end.processes import are_gone, kill, marked

COMMAND = [sys.executable, "-c", "from feddp_kmeans.cli.main import main; main()"]
SITES = ("aachen", "berlin", "celle", "dresden", "erfurt")


class Machines:
    """The commands of all machines, each with its own log, and a TMPDIR by which what is left of them is found."""

    def __init__(self, folder):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary)}
        self.running = {}

    def start(self, name, *arguments):
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [*COMMAND, *map(str, arguments)], cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def wait_for(self, name, words, seconds=300):
        end = time.monotonic() + seconds
        while words not in self.log(name):
            assert time.monotonic() < end, self.logs()
            assert self.running[name].poll() is None or words in self.log(name), self.logs()
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"== {path.stem}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    def processes(self):
        """Return the numbers of all live processes of these machines, children and grandchildren included."""
        return marked("TMPDIR", self.temporary)

    def gone(self):
        return are_gone("TMPDIR", self.temporary)

    def stop(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(120)


@pytest.fixture
def machines(tmp_path):
    made = Machines(tmp_path)
    yield made
    kill("TMPDIR", made.temporary)
    for process in made.running.values():
        process.wait()


def federation(machines, sites):
    """Make the keys and the data, every site's in a folder of its own; return the means of the clusters."""
    folder = machines.folder
    rng = np.random.default_rng(0)
    means = 6 * rng.standard_normal((3, 4))
    np.save(folder / "public.npy", means[rng.integers(3, size=60)] + 0.3 * rng.standard_normal((60, 4)))
    make_federation(folder / "federation", ["127.0.0.1"], free_port())
    for name in sites:
        (folder / name).mkdir()
        np.save(folder / name / "points.npy", means[rng.integers(3, size=1000)] + 0.3 * rng.standard_normal((1000, 4)))
        _, public = write_site_key(folder / name, name)
        shutil.copy(public, folder / "federation" / "public" / "sites")
    shutil.copytree(folder / "federation" / "public", folder / "kit")
    return means


def refusal(machines, key):
    """Return what a node with this key is told, at its first try."""
    kit = read_kit(machines.folder / "kit")
    with pytest.raises(FedDPError) as refused:
        stay(Connection(kit.address, kit.authority, key), bytes, patience=0)
    return str(refused.value)


@pytest.mark.parametrize(("n_sites", "colluders"), [(3, 0), pytest.param(5, 1, marks=pytest.mark.slow)])
def test_sites_cluster_together_while_strangers_are_refused_and_one_crashes(machines, n_sites, colluders):
    sites = SITES[:n_sites]
    means = federation(machines, sites)
    machines.start(
        "serve", "serve", "federation", "--server", "public.npy", "-k", 3, "--epsilon", 8, "--method", "paper", "--lloyd-steps", 0,
        "--colluders", colluders, "--round-timeout", 30, "--out", "run",
    )  # fmt: skip
    for name in sites:
        own = ("--key", f"{name}/{name}.key", "--data", f"{name}/points.npy")
        machines.start(name, "join", "kit", *own, "--limit", 10, "--colluders", colluders)
    machines.wait_for("serve", f"{n_sites} sites: {', '.join(sites)}")

    stranger, _ = write_site_key(machines.folder, "stranger")
    for key in (stranger, machines.folder / "aachen" / "aachen.key"):
        assert refusal(machines, key) == "the server refuses this key: it is not registered there, or another node uses it."

    crash(machines.running.pop(sites[-1]))
    assert machines.running.pop("serve").wait(600) == 0, machines.logs()
    assert f"{sites[-1]} is missing" in machines.log("serve")
    for name in sites:
        assert "Traceback" not in machines.log(name)

    result = json.loads((machines.folder / "run" / "result.json").read_text())
    assert result["trust"] == "secure-sum"
    assert result["secure"]
    found = np.array(result["centers"])
    assert np.linalg.norm(found[:, None] - means[None], axis=2).min(axis=0).max() < 0.5

    machines.stop()
    assert machines.gone(), machines.processes()
    assert len(list(machines.temporary.iterdir())) <= 1  # The machine that crashed could not tidy up.
    assert {path.name for path in (machines.folder / "run").iterdir()} == {
        "result.json", "centers.parquet", "report.html", "job.json", "releases",
    }  # fmt: skip


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_server_that_is_ended_in_mid_run_leaves_nothing_running(machines, ended_by):
    machines.start("serve", "serve", "--insecure", "--port", free_port(), "--box", "0,1", "-k", 3, "--epsilon", 1, "--out", "run")
    machines.wait_for("serve", "0 of ")  # So the server's half of the run is at work.
    assert len(machines.processes()) == 2
    machines.running["serve"].send_signal(ended_by)
    assert machines.running.pop("serve").wait(120) != 0
    assert machines.processes() == []
    assert list(machines.temporary.iterdir()) == []


@pytest.mark.slow  # A second federation of processes: a minute more.
def test_a_server_that_is_killed_leaves_nothing_running_and_goes_on_without_paying_twice(machines):
    federation(machines, SITES)
    serve = ["serve", "federation", "--server", "public.npy", "-k", 3, "--epsilon", 4, "--out", "run"]
    machines.start("serve", *serve)
    for name in SITES:
        machines.start(name, "join", "kit", "--key", f"{name}/{name}.key", "--data", f"{name}/points.npy", "--limit", 5)
    machines.wait_for("serve", "1 of ")
    machines.wait_for("serve", "releases made")
    joined = {process.pid for name, process in machines.running.items() if name != "serve"}
    machines.running["serve"].kill()
    machines.running.pop("serve").wait()
    end = time.monotonic() + 120
    while {pid for pid in machines.processes() if _parent(pid) not in joined} - joined:
        assert time.monotonic() < end
        time.sleep(0.2)

    machines.start("again", *serve)
    assert machines.running.pop("again").wait(600) == 0, machines.logs()
    assert (machines.folder / "run" / "result.json").exists()
    for name in SITES:
        assert len((machines.folder / name / ".feddp-budget.jsonl").read_text().splitlines()) == 1
    machines.stop()
    assert machines.gone(), machines.processes()
    assert list(machines.temporary.iterdir()) == []


def _parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def crash(process):
    """Kill a site's command and its SuperNode at once, as a machine that loses its power."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    for pid in (*map(int, children), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
