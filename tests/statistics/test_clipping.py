"""Clipping: rows as long as numbers go keep their direction, and no length overflows."""

import numpy as np
import pytest

from feddp_kmeans.statistics.clipping import clip_rows, row_norms, within_range


@pytest.mark.parametrize("length", [1e149, 1e200, 1e308])
def test_rows_of_any_length_are_scaled_to_the_radius(length):
    rows = length * np.array([[1.0, 0.0], [-1.0, 1.0]])
    assert np.isfinite(row_norms(within_range(rows))).all()
    assert clip_rows(rows, 2.0) == pytest.approx(np.array([[2.0, 0.0], [-(2.0**0.5), 2.0**0.5]]))
