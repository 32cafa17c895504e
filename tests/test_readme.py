"""The examples of the README and of the docs run as they are printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text()]


def examples(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_example_runs(capsys):
    (example,) = examples(README)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("(10, 100)")
    assert "add-remove" in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page):
    for example in examples(page.read_text()):
        exec(compile(example, page.name, "exec"), {})
