"""Ward's method: the very centers of the plain algorithm, which looks at all pairs in every step."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.merging import merged_centers


def plainly_merged(points, weights, k):
    points, weights, left = points.copy(), weights.copy(), np.ones(len(points), dtype=bool)
    for _ in range(len(points) - k):
        prices = np.stack([np.square(points - p).sum(axis=1) * (weights * w / (weights + w)) for p, w in zip(points, weights, strict=True)])
        prices[~left] = prices[:, ~left] = np.inf
        np.fill_diagonal(prices, np.inf)
        one, other = np.unravel_index(prices.argmin(), prices.shape)
        points[one] = np.average(points[[one, other]], axis=0, weights=weights[[one, other]])
        weights[one] += weights[other]
        left[other] = False
    return points[left]


@pytest.mark.parametrize(("n", "d", "k"), [(2, 1, 1), (9, 3, 9), (40, 1, 3), (61, 5, 7), (80, 17, 2)])
@pytest.mark.parametrize("ties", [False, True])
def test_centers_are_those_of_the_plain_algorithm(n, d, k, ties, rng):
    points = rng.integers(-2, 3, (n, d)).astype(float) if ties else rng.standard_normal((n, d))
    for weights in (np.ones(n), rng.random(n) + 1e-6):
        expected = plainly_merged(points, weights, k)
        assert np.array_equal(merged_centers(points, weights, k), expected)
        merged_centers(points, weights, k)[:] = 0  # which no other caller sees
        assert np.array_equal(merged_centers(points, weights, k), expected)
