"""A federation of processes on this machine as hospitals would run it: TLS, keys, five sites, strangers, and a crash."""

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

from feddp_kmeans.deployment.processes import free_port

COMMAND = [sys.executable, "-c", "from feddp_kmeans.cli.main import main; main()"]
SITES = ("aachen", "berlin", "celle", "dresden", "erfurt")
MARK = "FEDDP_TEST_MARK"


class Machines:
    """The commands of all machines, each with its own log, and a mark by which what is left of them is found."""

    def __init__(self, folder):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {MARK: str(folder), "TMPDIR": str(self.temporary)}
        self.running = {}

    def feddp(self, *arguments, cwd=None):
        command = [*COMMAND, *map(str, arguments)]
        subprocess.run(command, cwd=cwd or self.folder, env=self.environment, check=True, capture_output=True, timeout=120)

    def start(self, name, *arguments):
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [*COMMAND, *map(str, arguments)], cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def wait_for(self, name, words, seconds=120):
        end = time.monotonic() + seconds
        while words not in self.log(name):
            assert time.monotonic() < end, self.logs()
            assert self.running[name].poll() is None or words in self.log(name), self.logs()
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"== {path.stem}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    def processes(self):
        """Return the numbers of all live processes of these machines, children and grandchildren included."""
        mark = f"{MARK}={self.folder}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return [pid for pid in found if pid != os.getpid()]

    def stop(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(60)


@pytest.fixture
def machines(tmp_path):
    made = Machines(tmp_path)
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)
    for process in made.running.values():
        process.wait()


@pytest.fixture
def federation(machines):
    """Make the keys and the data: every site's in a folder of its own."""
    folder = machines.folder
    rng = np.random.default_rng(0)
    means = 6 * rng.standard_normal((3, 4))
    np.save(folder / "public.npy", means[rng.integers(3, size=60)] + 0.3 * rng.standard_normal((60, 4)))
    machines.feddp("keys", "federation", "--host", "127.0.0.1", "--port", free_port())
    for name in (*SITES, "stranger"):
        (folder / name).mkdir()
        np.save(folder / name / "points.npy", means[rng.integers(3, size=1000)] + 0.3 * rng.standard_normal((1000, 4)))
        _site_key(folder / name, name)
        if name in SITES:
            shutil.copy(folder / name / f"{name}.pub", folder / "federation" / "public" / "sites")
    shutil.copytree(folder / "federation" / "public", folder / "kit")
    return means


def _site_key(folder, name):
    from feddp_kmeans.deployment.keys import write_site_key

    write_site_key(folder, name)


def join(machines, name, *, key=None, kit="kit"):
    key = key or f"{name}/{name}.key"
    machines.start(name, "join", kit, "--key", key, "--data", f"{name}/points.npy", "--limit", 5)


def test_five_sites_cluster_together_while_strangers_are_refused_and_one_crashes(machines, federation):
    machines.start(
        "serve", "serve", "federation", "--server", "public.npy", "-k", 3, "--epsilon", 4, "--lloyd-steps", 0,
        "--min-clients", 5, "--threshold", 4, "--round-timeout", 45, "--out", "run",
    )  # fmt: skip
    for name in SITES:
        join(machines, name)

    # A key that the server does not know: refused by our own kit, and by the server where the kit was changed.
    join(machines, "stranger")
    assert machines.running.pop("stranger").wait(60) == 1
    assert "--key must belong to a site of this federation" in machines.log("stranger")
    assert "Traceback" not in machines.log("stranger")
    shutil.copytree(machines.folder / "kit", machines.folder / "forged")
    shutil.copy(machines.folder / "stranger" / "stranger.pub", machines.folder / "forged" / "sites")
    join(machines, "stranger", kit="forged")

    machines.wait_for("serve", "5 clients: aachen, berlin, celle, dresden, erfurt")
    machines.wait_for("stranger", "the server does not take us in yet")

    # A crash of a whole machine in the middle of a round: join and SuperNode at once.
    machines.wait_for("serve", "release: subspace steps")
    crashed = machines.running.pop("erfurt")
    child = int(Path(f"/proc/{crashed.pid}/task/{crashed.pid}/children").read_text().split()[0])
    for pid in (child, crashed.pid):
        os.kill(pid, signal.SIGKILL)
    crashed.wait()

    assert machines.running.pop("serve").wait(150) == 0, machines.logs()
    assert "erfurt is missing" in machines.log("serve")
    for name in SITES:
        assert "Traceback" not in machines.log(name)
    assert "connected" not in machines.log("stranger")

    result = json.loads((machines.folder / "run" / "result.json").read_text())
    assert result["trust"] == "secure-sum"
    assert result["secure"]
    found = np.array(result["centers"])
    assert np.linalg.norm(found[:, None] - federation[None], axis=2).min(axis=0).max() < 0.5

    machines.stop()
    assert machines.processes() == []
    left = {path.name for path in machines.temporary.iterdir()}
    assert len(left) <= 1  # The crashed machine could not tidy up after itself.
    assert {path.name for path in (machines.folder / "run").iterdir()} == {
        "result.json", "centers.parquet", "report.html", "job.json", "releases",
    }  # fmt: skip
