"""Shared by all tests, of the product and of the studies."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

_NEEDED = {
    "studies/benchmarks/gpu_*.py": "torch",
    "src/feddp_kmeans/silos/gpu/*": "torch",
    "tests/silos/gpu/beside_numpy.py": "torch",
    "src/feddp_kmeans/network/deployment/own_ray.py": "ray",
}

collect_ignore_glob = [modules for modules, package in _NEEDED.items() if not find_spec(package)]
"""Modules that need an extra which is not installed are not looked at for examples."""


@pytest.fixture
def rng():
    return np.random.default_rng(20250711)
