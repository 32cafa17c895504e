"""The app on Flower as it comes: a stock SuperLink, stock SuperNodes that run what the server sends, and ``flwr run``."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans.network.deployment.children import free_port, is_healthy
from feddp_kmeans.network.flower import OFF
from tests.cli.command import feddp
from tests.end_to_end.processes import are_gone, kill

SCRIPTS = Path(sys.executable).parent
TRUST = ("--trust", "aggregator")


def export(*arguments):
    done = feddp("export-app", *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # A stock SuperNode starts a process a message: minutes.
@pytest.mark.skipif("FEDDP_FEDERATION" not in os.environ, reason="minutes of processes: make federation runs it")
def test_flwr_run_with_nothing_but_exported_files(tmp_path):
    rng = np.random.default_rng(0)
    means = 6 * rng.standard_normal((3, 4))
    port = free_port()
    environment = os.environ | OFF | {"FLWR_HOME": str(tmp_path / "home"), "PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    np.save(tmp_path / "public.npy", means[rng.integers(3, size=60)] + 0.3 * rng.standard_normal((60, 4)))
    export(tmp_path / "out", "-k", 3, "--epsilon", 4, "--lloyd-steps", 0, "--server", tmp_path / "public.npy", "--min-sites", 2, *TRUST)

    running = [_start(environment, "flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", port)]
    try:
        _wait(lambda: is_healthy(port), 300)
        for name in ("berlin", "paris"):
            path = tmp_path / f"{name}.npy"
            np.save(path, means[rng.integers(3, size=500)] + 0.3 * rng.standard_normal((500, 4)))
            books = tmp_path / f"{name}.jsonl"
            export(tmp_path / name, "--site", name, "--data", path, "--limit", 5, "--odometer", books, "--allow-aggregator")
            node = ["--insecure", "--superlink", f"127.0.0.1:{port}", "--host", "127.0.0.1", "--port", free_port()]
            running.append(_start(environment, "flower-supernode", *node, "--node-config", f'site="{tmp_path / name / "site.json"}"'))
        subprocess.run([SCRIPTS / "flwr", "run", tmp_path / "out" / "app", "here"], env=environment, check=True, timeout=300)
        _wait((tmp_path / "out" / "run" / "result.json").exists, 1000)
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(120)
        # A stock SuperNode ends before its flower-superexec does, which then looks for it every few seconds.
        gone = are_gone("FLWR_HOME", tmp_path / "home")
        kill("FLWR_HOME", tmp_path / "home")
    assert gone
    result = json.loads((tmp_path / "out" / "run" / "result.json").read_text())
    assert np.linalg.norm(np.array(result["centers"])[:, None] - means[None], axis=2).min(axis=0).max() < 0.5
    assert len((tmp_path / "paris.jsonl").read_text().splitlines()) == 1


def _start(environment, program, *arguments):
    command = [str(SCRIPTS / program), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait(holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)
