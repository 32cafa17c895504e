"""What changed since an earlier run: what is planted is seen when it happens, and nothing is invented."""

import re
from itertools import pairwise

import numpy as np
import pytest

from feddp_kmeans.report.changes import change_lines, changes_since
from feddp_kmeans.report.result import result_dict
from tests.algorithm.months import CENTERS, COLUMNS, month, year


def results(tables, **how):
    return [result_dict(found, columns=COLUMNS, seed=0) for found in year(tables, **how)]


def told(tables, **how):
    made = results(tables, **how)
    return [changes_since(before, after)["clusters"] for before, after in pairwise(made)]


@pytest.mark.parametrize(
    ("unit", "n_clients", "epsilon"), [("point", 8, 2.0), pytest.param("point", 8, 0.5, marks=pytest.mark.slow), ("client", 800, 4.0)]
)
def test_no_change_is_invented_in_a_year_without(unit, n_clients, epsilon):
    for seed in range(3):
        for clusters in told([month(100 * seed + run) for run in range(12)], unit=unit, n_clients=n_clients, epsilon=epsilon, seed=seed):
            assert [(cluster["state"], cluster["size"]) for cluster in clusters] == [("same", "same")] * 3


def test_what_moves_grows_and_shrinks_is_seen_in_the_month_it_happens():
    moved = CENTERS.copy()
    moved[0, 2] += 0.1
    for seed in range(3):
        tables = [
            month(100 * seed + run) if run < 6 else month(100 * seed + run, centers=moved, shares=(0.4, 0.3, 0.3)) for run in range(12)
        ]
        months = told(tables, seed=seed)
        for run, clusters in enumerate(months, 1):
            states = sorted((cluster["state"], cluster["size"]) for cluster in clusters)
            expected = [("moved", "shrank"), ("same", "grew"), ("same", "same")] if run == 6 else [("same", "same")] * 3
            assert states == expected, run
        (one,) = [cluster for cluster in months[5] if cluster["state"] == "moved"]
        assert [told["column"] for told in one["moved"]] == ["c"]
        assert one["moved"][0]["difference"] == pytest.approx(0.1, abs=0.03)


def test_a_cluster_in_the_place_of_another_is_new():
    others = CENTERS.copy()
    others[2] = [0.05, 0.95, 0.9, 0.1]
    before, after = results([month(0), month(1, centers=others)])
    states = [cluster["state"] for cluster in changes_since(before, after)["clusters"]]
    assert sorted(states) == ["new", "same", "same"]
    lines = change_lines(after | {"changes": changes_since(before, after)})
    assert len(lines) == 1
    assert "is new: the earlier cluster of this number is gone" in lines[0]


def test_lines_name_columns_and_shares():
    moved = CENTERS.copy()
    moved[0] += 0.1
    before, after = results([month(0), month(1, centers=moved, shares=(0.3, 0.3, 0.4))])
    found = change_lines(after | {"changes": changes_since(before, after)})
    assert len(found) == len({re.match(r"cluster \d ", line)[0] for line in found}) == 2
    lines = "\n".join(found)
    assert re.search(r"moved: a from 0\.\d+ to 0\.\d+", lines)
    shares = {verb: [float(before), float(after)] for verb, before, after in re.findall(r"(\w+) from ([\d.]+)% to ([\d.]+)%", lines)}
    assert shares["shrank"] == pytest.approx([50, 30], abs=2)
    assert shares["grew"] == pytest.approx([20, 40], abs=2)
    assert change_lines(after) == []


def test_without_noise_errors_are_those_of_the_choice_of_people():
    before, after = results([month(0), month(1)], epsilon=1000)
    clusters = changes_since(before, after)["clusters"]
    assert [cluster["state"] for cluster in clusters] == ["same"] * 3
    assert all(0.004 < cluster["share_error"] < 0.02 for cluster in clusters)
    assert np.isfinite([cluster["share"] for cluster in clusters]).all()
