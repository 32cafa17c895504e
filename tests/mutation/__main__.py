"""Plant every bug in a copy of the tree and see whether a test fails.

    python -m tests.mutation [--near] [part of a name ...]

Prints a line a bug: the test that caught it, or SURVIVED. Ends with 1 if any survived. The tests near the bug are run first, and all others
only where those pass; not at all with --near. Takes an hour.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutation.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
SOURCE = "src/feddp_kmeans"


def copy_of_the_tree(folder: Path) -> None:
    """Copy what the tests need."""
    for name in (
        "src",
        "tests",
        "docs",
        "examples",
        "README.md",
        "pyproject.toml",
        "conftest.py",
        "mkdocs.yml",
        "constraints.txt",
        "Makefile",
    ):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)


def caught_by(mutant: Mutant, folder: Path, *, near: bool) -> str | None:
    """Plant the bug; return the first test that fails, if any does."""
    path = folder / SOURCE / mutant.file
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        found = first_failure(folder, *mutant.tests)
        return found if found or near else first_failure(folder, "-n", "2", "tests")
    finally:
        path.write_text(right, encoding="utf-8")


def first_failure(folder: Path, *what: str) -> str | None:
    """Return the name of the first test that fails, or what pytest said last."""
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--ignore=tests/mutation", "--ignore=tests/end_to_end"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / ".hypothesis")}
    command = [sys.executable, "-m", "pytest", *options, *what]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else (done.stdout or done.stderr).strip().splitlines()[-1]


def main() -> int:
    """Try all bugs, or those whose name or file holds one of the arguments."""
    near = "--near" in sys.argv
    wanted = [part for part in sys.argv[1:] if part != "--near"]
    survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_of_the_tree(folder)
        for mutant in MUTANTS:
            if wanted and not any(part in mutant.name or part in mutant.file for part in wanted):
                continue
            found = caught_by(mutant, folder, near=near)
            survived += found is None
            verdict = "SURVIVED" if found is None else "caught  "
            sys.stdout.write(f"{verdict}  {mutant.file}: {mutant.name}  {found or ''}\n")
            sys.stdout.flush()
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
