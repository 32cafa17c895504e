"""Plant every bug in a copy of the tree and see whether a test fails.

    python -m tests.mutation [--near | --list] [part of a name ...]

Prints one line per bug: the test that caught it, SURVIVED, or LOST if the text to change or a test near it is not there any more.
Ends with 1 if any survived or was lost. The tests near the bug run first, and all others only if those pass; not at all with --near.
Takes an hour.

Bugs are found by a piece of text, in the file of a given name or else in any other. `make test` does not look at them, so that code can be
moved and renamed freely; whoever does so sees here which bugs have to be written anew.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from build_kernels import build

from tests.mutation.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "studies")

_TELLING = 25
"""Characters of a text that is looked for in all files: a shorter one may mean something else there."""


def copy_of_the_tree(folder: Path) -> None:
    """Copy what the tests need."""
    for name in (
        *SOURCES,
        "tests",
        "docs",
        "examples",
        "README.md",
        "pyproject.toml",
        "build_kernels.py",
        "conftest.py",
        "mkdocs.yml",
        "constraints.txt",
        "Makefile",
    ):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)


def planted(mutant: Mutant, folder: Path) -> tuple[Path, str] | None:
    """Return the file that holds the text to change, and its source with the bug; None if the text is not there exactly once.

    The file of that name is searched first and then all others; where lines break does not matter.
    """
    inner = mutant.before.strip()
    ahead, _, behind = mutant.before.partition(inner)
    text = re.compile(ahead + r"\s+".join(re.escape(part) for part in inner.split()) + behind)
    files = [path for source in SOURCES for path in sorted((folder / source).rglob("*")) if path.suffix in {".c", ".h", ".html", ".py"}]
    files = [path for path in files if "tests" not in path.parts]
    for chosen in ([path for path in files if path.name == mutant.file], files if len(inner) >= _TELLING else []):
        found = [(path, source) for path in chosen for source in (path.read_text(encoding="utf-8"),) for _ in text.findall(source)]
        if len(found) == 1:
            path, source = found[0]
            changed = text.sub(lambda _: mutant.after, source)
            if path.suffix == ".py":
                ast.parse(changed)
            return path, changed
    return None


def caught_by(mutant: Mutant, path: Path, changed: str, folder: Path, *, near: bool) -> str | None:
    """Plant the bug; return the first test that fails, if any does."""
    right = path.read_text(encoding="utf-8")
    _write(path, changed, folder)
    try:
        found = first_failure(folder, *mutant.tests)
        return found if found or near else first_failure(folder, "-n", "2", "tests", "studies")
    finally:
        _write(path, right, folder)


def _write(path: Path, source: str, folder: Path) -> None:
    path.write_text(source, encoding="utf-8")
    if path.suffix in {".c", ".h"}:
        build(folder)


def first_failure(folder: Path, *what: str) -> str | None:
    """Return the name of the first test that fails, or what pytest said last."""
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--ignore=tests/mutation", "--ignore=tests/end_to_end"]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(folder / source) for source in SOURCES),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / ".hypothesis"),
    }
    command = [sys.executable, "-m", "pytest", *options, *what]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else (done.stdout or done.stderr).strip().splitlines()[-1]


def main() -> int:
    """Try all bugs, or those whose name or file holds one of the arguments; with --list, only look whether they can be planted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--near", action="store_true", help="run only the tests near each bug")
    parser.add_argument("--list", action="store_true", help="only look whether the bugs can be planted")
    parser.add_argument("wanted", nargs="*", metavar="part of a name")
    options = parser.parse_args()
    chosen = [one for one in MUTANTS if not options.wanted or any(part in one.name or part in one.file for part in options.wanted)]
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_of_the_tree(folder)
        for mutant in chosen:
            place = planted(mutant, folder)
            if place is None or not all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests):
                verdict, found = "LOST", None
            elif options.list:
                continue
            else:
                found = caught_by(mutant, *place, folder, near=options.near)
                verdict = "caught" if found else "SURVIVED"
            bad += found is None
            sys.stdout.write(f"{verdict:8}  {mutant.file}: {mutant.name}  {found or ''}\n")
            sys.stdout.flush()
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
