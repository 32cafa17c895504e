"""What a notebook shows: the result, the guarantee and the whole page, every value escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from feddp_kmeans import FedDPKMeans, FedDPWarning
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.notebook import ReportPage


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((3000, 12)) + 9 * rng.integers(2, size=(3000, 1))
    odometer = tmp_path_factory.mktemp("books") / "budget.jsonl"
    return FedDPKMeans(2, epsilon=1.0, box=(-9.0, 19.0), odometer=odometer).fit(points)


def tags(html):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: found.append(tag)
    parser.feed(html)
    return found


def test_the_result_shows_sizes_centers_and_the_guarantee(model):
    shown = model.clustering_._repr_html_()
    assert tags(shown).count("tr") == 3
    assert "the first 8 of 12 coordinates" in shown
    assert "±" in shown
    assert model.privacy_.sentence() in shown


def test_the_guarantee_shows_every_release(model):
    shown = model.privacy_._repr_html_()
    assert tags(shown).count("tr") == 1 + len(model.privacy_.ledger)
    assert "Spent: epsilon" in shown


def test_a_useless_result_says_so_first():
    with pytest.warns(FedDPWarning, match="noise") as warned:
        nothing = FedDPKMeans(2, epsilon=0.01, box=(-9.0, 19.0), random_state=0).fit(np.zeros((20, 3))).clustering_
    assert [str(one.message) for one in warned] == [f"{remark}." for remark in nothing.remarks]
    assert warned[0].filename == __file__
    assert nothing._repr_html_().startswith("<p><b>Useless")


def test_the_page_is_written_or_shown_in_a_frame(model, tmp_path):
    page = model.report()
    assert "<title>2 clusters" in page.html
    assert "This is the first run on these data" in page.html
    assert tags(page._repr_html_()) == ["iframe"]
    assert len(repr(page)) < 100
    assert model.report(tmp_path / "page.html").read_text() == page.html
    with pytest.raises(FedDPError, match="path must be a file"):
        model.report(tmp_path / "none" / "page.html")
    with pytest.raises(NotFittedError):
        FedDPKMeans().report()
    assert "<script" not in ReportPage('"><script>')._repr_html_()
