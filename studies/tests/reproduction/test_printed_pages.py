"""Pages: blocks are replaced, and what a person wrote around them stays."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from feddp_studies.reproduction.printed_pages import as_html, blocks, commit, filled, outdated, write_docs
from feddp_studies.reproduction.spec import Experiment
from feddp_studies.reproduction.specs import EXPERIMENTS
from studies.tests.reproduction.rows import row

SPEC = Experiment("shapes", "Some shapes", "nowhere", ["mixture"], [], [1.0], 1, kind="table")
ROWS = [row("refined", 1.0, 10.2), row("oracle-floor", 1.0, 10.1), row("k-fed", math.inf, 11.0)]


def test_blocks_are_replaced_and_words_stay():
    page = "Words.\n<!-- begin a -->\nold\n<!-- end a -->\nmore\n<!-- begin b -->\nkept\n<!-- end b -->\n"
    assert filled(page, {"a": "new\n"}) == page.replace("old", "new")
    assert filled(filled(page, {"a": "new\n"}), {"a": "new\n"}) == page.replace("old", "new")


def test_docs_are_written_only_where_something_changed(tmp_path):
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    (tmp_path / "docs" / "refined.md").write_text("# Words\n<!-- begin shapes -->\n<!-- end shapes -->\nend\n")
    (tmp_path / "docs" / "other.md").write_text("nothing here\n")
    (tmp_path / "out" / "shapes").mkdir(parents=True)
    (tmp_path / "out" / "shapes" / "shapes.svg").write_text("<svg/>")
    made = blocks([SPEC], {"shapes": ROWS}, quick=False)
    written = write_docs(tmp_path / "docs", tmp_path / "out", [SPEC], made, {"shapes": ROWS})
    assert sorted(path.name for path in written) == ["refined.md", "runs.parquet", "shapes.svg"]
    assert [row["cost"] for row in pq.read_table(tmp_path / "docs" / "rows" / "shapes" / "runs.parquet").to_pylist()] == [10.2, 10.1, 11.0]
    page = (tmp_path / "docs" / "refined.md").read_text()
    assert "| mixture | 1 | 1 | 2.000 % | 2.000 % | 2.00 | 10.000 % |" in page
    assert f"at commit {commit()}" in page
    assert page.startswith("# Words\n")
    assert page.endswith("<!-- end shapes -->\nend\n")


def test_a_section_says_what_was_run_and_by_which_spec():
    text = blocks([SPEC], {"shapes": ROWS}, quick=False)["experiments"]
    assert f"1 seed, 3 runs, 1 min of one core, `feddp reproduce shapes`, spec {SPEC.digest}" in text
    assert "Not run" not in text


def test_a_page_names_the_experiments_that_nobody_has_run():
    other = replace(SPEC, name="others")
    text = blocks([SPEC, other], {"shapes": ROWS}, quick=False)["experiments"]
    assert text.endswith("Not run to the end with this code, and so not on this page: `others`.\n")


def test_html_has_headings_tables_and_escapes(tmp_path):
    page = as_html(
        "# A < B\n\nSome **words** and `code`.\nMore.\n\n| a | b |\n| --- | --- |\n| 1 | 2 & 3 |\n\n![x](figures/none.svg)\n", tmp_path
    )
    assert "<h1>A &lt; B</h1>" in page
    assert "<p>Some <b>words</b> and <code>code</code>. More.</p>" in page
    assert "<th scope='col'>a</th><th scope='col'>b</th>" in page
    assert "<td>1</td><td>2 &amp; 3</td>" in page
    assert "---" not in page


def test_a_page_whose_spec_has_changed_is_noticed():
    text = blocks([SPEC], {"shapes": ROWS}, quick=False)["experiments"]
    assert outdated(text, {"shapes": SPEC}) == []
    assert outdated(text, {"shapes": replace(SPEC, paper="elsewhere")}) == ["shapes"]
    assert outdated(text, {}) == ["shapes"]


def test_the_page_of_the_documentation_shows_what_its_rows_say():
    docs = Path(__file__).parents[3] / "docs"
    kept = {folder.name: pq.read_table(folder / "runs.parquet").to_pylist() for folder in (docs / "rows").glob("*/")}
    made = blocks(list(EXPERIMENTS.values()), {name: kept[name] for name in EXPERIMENTS if name in kept}, quick=False)
    page = (docs / "reproduction.md").read_text()
    for name in ("items", "claims", "fronts", "experiments"):
        assert made[name] in page, f"{name}: print the page again with feddp reproduce all --page docs"


def test_the_page_of_the_documentation_is_of_these_specs_or_says_that_it_is_older():
    page = (Path(__file__).parents[3] / "docs" / "reproduction.md").read_text()
    assert "older than the code" in page or "spec " in page
    assert outdated(page, EXPERIMENTS) == []
    took = re.findall(r"(\d+) min of one core, `feddp reproduce ([\w-]+)`", page)
    assert {name: EXPERIMENTS[name].minutes for _, name in took} == {name: int(minutes) for minutes, name in took}
