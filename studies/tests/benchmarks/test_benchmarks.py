"""The benchmarks still find all that they import, and the shortest of them runs."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports(path):
    if path.stem.startswith("gpu"):
        pytest.importorskip("torch", reason="points on a GPU need the extra 'torch'")
    assert callable(runpy.run_path(str(path), run_name="benchmark")["main"])


def test_a_round_of_the_secure_sum_is_measured():
    measure = runpy.run_path(str(FOLDER / "secure_sum_round.py"), run_name="benchmark")["measure"]
    client, sent, received, server = measure(5, 100, 0)
    assert min(client, sent, received, server) > 0


def test_the_accuracy_of_a_few_runs_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["accuracy.py", "digits", "--quick", "--jobs", "1"])
    runpy.run_path(str(FOLDER / "accuracy.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("feddp-kmeans ")
    assert lines[2].startswith("## digits (method refined")
    assert lines[-3].startswith("| digits | 0.25 | 2 | ")


def test_a_sweep_of_a_theorem_ends_with_its_verdict(capsys):
    script = runpy.run_path(str(FOLDER / "theorems.py"), run_name="benchmark")
    script["sweep"]("short", "n", [replace(script["PRACTICE"], n=n, epsilon=8.0, lloyd_steps=1) for n in (50, 2000, 8000)], 2)
    lines = capsys.readouterr().out.splitlines()
    assert "sample size |" in lines[5]
    assert lines[6].endswith("| 2 of 2 | - |")
    assert lines[9] == "- Verdict: holds."
    assert lines[-1].startswith("- The clustering is lost in some runs at n / least n = 0.0")
