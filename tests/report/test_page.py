"""The page and the files of a result."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.report import result as result_module
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.result import check_folder, result_dict, write_result
from tests.report.examples import HARD, made_result

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Outline(HTMLParser):
    """Reads tags, headings and ids, and refuses a tag that is not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.levels, self.ids, self.links, self.names = [], [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes["href"]] if "href" in attributes else []
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def result(epsilon=1.0, seed=None, columns=("a", "<b>")):
    rng = np.random.default_rng(0)
    server = rng.standard_normal((20, 2))
    clients = [rng.standard_normal((100, 2))]
    found = run(InMemoryFederation(clients), prepare(Settings(2, epsilon), server, 1), seed=seed)
    return result_dict(found, columns=columns, seed=seed, server_points=server, command="feddp fit x")


def test_the_page_states_the_guarantee_and_the_ledger():
    made = result()
    page = render_page(made)
    assert made["guarantee"] in page
    for row in made["ledger"]:
        assert row["release"] in page
    assert 'class="guarantee not"' not in page
    assert 'class="not-private"' not in page


@pytest.mark.parametrize(("epsilon", "seed"), [(1.0, 3), (math.inf, None)])
def test_the_page_warns_where_nothing_is_private(epsilon, seed):
    page = render_page(result(epsilon, seed))
    assert 'class="guarantee not"' in page
    assert "NOT PRIVATE" in page
    assert page.index('class="not-private"') < page.index("<h1>")


@pytest.mark.parametrize("key", sorted(HARD))
def test_every_page_is_well_formed_in_order_and_alone(key):
    page = render_page(HARD[key])
    outline = Outline(page)
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link[0] == "#" and link[1:] in outline.ids for link in outline.links)
    assert not {"script", "link", "img", "iframe", "form"} & set(outline.names)
    assert "://" not in page
    assert "@import" not in page
    assert "nan" not in re.findall(r"[a-z]+", page.split("<body>")[1])


def test_hostile_names_are_text_and_nothing_else():
    page = render_page(HARD["hostile"])
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page


def test_a_time_a_map_and_versions_are_written_with_the_result(tmp_path):
    write_result(tmp_path, result())
    written = json.loads((tmp_path / "result.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", written["written"])
    assert len(written["server_map"]["points"]) == 20
    assert written["count_stddev"] > 0
    assert {"python", "numpy"} <= set(written["versions"])
    assert (tmp_path / "report.html").read_text() == render_page(written)


def test_a_count_that_was_never_released_is_null(tmp_path):
    assert render_page(made_result(noisy_counts=[None] * 3))
    found = run(InMemoryFederation([np.ones((9, 2))]), prepare(Settings(2, 1.0), np.eye(2), 1))
    unknown = result_dict(replace(found, counts=np.full(2, np.nan)), columns=("a", "b"), seed=None)
    assert unknown["noisy_counts"] == [None, None]
    assert unknown["server_map"]["points"] == []
    write_result(tmp_path, unknown)


def test_a_result_that_is_all_noise_says_so():
    made = result(0.001)
    assert "centers are those of the server data" in made["remarks"][0]
    assert made["remarks"][0] in render_page(made)
    assert result(math.inf)["remarks"] == []


def test_files_are_whole_and_strict_json(tmp_path):
    write_result(tmp_path / "run", result(math.inf))
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"centers.parquet", "report.html", "result.json"}
    json.loads((tmp_path / "run" / "result.json").read_text(), parse_constant=pytest.fail)


def test_a_result_is_never_beside_the_files_of_another(tmp_path, monkeypatch):
    write_result(tmp_path, result(math.inf))

    def killed(path, _content):
        raise KeyboardInterrupt(path)

    monkeypatch.setattr(result_module, "write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        write_result(tmp_path, result(1.0))
    assert not (tmp_path / "result.json").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FedDPError, match="--out must be a folder"):
        check_folder(tmp_path / "file", force=True)
