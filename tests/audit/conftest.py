"""Bugs are planted in Python, which compiled kernels would not show."""

import pytest

from feddp_kmeans.statistics.engine import Engine, using


@pytest.fixture(autouse=True)
def not_compiled():
    with using(Engine.NUMPY):
        yield
