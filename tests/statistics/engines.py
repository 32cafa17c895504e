"""Both engines, side by side."""

import pytest

from feddp_kmeans.statistics.engine import Engine, using


def both(function):
    """The results of the two engines."""
    pytest.importorskip("numba")
    results = []
    for each in Engine:
        with using(each):
            results.append(function())
    return results
