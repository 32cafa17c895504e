"""Sources of bounds: units made up from server data, and noisy histograms of lengths."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.bounds import ClippingBias, HistogramBounds, SimulatedBounds
from feddp_kmeans.algorithm.looks import Bound, Frame, noise_per_length, roomy
from feddp_kmeans.algorithm.proxies import Shape
from feddp_kmeans.algorithm.tuning import BOUNDS, SERVERLESS
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball

QUIET = Release("sums", Mechanism.GAUSSIAN, 1.0, 1.0, 1e-3, 10)
LOUD = Release("sums", Mechanism.GAUSSIAN, 1.0, 1.0, 1e6, 10)
NONE = Release("sums", Mechanism.GAUSSIAN, 1.0, 1.0, 0.0, 10)
ORIGIN = Frame.around(np.zeros((1, 3)))


def simulated(points, unit=PrivacyUnit.POINT, size=1, n_points=1e5):
    return SimulatedBounds(points, np.ones(len(points)), unit, size, np.random.default_rng(0), n_points)


def of_sums(source, release, frame, count_length, square_length=0.0):
    return source.of_sums(release, frame, (count_length, square_length), times=1)


def at(lengths):
    return np.column_stack([np.rint(lengths), np.zeros((len(lengths), 2))])


def test_a_simulated_bound_is_met_by_a_typical_point():
    bound = of_sums(simulated(at(np.full(50, 3000.0))), LOUD, ORIGIN, 0.5)
    assert bound.count_weight == pytest.approx(0.5 * 3000)
    assert bound.length == pytest.approx(np.hypot(3000, 1500), rel=1e-3)
    assert bound.kept == pytest.approx(1.0, rel=1e-6)


def test_skewed_points_get_room_only_where_noise_is_cheap():
    points = at(np.where(np.arange(400) % 10, 1000.0, 9000.0))
    median = of_sums(simulated(points), LOUD, ORIGIN, 0.5).length
    assert of_sums(simulated(points), QUIET, ORIGIN, 0.5).length > 5 * median
    assert of_sums(simulated(points, n_points=0.0), LOUD, ORIGIN, 0.5).length == median
    inside = Frame(np.zeros((1, 2)), np.zeros((1, 2)), np.eye(3)[:, :2], np.eye(3)[:, :2])
    assert of_sums(simulated(points), QUIET, inside, 0.5).length > 3 * median  # a guess is enough
    assert of_sums(simulated(points, PrivacyUnit.CLIENT), QUIET, ORIGIN, 0.5).length == median


def test_even_points_keep_the_median_at_any_noise():
    even = at(np.tile([1000.0, -1000.0, 3000.0, -3000.0], 100))
    medium = Release("sums", Mechanism.GAUSSIAN, 1.0, 1.0, 10.0, 10)
    lengths = {of_sums(simulated(even), release, ORIGIN, 0.5).length for release in (LOUD, medium)}
    assert len(lengths) == 1


def test_the_bias_of_scaling_down_is_the_distance_of_the_two_means():
    rows, members = np.array([[0.0, 0], [0, 0], [0, 0], [9, 0]]), np.zeros(4, dtype=int)
    lengths = np.hypot(rows[:, 0], 1.0)
    factors = np.minimum(1, 2 / lengths)
    moved = (factors @ rows / factors.sum() - rows.mean(axis=0))[0]
    many = ClippingBias(*(np.tile(array.T, 10_000).T for array in (rows, np.ones(4), members)))
    assert many(np.tile(lengths, 10_000), np.array([2.0, 10.0])) == pytest.approx([moved**2, 0.0], rel=1e-3)
    assert ClippingBias(rows, np.ones(4), members)(lengths, np.array([2.0])) < moved**2  # four points do not show it


@pytest.mark.parametrize("part", [0.01, 0.3, 0.7])
@pytest.mark.parametrize("release", [LOUD, QUIET])
def test_counts_are_seen_even_if_most_points_lie_on_their_centers(release, part):
    """As in tables of categories: noise in a count is the bound's length over its weight, here at most 5 times what it is at best."""
    points = at(np.where(np.arange(400) < 400 * part, 3000.0, 0.0))
    bound = of_sums(simulated(points), release, ORIGIN, 0.5, 0.3)
    assert bound.count_weight > 0.1 * bound.length


