"""The benchmarks still find all that they import, and the shortest of them runs."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports(path):
    if path.stem == "gpu_pass":
        pytest.importorskip("torch", reason="points on a GPU need the extra 'torch'")
    assert callable(runpy.run_path(str(path), run_name="benchmark")["main"])


def test_a_round_of_the_secure_sum_is_measured():
    pytest.importorskip("Crypto", reason="secure sums need the extra 'flower'")
    measure = runpy.run_path(str(FOLDER / "secure_sum_round.py"), run_name="benchmark")["measure"]
    client, sent, received, server = measure(5, 100, 0)
    assert min(client, sent, received, server) > 0
