"""Looks without noise are plain sums, counts and second moments; with noise they state its scale."""

import math

import numpy as np
import pytest

from feddp_kmeans.algorithm.looks import Bound, Frame, Looks, Sums, gaussian_releases, noise_per_length, roomy
from feddp_kmeans.algorithm.tuning import BOUNDS
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.plan import calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.residual_sums import BOUNDED_STEPS, SIZE_CLASSES

BALL = Ball(np.array([1.0, -1.0]), 4.0)
CLIENTS = [
    np.array([[1.0, 0.0], [1.5, -1.0], [-1.0, -2.0]]),
    np.array([[2.0, -1.5]]),
    np.array([[0.0, 0.0], [0.5, -2.0], [1.0, 1.0], [3.0, -1.0], [1.0, -1.0]]),
]
POINTS = np.concatenate(CLIENTS)
CENTERS = np.array([[-8000.0, 3000.0], [9000.0, -1000.0]])
"""In integer steps of the ball."""

PARTS = {"sums": 0.5, "second moment": 0.3, "client sizes": 0.1, "closing": 0.1}
ROWS = [
    ("sums", BOUNDED_STEPS, 6, 1),
    ("second moment", BOUNDED_STEPS, 4, 1),
    ("client sizes", 1.0, SIZE_CLASSES, 1),
    ("closing", BOUNDED_STEPS, 5, 2),
]


def plan_of(unit, epsilon):
    return calibrated_plan(unit, epsilon, 1e-6, gaussian_releases(PARTS, ROWS))


@pytest.fixture(params=list(PrivacyUnit))
def looks(request):
    with InMemoryFederation(CLIENTS).open(plan_of(request.param, math.inf)) as run:
        yield Looks(run, request.param)


def test_parts_of_the_budget_become_noise():
    releases = gaussian_releases({"a": 0.8, "b": 0.2}, [("a", 7.0, 3, 1), ("b", 9.0, 4, 5)])
    assert [r.integer_sensitivity for r in releases] == [7.0, 9.0]
    assert [r.times / r.noise_multiplier**2 for r in releases] == pytest.approx([0.8, 0.2])


def test_sums_and_counts_without_noise_are_exact(looks):
    steps = (POINTS - BALL.center) / BALL.grid
    labels = np.square(steps[:, None] - CENTERS).sum(axis=2).argmin(axis=1)
    bound = Bound.at(1e5, 2e4, 0.5, looks.plan["sums"])
    found = looks.sums("sums", BALL, Frame.around(CENTERS), bound)
    step = bound.length / BOUNDED_STEPS  # what one unit may lose of each number by rounding
    expected = np.array([(steps - CENTERS[labels])[labels == label].sum(axis=0) for label in (0, 1)])
    assert found.kept == 1.0  # without noise nothing is scaled down
    np.testing.assert_allclose(found.counts, np.bincount(labels), atol=len(POINTS) * step / bound.count_weight)
    np.testing.assert_allclose(found.residuals, expected, atol=len(POINTS) * (step + 0.5))  # points are rounded to whole steps before


def test_spreads_without_noise_are_exact_up_to_the_reach(looks):
    steps = np.rint((POINTS - BALL.center) / BALL.grid)
    squares = np.square(steps[:, None] - CENTERS).sum(axis=2)
    labels = squares.argmin(axis=1)
    for reach in (20_000.0, 1e5):
        found = looks.spreads(BALL, CENTERS, reach, 100.0)
        np.testing.assert_allclose(found.counts, np.bincount(labels), rtol=1e-5)
        np.testing.assert_allclose(found.squares, np.bincount(labels, np.minimum(squares.min(axis=1), reach**2)), rtol=1e-5)
    assert found.count_noise == found.square_noise == found.total_noise == 0


def test_spreads_with_noise_state_its_scale_and_their_sum_has_less():
    noisy = []
    for seed in range(300):
        with InMemoryFederation(CLIENTS).open(plan_of(PrivacyUnit.POINT, 1.0), seed) as run:
            found = Looks(run, PrivacyUnit.POINT).spreads(BALL, CENTERS, 3e4, 1.0)
            noisy.append([*found.counts, *found.squares, found.squares.sum()])
    stated = np.array([found.count_noise] * 2 + [found.square_noise] * 2 + [found.total_noise])
    # The standard deviation of 300 normal draws is within 18 % of the true one but for a chance of 1e-5, five times over.
    assert np.std(noisy, axis=0) / stated == pytest.approx(1, abs=0.18)
    assert found.total_noise < found.square_noise * 1.1


SETS = np.stack([CENTERS, CENTERS[::-1] + 5000.0, np.zeros((2, 2))])


