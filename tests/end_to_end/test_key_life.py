"""Sites that keep running while keys are revoked, renewed and swapped, with TLS and processes as hospitals would have them."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.keys import write_site_key
from tests.cli.command import COMMAND
from tests.end_to_end.processes import Machines

SITES = ("aachen", "berlin", "celle", "dresden")
RUN = ("-k", 2, "--epsilon", 2, "--box", "0,1", "--colluders", 0, "--round-timeout", 60)


class Hospitals(Machines):
    """Four sites and a server in one folder."""

    def feddp(self, *arguments):
        """Run a command to its end; return what it said."""
        asked = [*COMMAND, *map(str, arguments)]
        done = subprocess.run(asked, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + "".join(map(self.log, self.running))
        return done.stdout + done.stderr

    def join(self, name, *more):
        own = ("--key", f"{name}.key", "--data", f"{name}/x.npy", "--limit", 20, "--colluders", 0)
        self.start(name, "join", f"{name}/kit", *own, *more)

    def give_kit(self, *names):
        for name in names:
            shutil.copytree(self.folder / "federation" / "public", self.folder / name / "kit", dirs_exist_ok=True)

    def leave(self, name):
        process = self.running.pop(name)
        process.terminate()
        process.wait(120)


@pytest.fixture
def hospitals(tmp_path):
    with Hospitals(tmp_path) as made:
        yield made


@pytest.mark.slow
@pytest.mark.skipif("FEDDP_FEDERATION" not in os.environ, reason="three minutes of processes: make federation runs it")
def test_keys_are_revoked_renewed_and_swapped_while_sites_keep_running(hospitals):
    folder = hospitals.folder
    (folder / "phrase").write_text("open sesame\n")
    (folder / "phrase").chmod(0o600)
    hospitals.feddp("keys", "federation", "--host", "127.0.0.1", "--port", free_port(), "--passphrase-file", "phrase")
    rng = np.random.default_rng(0)
    for name in SITES:
        (folder / name).mkdir()
        np.save(folder / name / "x.npy", np.array([[0.2, 0.2], [0.8, 0.7]])[rng.integers(2, size=2000)])
        _, public = write_site_key(folder, name)
        shutil.copy(public, folder / "federation" / "public" / "sites")
    hospitals.give_kit(*SITES)
    words = hospitals.feddp("keys", "federation", "--status").split("roster of 4 sites: ")[1].split(";")[0]
    for name in SITES:
        hospitals.join(name, "--roster", words)
    said = hospitals.feddp("serve", "federation", *RUN, "--out", "run1")
    assert "4 sites: aachen, berlin, celle, dresden" in said

    hospitals.feddp("keys", "federation", "--revoke", "aachen")
    hospitals.feddp("keys", "federation", "--renew", "--passphrase-file", "phrase")
    hospitals.give_kit("berlin", "celle", "dresden")
    said = hospitals.feddp("serve", "federation", *RUN, "--out", "run2")
    assert "aachen is left out: its key must be valid, but it was revoked." in said
    assert "3 sites: berlin, celle, dresden" in said

    hospitals.feddp("keys", "federation", "--renew-authority", "--passphrase-file", "phrase")
    hospitals.give_kit("berlin", "celle", "dresden")
    for name in SITES:
        hospitals.leave(name)
    for name in SITES[1:]:
        hospitals.join(name)
    hospitals.feddp("keys", "federation", "--renew", "--passphrase-file", "phrase")
    assert "3 sites: berlin, celle, dresden" in hospitals.feddp("serve", "federation", *RUN, "--out", "run3")
    assert "keys were renewed, and the earlier ones vouch for them" in hospitals.log("berlin")

    (folder / "swapped").mkdir()
    _, public = write_site_key(folder / "swapped", "celle")
    shutil.copy(public, folder / "dresden" / "kit" / "sites")
    asked = [*COMMAND, *map(str, ("serve", "federation", *RUN, "--out", "run4"))]
    refused = subprocess.run(asked, cwd=folder, env=hospitals.environment, capture_output=True, text=True, timeout=600, check=False)
    assert refused.returncode == 1
    assert "dresden is missing: it refused: the roster must be the one that this site joined" in refused.stderr
    assert not (folder / "run4" / "result.json").exists()
    assert all(json.loads((folder / run / "result.json").read_text())["secure"] for run in ("run1", "run2", "run3"))
    for name in SITES[1:]:
        hospitals.leave(name)
    assert hospitals.gone()
    assert all("Traceback" not in hospitals.log(name) for name in SITES)