def test_units_of_many_points_send_longer_vectors():
    points = at(np.random.default_rng(1).normal(0, 1000.0, 200))
    one, many = (simulated(points, PrivacyUnit.CLIENT, size) for size in (1, 25))
    assert of_sums(many, LOUD, ORIGIN, 0.5).length > 3 * of_sums(one, LOUD, ORIGIN, 0.5).length
    assert many.moment_length() > 10 * one.moment_length()


def test_squares_weigh_as_much_as_asked_for():
    bound = of_sums(simulated(at(np.full(50, 3000.0))), LOUD, ORIGIN, 0.5, 0.2)
    assert bound.square_weight == pytest.approx(0.2 / 3000)
    assert bound.length == pytest.approx(3000 * (1 + 0.5**2 + 0.2**2) ** 0.5, rel=1e-3)


def test_the_bound_of_cost_differences_is_what_nearly_all_units_send():
    """Two sets of one center each: a point at x costs ``x**2`` and ``(x - 10)**2``."""
    source = simulated(at(np.full(50, 3.0)))
    assert source.of_costs(np.array([[[0.0, 0, 0]], [[10.0, 0, 0]]])) == pytest.approx(np.hypot(9 - 49, 49 - 9))


def test_the_typical_distance_is_that_of_server_points_by_weight():
    points = at(np.array([1000.0, 5000.0]))
    source = SimulatedBounds(points, np.array([1.0, 0.0]), PrivacyUnit.POINT, 1, np.random.default_rng(0))
    assert source.within(np.zeros((1, 3))) == pytest.approx(1000.0)


def test_points_without_weight_are_not_drawn():
    points = at(np.array([1000.0, 5000.0]))
    source = SimulatedBounds(points, np.array([1.0, 0.0]), PrivacyUnit.POINT, 1, np.random.default_rng(0))
    assert of_sums(source, LOUD, ORIGIN, 1.0).count_weight == pytest.approx(1000.0)


def test_without_noise_nothing_is_scaled_down():
    bound = Bound.at(100.0, 5.0, 0.7, NONE)
    assert bound.kept == 1.0
    assert bound.length == pytest.approx(BOUNDS.unbounded * 100, rel=1e-3)
    assert Bound.at(100.0, 5.0, 0.7, LOUD).kept == 0.7
    assert roomy(0.0, LOUD) == 1.0


def test_noise_adds_the_stated_part_to_the_cost():
    n, k, d, steps, bound = 1e4, 5, 20, 3, 7.0
    noise = noise_per_length(LOUD, n, k, d, steps)
    assert (bound * noise) ** 2 == pytest.approx(d * (bound * LOUD.scale * k / n) ** 2 / steps)


class Seen:
    """Looks whose histogram of lengths is given."""

    is_client_level = False

    def __init__(self, length):
        self.made = {"bounds": QUIET}
        self.length = length

    def residual_lengths(self, ball, frame, count_weight, edges, square_weight=None):
        del ball, frame, count_weight, square_weight
        return np.bincount([np.searchsorted(edges, self.length)], [1000.0], minlength=len(edges) + 1)


def test_a_histogram_bound_is_the_length_that_most_units_have():
    shape = Shape(np.eye(3), np.ones(3), 3.0, 0.1)
    source = HistogramBounds(Seen(2000.0), Ball(np.zeros(3), 1.0), shape, 4000.0, 1e4, 2)
    bound = source.of_sums(LOUD, ORIGIN, (0.3, 0.0), times=1)
    assert 2000 / 2**0.5 <= bound.count_weight / 0.3 <= 2000 * 2**0.5
    assert bound.length == pytest.approx(np.hypot(bound.count_weight / 0.3, bound.count_weight), rel=1e-3)
    beyond = HistogramBounds(Seen(1e9), Ball(np.zeros(3), 1.0), shape, 4000.0, 1e4, 2).of_sums(LOUD, ORIGIN, (0.3, 0.0), times=1)
    assert beyond.count_weight == pytest.approx(0.3 * SERVERLESS.full_reach * 4000)