def test_cost_differences_without_noise_are_exact(looks):
    steps = np.rint((POINTS - BALL.center) / BALL.grid)
    costs = np.square(steps[:, None, None] - SETS).sum(axis=3).min(axis=2).sum(axis=0)
    found, noise = looks.cost_differences("closing", BALL, SETS, 1e9, times=2)
    np.testing.assert_allclose(found, costs - costs.mean(), rtol=1e-5)
    assert noise == 0


@pytest.mark.parametrize("times", [1, 2])
def test_cost_differences_state_their_noise(times):
    """That of 150 looks at nobody: 450 draws are within 25 % of the stated deviation but with a chance below 1e-8 (chi-squared)."""
    drawn = []
    for seed in range(150):
        with InMemoryFederation([np.empty((0, 2))]).open(plan_of(PrivacyUnit.POINT, 1.0), seed) as run:
            found, noise = Looks(run, PrivacyUnit.POINT).cost_differences("closing", BALL, SETS, 1e9, times)
        drawn.append(found)
    assert noise == pytest.approx(1e9 / 3 * plan_of(PrivacyUnit.POINT, 1.0)["closing"].noise_multiplier / times**0.5)
    assert np.std(drawn) == pytest.approx(noise, rel=0.25)


def test_second_moment_without_noise_is_exact(looks):
    steps = (POINTS - BALL.center) / BALL.grid
    outer = steps.T @ steps
    found = looks.second_moment("second moment", BALL, np.linalg.norm(outer))
    assert found.noise == 0.0
    assert found.trace == pytest.approx(np.trace(outer), rel=1e-3)
    np.testing.assert_allclose(found.matrix, outer - np.eye(2) * np.trace(outer) / 2, rtol=1e-3, atol=1e-3 * np.trace(outer))


def test_the_typical_size_is_the_median_rounded_down():
    with InMemoryFederation(CLIENTS).open(plan_of(PrivacyUnit.CLIENT, math.inf)) as run:
        assert Looks(run, PrivacyUnit.CLIENT).typical_size() == 2  # of 3, 1 and 5 points: classes of 1, 2 to 3, and 4 to 7


def test_stated_noise_is_that_of_the_release():
    """The noise of 150 sums over nobody: 600 draws are within 25 % of the stated deviation but with a chance below 1e-8 (chi-squared)."""
    plan, drawn, counts = plan_of(PrivacyUnit.POINT, 1.0), [], []
    bound = Bound.at(1e5, 2e4, 1.0, plan["sums"])
    for seed in range(150):
        with InMemoryFederation([np.empty((0, 2))]).open(plan, seed) as run:
            found = Looks(run, PrivacyUnit.POINT).sums("sums", BALL, Frame.around(CENTERS), bound)
        drawn.append(found.residuals)
        counts.append(found.counts)
    assert found.noise == pytest.approx(bound.length * plan["sums"].noise_multiplier)
    assert np.std(drawn) == pytest.approx(found.noise, rel=0.25)
    assert np.std(counts) == pytest.approx(found.count_noise, rel=0.4)


def test_a_look_of_several_releases_is_one_with_less_noise():
    plan = plan_of(PrivacyUnit.POINT, 1.0)
    bound, names = Bound.at(1e5, 2e4, 1.0, plan["closing"]), []
    with InMemoryFederation([np.empty((0, 2))]).open(plan, 0, names.append) as run:
        found = Looks(run, PrivacyUnit.POINT).sums("closing", BALL, Frame(CENTERS, CENTERS[:, :1], None, np.eye(2)[:, :1]), bound, times=2)
    assert names == ["closing"]
    assert run.ledger.not_made() == {"sums": 1, "second moment": 1, "client sizes": 1}
    assert found.noise == pytest.approx(bound.length * plan["closing"].scale / math.sqrt(2))


def test_no_count_is_believed_below_its_noise():
    means, variances = Sums(np.array([[6.0], [6.0]]), np.array([-3.0, 12.0]), 2.0, 4.0, 1.0).means()
    np.testing.assert_allclose(means[:, 0], [6 / 4, 6 / 12])
    np.testing.assert_allclose(variances, [(2 / 4) ** 2, (2 / 12) ** 2])


def test_bounds_have_room_where_there_is_no_noise():
    noisy, silent = plan_of(PrivacyUnit.POINT, 1.0)["sums"], plan_of(PrivacyUnit.POINT, math.inf)["sums"]
    assert roomy(0.1, noisy) == 1.0
    assert roomy(30.0, noisy) == 30.0
    assert roomy(30.0, silent) == 30.0 * BOUNDS.unbounded


def test_centers_have_less_noise_with_more_points_or_epsilon():
    at = {epsilon: noise_per_length(plan_of(PrivacyUnit.POINT, epsilon)["sums"], 1000.0, 5, 10) for epsilon in (0.5, 1.0)}
    assert at[0.5] > at[1.0]
    release = plan_of(PrivacyUnit.POINT, 1.0)["sums"]
    assert noise_per_length(release, 2000.0, 5, 10) == pytest.approx(at[1.0] / 2)
