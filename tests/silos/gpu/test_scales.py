"""The table of scales: the scales of the statistic itself, on both sides of every step."""

import numpy as np
import pytest

from feddp_kmeans.silos.gpu.scales import scale_table
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.residual_sums import point_scales
from tests.variants import slow_after


@pytest.mark.parametrize(("dimension", "bound"), slow_after(3, [(1, 1e4), (3, 1e7), (100, 1e-3), (100, 6e8), (784, 3e9)]))
def test_the_table_gives_the_scales_of_the_statistic(dimension, bound, rng):
    starts, scales = scale_table(dimension, bound)
    squares = np.concatenate([starts, np.maximum(starts - 1, 0), starts + 1, rng.integers(0, RESOLUTION**2 + 1, 100_000)]).astype(float)
    squares = np.concatenate([np.minimum(squares, RESOLUTION**2), 2.0 ** np.arange(33)])
    assert np.array_equal(scales[np.searchsorted(starts, squares, side="right") - 1], point_scales(squares, dimension, bound))
    assert np.all(np.diff(scales[1:]) < 0)
