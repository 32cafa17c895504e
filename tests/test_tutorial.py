"""The tutorial works as it is printed: its files, commands and Python, in order, on a small table of the Census Bureau's form."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
COLUMNS = ("PUMA", "AGEP", "WKHP", "SCHL", "MAR", "SEX", "COW")
BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)


def write_pums(path, rng, rows=6000):
    """Write codes of made-up people: half are young, single and in school, half are older, married and own a company."""
    old = rng.integers(2, size=rows)
    people = np.column_stack(
        [
            rng.integers(100, 120, rows),
            np.where(old, rng.normal(60, 5, rows), rng.normal(22, 2, rows)).round(),
            np.where(old, 50, 20) + rng.integers(10, size=rows),
            np.where(old, 21, 18),
            np.where(old, 1, 5),
            rng.integers(1, 3, rows),
            np.where(old, 7, 1),
        ]
    ).astype(int)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        table.writerows(people.tolist())


@pytest.mark.slow
def test_the_tutorial_works_from_top_to_bottom(tmp_path, rng):
    write_pums(tmp_path / "psam_p53.csv", rng)
    (tmp_path / "census_workers.py").write_text((ROOT / "examples" / "tables" / "census_workers.py").read_text())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = []
    for kind, name, text in BLOCK.findall(PAGE):
        if name:
            (tmp_path / name).write_text(text)
        commands += [line[2:].split() for line in text.splitlines() if line.startswith("$ ")] if kind == "console" else []
        commands += [[sys.executable, "-c", text]] if kind == "python" else []
    assert len(commands) >= 6
    for command in commands:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            cwd=tmp_path,
            env=os.environ | {"PATH": path, "COLUMNS": "200"},
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (tmp_path / "run" / "report.html").exists()
    assert "cluster" in (tmp_path / "workers.labels.csv").read_text().splitlines()[0]
