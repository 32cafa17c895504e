"""The examples of the README and of the docs run as they are printed."""

import importlib
import re
from pathlib import Path

import pytest

from feddp_studies.reproduction.methods import METHODS
from feddp_studies.reproduction.problems import DATA_SETS
from feddp_studies.reproduction.specs import EXPERIMENTS

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


@pytest.fixture
def registries():
    """Examples may register methods, data sets and experiments: only for themselves."""
    known = (METHODS, DATA_SETS, EXPERIMENTS)
    before = [dict(one) for one in known]
    yield
    for one, own in zip(known, before, strict=True):
        one.clear()
        one.update(own)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch, registries):
    """Each is a module of its own, as a reader would save it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for place, example in enumerate(examples(page.read_text())):
        name = f"example_{page.stem}_{place}"
        (tmp_path / f"{name}.py").write_text(example)
        importlib.import_module(name)
