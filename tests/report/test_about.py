"""What was released about clusters afterwards is on their page."""

import json

import pytest

from feddp_kmeans.report.about import centers_digest, read_about
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.result import result_dict
from tests.algorithm.months import COLUMNS, month, year

PROFILE = {
    "shown": [True, False, True],
    "columns": [
        {
            "column": "sex <b>",
            "classes": ["f", "m", "(missing)"],
            "shares": [[0.2, 0.8, 0.0], [None] * 3, [0.5, 0.6, -0.1], [0.4, 0.6, 0.0]],
            "errors": [[0.01] * 3, [None] * 3, [0.3] * 3, [0.01] * 3],
            "differs": [[True, True, False], [False] * 3, [False] * 3],
            "too_noisy": [[False] * 3, [False] * 3, [True] * 3],
        }
    ],
    "guarantee": "A guarantee of the profile.",
    "spent": {"epsilon": 1.5},
}
WORDS = {"clusters": [{"name": "visa", "words": [{"word": "visa", "lift": 3.21}]}, {"name": "-", "words": []}, {"name": "-", "words": []}]}


@pytest.fixture(scope="module")
def result():
    return result_dict(year([month(0)])[0], columns=COLUMNS, seed=None)


def test_profiles_and_words_are_on_the_page(result, tmp_path):
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE | {"centers": centers_digest(result)}))
    (tmp_path / "words.json").write_text(
        json.dumps(WORDS | {"centers": centers_digest(result), "guarantee": "Another.", "spent": {"epsilon": 2.25}})
    )
    page = render_page(result | {"secure": True, "guarantee": "A guarantee of the run."}, read_about(tmp_path, result))
    for told in (
        "More about the clusters",
        "sex &lt;b&gt;",
        "too small to be shown",
        "A guarantee of the profile.",
        "\N{MULTIPLICATION SIGN} 3.2",
        "no word stands out",
    ):
        assert told in page
    assert "together cost epsilon <b>2.25</b>" in page
    assert "what later runs released" in page
    assert page.count('aria-label="f ') == 3


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"columns": 3, "shown": [true], "guarantee": ""}', '{"clusters": [{}], "guarantee": ""}']
)
def test_damaged_files_are_left_out(result, tmp_path, content):
    for name in ("profile.json", "words.json"):
        (tmp_path / name).write_text(content)
    assert read_about(tmp_path, result) == {}
    assert "More about the clusters" not in render_page(result, read_about(tmp_path, result))


def test_what_was_asked_about_another_result_is_not_shown(result, tmp_path):
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE | {"centers": centers_digest(result)}))
    assert set(read_about(tmp_path, result)) == {"profile"}
    assert read_about(tmp_path, result | {"centers": [[0.0] * 4] * 3}) == {}
