"""Pictures: well-formed, labelled, to scale and inside their frame."""

import re
from xml.etree import ElementTree as ET

import pytest

from feddp_kmeans.report.charts import bar, map_chart, mini_bars, strip
from tests.report.examples import HARD, HOSTILE, made_result, section


def numbers(svg, attribute):
    return [float(x) for x in re.findall(rf'\b{attribute}="([-\d.]+)%?"', svg)]


def test_budget_bars_are_to_scale_and_read_out():
    result = made_result()
    result["ledger"][0]["release"], result["ledger"][1]["release"] = "a", HOSTILE
    svg = re.search("<svg.*</svg>", section(result, "budget"))[0]
    tree = ET.fromstring(svg)
    assert [one.get("width") for one in tree.findall("rect[@class='bar']")] == ["11.11%", "88.89%"]
    assert tree.get("role") == "img"
    assert set(tree.get("aria-labelledby").split()) == {tree.find("title").get("id"), tree.find("desc").get("id")}
    assert tree.find("desc").text.startswith("a 11 %;")
    assert "<script" not in svg


@pytest.mark.parametrize("limit", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("stddev", [None, 0.0, 0.5, 1e9])
@pytest.mark.parametrize("value", [-1e9, -3.0, 0.0, 3.0, 1e9])
def test_bars_stay_inside_whatever_the_numbers(value, stddev, limit):
    for svg in (bar(value, stddev, limit, 0.0), bar(value, stddev, limit, 50.0)):
        ET.fromstring(svg)
        assert 'aria-hidden="true"' in svg
        for attribute in ("x", "x1", "x2", "width"):
            assert all(0 <= x <= 100 for x in numbers(svg, attribute))


def test_a_difference_lies_on_its_side_of_the_middle_and_its_error_spans_two_deviations():
    svg = bar(-5.0, 1.0, 10.0, 50.0, "bar faint")
    assert (numbers(svg, "x")[0], numbers(svg, "width")[1]) == (25.0, 25.0)
    assert "bar faint" in svg
    low, high = numbers(svg, "x1")[1], numbers(svg, "x2")[1]
    assert (low, high) == (15.0, 35.0)


@pytest.mark.parametrize("n", [2, 30])
@pytest.mark.parametrize("stddev", [None, 0.5, 1e9])
def test_strips_stay_inside_and_say_what_they_show(n, stddev):
    svg = strip([(index, float(index), stddev) for index in range(n)], 0.5, -1.0, n + 1.0, 'from 0 to "many"')
    tree = ET.fromstring(svg)
    assert tree.get("aria-label") == f'{n} clusters from 0 to "many"'
    assert len(tree.findall("circle")) == n
    assert len(tree.findall("text")) == (n if n == 2 else 0)
    for attribute in ("cx", "x1", "x2"):
        assert all(0 <= x <= 100 for x in numbers(svg, attribute))
    assert "50.00%" in strip([(0, 1.0, None)], 1.0, 1.0, 1.0, "")


def test_the_map_shows_every_center_and_both_axes_have_one_scale():
    svg = map_chart({"points": [[0, 0, 1.0], [10, 1, 4.0], [0, None, 1.0]], "centers": [[0, 0], [10, 1]]})
    tree = ET.fromstring(svg)
    centers = [(float(c.get("cx")), float(c.get("cy"))) for c in [c for c in tree.findall("circle") if c.get("class").startswith("dot")]]
    assert len(tree.findall("circle[@class='server']")) == 2
    assert [text.text for text in tree.findall("text")] == ["0", "1"]
    (x0, y0), (x1, y1) = centers
    assert (x1 - x0) / (y0 - y1) == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize("key", sorted(key for key, result in HARD.items() if result.get("server_map")))
def test_maps_stay_inside_their_frame(key):
    tree = ET.fromstring(map_chart(HARD[key]["server_map"]))
    _, _, width, height = map(float, tree.get("viewBox").split())
    for circle in tree.iter("circle"):
        assert 0 <= float(circle.get("cx")) <= width
        assert 0 <= float(circle.get("cy")) <= height


def test_a_map_of_nothing_is_an_empty_frame():
    assert "<circle" not in map_chart({"points": [], "centers": []})


def test_small_bars_stay_in_their_frame_whatever_the_noise():
    drawn = mini_bars([0.5, -0.2, None, 2.0], [0.1, 5.0, None, 0.0], [0.25, 0.25, 0.25, 0.25], 9, 'f "50" %')
    heights = [float(value) for value in re.findall(r' (?:y|y1|y2|height)="([-0-9.]+)"', drawn)]
    assert all(0 <= value <= 40 for value in heights)
    assert 'class="bar k1"' in drawn
    assert "f &#34;50&#34; %" in drawn
    assert "frame" not in mini_bars([1.0], [0.1], None, 0, "all")
