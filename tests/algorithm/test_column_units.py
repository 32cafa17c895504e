"""Units of columns: when they have units of their own, and how points are read and told in them."""

import numpy as np

from feddp_kmeans.algorithm.column_units import HIDDEN_UNIT, ColumnUnits, units_of


def test_the_unit_of_a_column_is_its_spread_only_if_ranges_differ():
    for widths, expected in (([1.0, 2.0, 3.9], [1, 1, 1]), ([1.0, 8.0, 0.0], [0.1, 2, HIDDEN_UNIT]), ([0.0, 0.0, 0.0], [1, 1, 1])):
        np.testing.assert_array_equal(units_of(np.array([0.1, 2, 3]), np.array(widths), np.array(widths)), expected)
    widths = np.array([1.0, 8.0, 9.0])
    np.testing.assert_array_equal(units_of(widths, widths, np.array([np.inf, 8.0, 9.0])), np.ones(3))  # not known to be narrow
    np.testing.assert_array_equal(units_of(widths, widths, widths, 10), np.ones(3))


def test_a_hidden_column_is_told_as_what_is_filled_in():
    reading = ColumnUnits(np.array([2.0, HIDDEN_UNIT]), np.array([1.0, 5.0]))
    np.testing.assert_array_equal(reading.own(np.array([[3.0, 0.25]])), [[6.0, 5.0]])
    np.testing.assert_array_equal(reading.own_errors(np.array([[3.0, 0.25]])), [[6.0, np.nan]])
    np.testing.assert_array_equal(reading.scale, [2.0, np.nan])
    np.testing.assert_allclose(reading.read(np.array([[3.0, 1e9]])), [[1.5, 0.0]], atol=1e-290)
