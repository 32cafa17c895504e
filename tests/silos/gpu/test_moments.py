"""Second moments in one sweep: on a GPU, the integers of numpy for any number of rows and coordinates."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.moments import products
from feddp_kmeans.silos.gpu.torch_silo import total_of
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query
from tests.silos.gpu.beside_numpy import same

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def test_points_elsewhere_are_left_to_plain_torch():
    assert products(torch.zeros((4, 2)), torch.zeros(2, dtype=torch.float64), 1.0) is None


@needs_gpu
@pytest.mark.parametrize("n", [1, 55, 57, 20_011])
@pytest.mark.parametrize("d", [1, 2, 7, 16, 33, 64, 100, 128, 200])
def test_the_integers_are_those_of_numpy(n, d, rng):
    points = (rng.standard_normal((n, d)) * 0.3).astype(np.float32)
    points[: n // 100] *= 100  # too long for the ball
    points[n // 200] = 3e38
    points[n // 2] = 0
    ball = {"center": np.zeros(d) if n == 57 else rng.standard_normal(d) * 0.05, "radius": 0.6 * np.sqrt(d)}
    asked = [("outer-product", ball)] + [("point-second-moment", ball | {"bound": bound}) for bound in (1.0, 2.0**26, 2.0**31)]
    for name, public in asked:
        assert same(name, points, public), name


@needs_gpu
def test_squares_of_many_rows_add_up_exactly(rng):
    points = torch.full((40_000_000, 2), 0.7, device="cuda")
    for name, bound in (("outer-product", {}), ("point-second-moment", {"bound": 1.0})):
        query = Query(REGISTRY[name], {"center": np.zeros(2), "radius": 1.0} | bound, 2)
        one = ArraySilo([np.full((1, 2), np.float32(0.7), dtype=np.float64)]).exact_sum(query)
        assert np.array_equal(total_of(query, points).cpu().numpy(), 40_000_000 * one)
