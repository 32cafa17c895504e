"""Profiles: shares, means and quartiles with errors that hold, and nothing of small clusters."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.cluster_profile import AskedColumn, profile_of, profile_plan
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit

K, N = 3, 12_000
CENTERS = np.array([[-4.0, 0.0], [0.0, 0.0], [4.0, 0.0]])
ASKED = (
    AskedColumn("color", ("red", "blue", "(missing)")),
    AskedColumn("age", ("young", "old", "(missing)"), np.array([0.0, 50.0, 100.0])),
)


def drawn(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, K, N)
    points = CENTERS[groups] + 0.2 * rng.standard_normal((N, 2))
    colors = (rng.random(N) < 0.2 + 0.3 * groups).astype(float)
    ages = rng.uniform(10 * groups, 40 + 30 * groups)
    missing = rng.random(N) < 0.1
    classes, places = np.where(missing, 2, ages >= 50), np.where(missing, 0, ages / 50 - 1)
    return groups, np.column_stack([points, colors, classes, places]), np.where(missing, np.nan, ages)


def profiled(rows, unit=PrivacyUnit.POINT, epsilon=0.5, size=4, seed=0, units=None, centers=CENTERS, **more):
    clients = np.split(rows, len(rows) // size)
    plan = profile_plan(unit, epsilon, 1e-6, n_clients=len(clients), k=len(centers), asked=ASKED, bound=size)
    with InMemoryFederation(clients).open(plan, seed) as run:
        return profile_of(run, centers, units, ASKED, bound=size, **more)


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_errors_hold_for_shares_and_means(unit):
    far = []
    for seed in range(10):
        groups, rows, ages = drawn(seed)
        found = profiled(rows, unit, seed=seed)
        assert found.shown.all()
        far.append((found.sizes - np.bincount(groups)) / found.size_errors)
        for place, column in ((2, found["color"]), (3, found["age"])):
            exact = np.array([[np.mean(rows[groups == r, place] == c) for c in range(3)] for r in range(K)])
            far.append(((column.shares[:-1] - exact) / column.errors[:-1]).ravel())
        means = np.array([np.nanmean(ages[groups == r]) for r in range(K)])
        far.append((found["age"].means[:-1] - means) / found["age"].mean_errors[:-1])
    off = np.concatenate(far)
    assert 0.93 < np.mean(np.abs(off) < 2) < 0.98
    assert 0.9 < off.std() < 1.1


def test_without_noise_all_is_exact():
    groups, rows, ages = drawn(0)
    found = profiled(rows, epsilon=np.inf)
    np.testing.assert_allclose(found.sizes, np.bincount(groups))
    np.testing.assert_allclose(found["color"].shares[-1], [np.mean(rows[:, 2] == c) for c in range(3)])
    assert found["age"].means[0] == pytest.approx(np.nanmean(ages[groups == 0]), rel=1e-5)
    middle = found["age"].quartiles[-1, 1]
    assert 25 < middle < 55
    assert (np.diff(found["age"].quartiles, axis=1) > 0).all()


def test_points_are_read_in_the_units_of_the_run():
    groups, rows, _ = drawn(1)
    stretched, units = rows.copy(), ColumnUnits(np.array([1000.0, 0.001]))
    stretched[:, :2] *= units.units
    found = profiled(stretched, epsilon=np.inf, units=units, centers=CENTERS * units.units)
    np.testing.assert_allclose(found.sizes, np.bincount(groups))


def test_small_clusters_are_not_shown():
    _, rows, _ = drawn(2)
    few = np.concatenate([rows[rows[:, 0] < 2], rows[rows[:, 0] > 2][:40]])[: N // 2]
    few = few[: len(few) // 4 * 4]
    found = profiled(few, epsilon=8.0)
    assert found.shown.tolist() == [True, True, False]
    assert np.isnan(found["color"].shares[2]).all()
    assert np.isnan(found["age"].means[2])
    assert np.isfinite(found["color"].shares[[0, 1, 3]]).all()
    assert profiled(few, epsilon=8.0, least_size=10).shown.all() == (found.sizes[2] > 3 * found.size_errors[2])


def test_what_stands_out_and_what_is_noise():
    _, rows, _ = drawn(3)
    sure = profiled(rows, epsilon=4.0)["color"]
    assert sure.differs[0, 0]
    assert not sure.is_noise.any()
    assert not sure.differs[:, 2].any()
    vague = profiled(rows, epsilon=0.01)
    assert not vague.shown.any() or vague["color"].is_noise[vague.shown].any()
    told = vague.to_dict()
    assert told["plan"]["epsilon"] == 0.01
    assert len(told["columns"]) == 2


def test_the_plan_is_one_release_that_the_run_spends():
    _, rows, _ = drawn(4)
    found = profiled(rows, epsilon=0.5)
    (row,) = found.privacy.ledger
    assert row["release"] == "profile"
    assert found.privacy.epsilon_spent <= 0.5
