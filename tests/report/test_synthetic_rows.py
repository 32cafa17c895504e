"""Made-up rows of released clusters."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.finished_run import FinishedRun
from feddp_kmeans.report.synthetic_rows import MARK, synthetic_rows
from feddp_kmeans.tables.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "age": {"range": [0, 100]},
            "region": {"categories": ["north", "south"]},
            "vip": {"boolean": True},
            "since": {"date": ["2020-01-01", "2029-12-31"]},
        }
    }
)
ONE_HOT = np.sqrt(0.5)
CENTERS = np.array([[0.2, ONE_HOT, 0, 0.5, 0.1], [0.8, 0, ONE_HOT, -0.5, 0.9]])
RUN = FinishedRun(CENTERS, SCHEMA.columns, SCHEMA)
RESULT = {"noisy_counts": [300.0, 700.0], "spread": [0.1, None]}


def test_rows_have_the_sizes_centers_and_spreads_of_the_clusters():
    rows = synthetic_rows(RUN, RESULT, 20_000, seed=0)
    assert rows[MARK].to_pylist() == [True] * 20_000
    region, age = np.array(rows["region"]), np.array(rows["age"])
    assert np.mean(region == "south") == pytest.approx(0.7, abs=0.02)
    assert age[region == "south"].mean() == pytest.approx(80, abs=0.5)
    assert age[region == "north"].std() == pytest.approx(100 * 0.1 / np.sqrt(2), rel=0.05)
    assert set(np.array(rows["vip"])[region == "north"]) == {"yes"}
    assert max(rows["since"].to_pylist()) <= "2029-12-31"
    assert rows.equals(synthetic_rows(RUN, RESULT, 20_000, seed=0))


def test_plain_numbers_are_drawn_in_the_units_of_their_columns():
    run = FinishedRun(np.array([[0.0, 0.0]]), ("a", "b"), None, ColumnUnits(np.array([1.0, 1000.0])))
    rows = synthetic_rows(run, {"noisy_counts": [10.0], "spread": [np.sqrt(2.0)]}, 20_000, seed=1)
    assert np.array(rows["a"]).std() == pytest.approx(1, rel=0.05)
    assert np.array(rows["b"]).std() == pytest.approx(1000, rel=0.05)


def test_columns_of_a_profile_are_drawn_by_cluster_and_like_all_where_one_is_not_shown():
    columns = [
        {"column": "sex", "classes": ["f", "m", "(missing)"], "shares": [[1.0, -0.01, 0.0], [None, None, None], [0.25, 0.25, 0.5]]},
        {
            "column": "income",
            "classes": ["a", "b", "(missing)"],
            "edges": [0.0, 10.0, 20.0],
            "shares": [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]],
        },
        {"column": "age", "classes": ["x"], "shares": [[1.0], [1.0], [1.0]]},
    ]
    rows = synthetic_rows(RUN, RESULT, 5000, profile={"columns": columns}, seed=2)
    first = np.array(rows["region"]) == "north"
    assert set(np.array(rows["sex"].to_pylist(), dtype=object)[first]) == {"f"}
    assert set(np.array(rows["sex"].to_pylist(), dtype=object)[~first]) == {"f", "m", None}
    incomes = np.array(rows["income"])
    assert incomes[first].max() < 10 < incomes[~first].min()
    assert np.array(rows["age"]).dtype == np.float64  # clustered: drawn from the centers


def test_hidden_spreads_put_rows_at_their_centers_and_empty_runs_are_refused():
    rows = synthetic_rows(RUN, RESULT | {"spread": None}, 100, seed=3)
    assert {round(age, 9) for age in rows["age"].to_pylist()} == {20, 80}
    with pytest.raises(FedDPError, match="a cluster of a positive size"):
        synthetic_rows(RUN, {"noisy_counts": [-3.0, 0.0]}, 10)
