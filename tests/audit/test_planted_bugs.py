"""The auditor refutes broken mechanisms and lets right ones pass."""

from dataclasses import replace

import numpy as np
import pytest

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.algorithm.feddp_kmeans import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.algorithm.statistics import paper as statistics
from feddp_kmeans.algorithm.statistics import refined
from feddp_kmeans.privacy.audit import audit_release, epsilon_lower_bound
from tests.strategies import one_client

RADIUS, RUNS, DELTA = 11.0, 4000, 1e-6
PUBLIC = {"center": np.zeros(3), "radius": RADIUS}
SERVER = np.random.default_rng(0).standard_normal((20, 3))
EDGE = np.array([[RADIUS, 0, 0]])
"""The worst case for the outer product: a point on an axis, at the edge of the ball."""


def plan(epsilon=12.0):
    return prepare(Settings(2, epsilon, method="paper", radius=RADIUS), SERVER, 5).plan


def verdict(release, statistic, with_rows, without_rows, **public):
    arguments = PUBLIC | public
    totals = [statistic(one_client(rows), **arguments) for rows in (with_rows, without_rows)]
    return audit_release(release, *totals, delta=DELTA, runs=RUNS, seed=1)


def test_step_one_as_planned_passes():
    found = verdict(plan()["outer product"], statistics.OUTER_PRODUCT, EDGE, np.empty((0, 3)))
    assert not found.refuted
    assert 0 < found.epsilon_lower_bound < found.epsilon_claimed


def test_delta_for_delta_squared_is_refuted():
    # The published code's bug: noise for a sensitivity of Delta on a statistic whose sensitivity is Delta squared.
    honest = plan()["outer product"]
    found = verdict(honest, statistics.OUTER_PRODUCT, EDGE, np.empty((0, 3)))
    planted = replace(honest, noise_multiplier=honest.noise_multiplier / RADIUS)
    totals = [statistics.OUTER_PRODUCT(one_client(rows), **PUBLIC) for rows in (EDGE, np.empty((0, 3)))]
    broken = audit_release(planted, *totals, delta=DELTA, runs=RUNS, seed=1)
    assert broken.epsilon_lower_bound > found.epsilon_claimed


@pytest.mark.parametrize("name", ["weights", "counts"])
def test_counts_as_planned_pass(name):
    centers = np.array([[0.0, 0, 0], [100, 0, 0]])
    found = verdict(plan()[name], statistics.CLUSTER_COUNTS, EDGE, np.empty((0, 3)), centers=centers)
    assert not found.refuted


def test_a_client_that_is_not_clipped_is_refuted():
    # A statistic of points used where the unit is a client: a client that repeats itself changes it without bound.
    settings = Settings(2, 3.0, privacy_unit="client", method="paper", radius=RADIUS, client_size=1)
    release = prepare(settings, SERVER, 5).plan["outer product"]
    repeated = np.repeat(EDGE, 20, axis=0)
    passed = verdict(release, statistics.CLIENT_OUTER_PRODUCT, repeated, np.empty((0, 3)), bound=release.sensitivity)
    assert not passed.refuted
    assert verdict(release, statistics.OUTER_PRODUCT, repeated, np.empty((0, 3))).refuted


def refined_case(unit):
    settings = Settings(2, 3.0, privacy_unit=unit, client_size=4 if unit == "client" else None, lloyd_steps=0)
    statistic = {"point": refined.POINT_RESIDUALS, "client": refined.CLIENT_RESIDUALS}[unit]
    centers = np.array([[0.0, 0, 0], [9e6, 0, 0]])
    public = {"centers": centers, "origins": centers, "count_weight": 20.0, "bound": 100.0}
    return prepare(settings, SERVER, 5).plan["sums"], statistic, public


@pytest.mark.parametrize("unit", ["point", "client"])
def test_refined_residuals_of_the_worst_unit_pass(unit):
    # The worst unit sends as much as it can: far beyond the bound, and, if it is a client, many times.
    release, statistic, public = refined_case(unit)
    rows = np.repeat(EDGE, 50, axis=0) if unit == "client" else EDGE
    found = verdict(release, statistic, rows, np.empty((0, 3)), **public)
    assert not found.refuted
    assert 0 < found.epsilon_lower_bound < found.epsilon_claimed


@pytest.mark.parametrize("unit", ["point", "client"])
def test_refined_residuals_that_are_not_bounded_are_refuted(unit):
    # Planted: residuals sent as they are, while the noise is that of a bounded contribution.
    release, statistic, public = refined_case(unit)
    honest = statistic(one_client(EDGE), **(PUBLIC | public))
    planted = 8 * honest
    assert audit_release(release, planted, 0 * planted, delta=DELTA, runs=RUNS, seed=1).refuted


def test_a_client_counted_as_points_is_refuted():
    # Planted: the statistic of points used where the unit is a client that repeats itself.
    release, _, public = refined_case("client")
    repeated = np.repeat(EDGE, 30, axis=0)
    assert verdict(release, refined.POINT_RESIDUALS, repeated, np.empty((0, 3)), **public).refuted


def test_the_bound_itself_holds_for_a_known_mechanism(rng):
    # Randomised response at epsilon 1: the bound comes near 1 and does not pass it.
    def respond(bit):
        keep = rng.random(20_000) < np.e / (1 + np.e)
        return np.where(keep, bit, 1 - bit).astype(float)

    bound = epsilon_lower_bound(respond(1), respond(0), 0.0)
    assert 0.8 < bound < 1.0


def test_an_audit_needs_runs_and_a_difference():
    with pytest.raises(FedDPError, match="at least 20 runs"):
        epsilon_lower_bound(np.zeros(10), np.zeros(10), 1e-6)
    with pytest.raises(FedDPError, match="must give different sums"):
        verdict(plan()["outer product"], statistics.OUTER_PRODUCT, EDGE, EDGE)
