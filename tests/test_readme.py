"""The examples of the README and of the docs run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text() and page.name != "tutorial.md"]
"""The tutorial reads files that its own test makes."""


def examples(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = examples(README)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("(2, 2)")
    assert "add-remove" in printed


def test_the_readme_leads_with_what_one_gets():
    """The two commands, a picture, Python: in this order, and before everything else."""
    places = [
        README.index(part)
        for part in ("pip install feddp-kmeans", "feddp fit people.csv", "docs/figures/report-desktop.png", "```python", "| you |")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """Those of the studies register things, so each has a process of its own."""
    monkeypatch.chdir(tmp_path)
    for example in examples(page.read_text()):
        if "feddp_studies.reproduction" in example:
            (tmp_path / "example.py").write_text(example)
            subprocess.run([sys.executable, "-W", "ignore", "example.py"], check=True)
        else:
            exec(compile(example, page.name, "exec"), {})
