"""Flower's simulation engine gives the centers of a run in memory, to the last bit where there is no noise."""

import json
import subprocess
import sys

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from tests.cli.command import feddp

pytest.importorskip("flwr", reason="Flower is an extra")
pytest.importorskip("ray", reason="Flower's simulation engine is an extra")

RNG = np.random.default_rng(5)
CLIENTS = [RNG.standard_normal((n, 3)) + 6 * RNG.integers(0, 2, (n, 1)) for n in (40, 1, 30)]
SERVER = RNG.standard_normal((30, 3)) + 6 * RNG.integers(0, 2, (30, 1))


def simulated(folder, *given):
    command = [
        sys.executable,
        "-c",
        "from feddp_kmeans.cli.main import main; main()",
        "simulate",
        "clients",
        *map(str, given),
        "--out",
        "run",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "run" / "result.json").read_text())


@pytest.mark.slow  # Ray takes half a minute to start; masked sums through real Flower processes are in tests/end_to_end
@pytest.mark.parametrize("trust", ["aggregator", "secure-sum"])
def test_the_simulation_gives_the_same_bits(tmp_path, trust):
    np.save(tmp_path / "server.npy", SERVER)
    (tmp_path / "clients").mkdir()
    for index, points in enumerate(CLIENTS):
        np.save(tmp_path / "clients" / f"c{index}.npy", points)
    given = ["-k", 2, "--epsilon", "inf", "--method", "paper", "--server", "server.npy", "--seed", 0, "--trust", trust]
    result = simulated(tmp_path, *given)
    expected = run(InMemoryFederation(CLIENTS), prepare(Settings(2, float("inf"), method="paper"), SERVER, 3), seed=0)
    assert result["trust"] == trust
    assert np.array_equal(result["centers"], expected.centers)
    assert np.array_equal(result["noisy_counts"], expected.counts)


@pytest.mark.slow  # as above
def test_the_simulation_reads_words_as_stated(tmp_path):
    (tmp_path / "clients").mkdir()
    for index in range(2):
        rows = [f"{30 + 40 * (i % 2)},{'fm'[i % 2]}" for i in range(40 + index)]
        (tmp_path / "clients" / f"{index}.csv").write_text("\n".join(["age,sex", *rows]))
    given = ("-k", 2, "--epsilon", "inf", "--seed", 0, "--range", "age=0:100", "--categories", "sex=f,m")
    result = simulated(tmp_path, *given, "--trust", "aggregator")
    expected = json.loads(feddp("fit", "clients", *given, "--json", cwd=tmp_path).stdout)
    assert result["columns"] == expected["columns"] == ["age", "sex=f", "sex=m"]
    assert result["centers"] == expected["centers"]
