"""A run that goes on from an earlier one: less excess than a new start, and it follows what moves."""

import numpy as np
import pytest

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.prepare import prepare_after
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.accounting import shares_of_total
from tests.algorithm.months import CENTERS, cost, month, year
from tests.variants import slow_after


@pytest.mark.parametrize(("unit", "epsilon", "n_clients"), slow_after(1, [("point", 0.5, 8), ("client", 5.0, 800)]))
def test_a_year_of_runs_has_at_most_60_percent_of_the_excess_of_new_starts(unit, epsilon, n_clients):
    tables = [month(seed) for seed in range(12)]
    best = [cost(table, CENTERS) for table in tables]
    followed = year(tables, epsilon=epsilon, unit=unit, n_clients=n_clients)
    each = shares_of_total(epsilon, 1e-6, [1.0] * 12)
    anew = [
        clustering.cluster(
            InMemoryFederation(np.array_split(table, n_clients)),
            Settings(3, each[0], 1e-6, privacy_unit=unit, box=(0, 1)),
            None,
            seed=50 + run,
        )
        for run, table in enumerate(tables)
    ]
    excess = [np.mean([cost(t, f.centers) / b - 1 for t, f, b in zip(tables, runs, best, strict=True)]) for runs in (followed, anew)]
    assert excess[0] <= 0.6 * excess[1]


def test_clusters_keep_their_numbers_and_a_jump_is_followed_at_once():
    jumped = CENTERS.copy()
    jumped[1] = [0.9, 0.9, 0.5, 0.4]
    tables = [month(0), month(1), month(2, centers=jumped)]
    one, two, three = (found.centers for found in year(tables))
    assert np.abs(one - two).max() < 0.02
    moved = int(np.linalg.norm(one - CENTERS[1], axis=1).argmin())
    assert np.linalg.norm(three[moved] - jumped[1]) < 0.05
    assert np.abs(np.delete(three - two, moved, axis=0)).max() < 0.03


def test_stated_errors_hold_over_the_year():
    tables = [month(seed) for seed in range(12)]
    held = []
    for table, found in zip(tables, year(tables, epsilon=0.5, seed=7), strict=True):
        labels = np.square(table[:, None] - found.centers[None]).sum(axis=2).argmin(axis=1)
        means = np.array([table[labels == row].mean(axis=0) for row in range(3)])
        held.append(np.abs(found.centers - means) <= 2 * found.axis_stddev)
    assert np.mean(held) > 0.9


def test_noise_that_hides_the_spreads_does_not_let_them_grow_from_run_to_run():
    found = year([month(seed) for seed in range(12)], epsilon=5.0, unit="client", n_clients=800)
    assert sum(np.isnan(one.closing.spread).any() for one in found) > 6
    assert found[-1].closing.reach < 2 * found[0].closing.reach
    assert np.isfinite(found[-1].centers).all()


def test_units_that_were_found_privately_are_used_again():
    tables = [month(seed) * [1.0, 1000.0, 1.0, 30.0] for seed in range(2)]
    federations = [InMemoryFederation(np.array_split(table, 4)) for table in tables]
    first = clustering.cluster(federations[0], Settings(3, 4.0), None, seed=0)
    assert first.units is not None
    prepared = prepare_after(Settings(3, 1.0), first.last_run(), 4, 4)
    assert not any(release.name == "columns" for release in prepared.plan.releases)
    second = clustering.run(federations[1], prepared, seed=1)
    assert (second.units.units == first.units.units).all()
    assert np.abs(second.centers - first.centers).max(axis=0) == pytest.approx(np.zeros(4), abs=30)
    assert (np.abs(second.centers - first.centers) / second.units.units).max() < 0.3


@pytest.mark.parametrize(
    ("change", "dimension", "message"),
    [
        ({"n_clusters": 4}, 4, "n_clusters must be the 3 of the earlier run, got 4"),
        ({"privacy_unit": "client"}, 4, "privacy_unit must be the 'point' of the earlier run"),
        ({"method": "paper"}, 4, "method must be 'refined'"),
        ({}, 5, "tables must have the 4 coordinates of the earlier run, got 5"),
    ],
)
def test_a_run_that_cannot_follow_is_refused(change, dimension, message):
    last = year([month(0)])[0].last_run()
    with pytest.raises(InputError, match=message):
        prepare_after(Settings(**{"n_clusters": 3, "epsilon": 1.0} | change), last, 8, dimension)


def test_the_plan_costs_what_is_asked_for_and_finds_nothing_again():
    last = year([month(0)])[0].last_run()
    plan = prepare_after(Settings(3, 0.7), last, 8, 4).plan
    assert 0.69 < plan.epsilon_spent <= 0.7
    assert [release.name for release in plan.releases] == ["bounds", "looks", "closing bounds", "closing"]
