"""What a checked run states about itself, by hand and by a small run."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.assignment import Labels
from feddp_kmeans.errors import BudgetError
from feddp_studies.accuracy.benchmark_sets import BenchmarkSet
from feddp_studies.accuracy.checked_fit import attracted, check_privacy, checked_fit, checked_fits, clusters_reached, reference

MEANS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


def test_a_cluster_is_reached_by_a_center_nearer_than_half_way_to_the_next_one():
    np.testing.assert_array_equal(clusters_reached(MEANS, np.array([[0.0, -1.9], [4.0, 2.1], [0.5, 4.0]])), [1, 0, 1])


def test_two_centers_in_one_cluster_do_not_reach_another_one():
    np.testing.assert_array_equal(clusters_reached(MEANS, np.array([[0.1, 0.0], [1.9, 0.0], [0.0, 4.0]])), [1, 0, 1])


def test_sizes_and_means_are_those_of_the_points_that_a_center_attracts():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0]])
    sizes, means = attracted(BenchmarkSet([points], 3), Labels(np.array([[0.9, 0.0], [11.0, 0.0], [99.0, 0.0]]), None))
    np.testing.assert_array_equal(sizes, [2, 1, 0])
    np.testing.assert_array_equal(means, [[1, 0], [10, 0], [0, 0]])


def test_in_a_run_that_divides_columns_by_units_points_are_nearest_in_these_units():
    points, centers = np.array([[1.0, 0.0], [0.0, 90.0]]), np.array([[0.0, 0.0], [2.0, 80.0]])
    data = BenchmarkSet([points], 2)
    np.testing.assert_array_equal(attracted(data, Labels(centers, None))[0], [1, 1])
    np.testing.assert_array_equal(attracted(data, Labels(centers, ColumnUnits(np.array([0.1, 100.0]))))[0], [2, 0])


def test_a_cost_is_checked_in_the_units_of_the_run():
    """Log-normal columns differ in their private units, however alike they are."""
    (found,) = checked_fits("heavy", [0.25], (7011, 711), "", {})
    assert abs(found.inertia_error) < 5


@pytest.fixture(scope="module")
def exact():
    return reference("blobs-4-4", 3, "")


def test_errors_are_in_stated_standard_deviations(exact, monkeypatch):
    """A run that states one point too many in each cluster, and centers off by one in each coordinate."""
    sizes, means = attracted(exact.data, Labels(exact.data.means, None))
    offset = 1e-3

    def fit(self, *_, **__):
        self.cluster_centers_, self.cluster_counts_ = means + offset, sizes + 1
        self.center_stddev_, self.count_stddev_ = np.full(4, offset / 3), 0.5
        self.inertia_, self.inertia_stddev_ = 0.0, 1.0
        self.clustering_ = SimpleNamespace(units=None)
        self.privacy_ = SimpleNamespace(ledger=[], delta=self.delta)
        return self

    monkeypatch.setattr(FedDPKMeans, "fit", fit)
    monkeypatch.setattr("feddp_studies.accuracy.checked_fit.check_privacy", lambda _: None)
    found = checked_fit(exact, 1.0, {})
    np.testing.assert_allclose(found.size_errors, 2)
    np.testing.assert_allclose(found.mean_errors, 3, rtol=1e-2)
    assert found.total_error == pytest.approx(4 / 20_000)
    assert found.inertia_error == pytest.approx(-20_000 * found.cost)
    assert found.cost == pytest.approx(found.optimal + 4 * offset**2, rel=1e-3)
    assert (found.lost, found.found_k) == (0, 4)


def test_a_run_is_checked_and_private(exact):
    (found,) = checked_fits("blobs-4-4", [4.0], (3, 0), "", {})
    assert (found.optimal, found.n_points, found.dimension, found.lost) == (exact.optimal, 20_000, 4, 0)
    assert found.mean_errors.size == 16
    assert found.cost >= found.optimal


def test_a_ledger_above_the_budget_is_an_error():
    points = np.random.default_rng(0).random((200, 1))
    model = FedDPKMeans(2, epsilon=1.0, box=(0.0, 1.0), random_state=0).fit([points])
    check_privacy(model)
    model.epsilon = 0.99
    with pytest.raises(BudgetError, match="must add up to at most"):
        check_privacy(model)
    model.privacy_ = replace(model.privacy_, ledger=())
    with pytest.raises(BudgetError, match="must add up to at most"):
        check_privacy(model)
