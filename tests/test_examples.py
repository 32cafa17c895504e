"""The worked examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.variants import slow_after

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", slow_after(2, EXAMPLES), ids=lambda path: path.name)
def test_an_example_runs_and_states_its_guarantee(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "changes the probability of any outcome by a factor of at most" in done.stdout
