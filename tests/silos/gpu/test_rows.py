"""The kernels of looks: on a GPU, the integers of numpy for every shape; elsewhere they are not used."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.rows import fits
from feddp_kmeans.silos.gpu.torch_silo import total_of
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def test_points_elsewhere_do_not_fit():
    assert not fits(torch.zeros((3, 2), dtype=torch.float32))


@needs_gpu
@pytest.mark.parametrize("n", [1, 127, 128, 20_003])
@pytest.mark.parametrize(
    ("d", "k", "q"),
    [(100, 10, 48), (100, 10, 10), (3, 2, 2), (7, 16, 7), (33, 17, 5), (128, 100, 20), (100, 218, 48), (384, 64, 60), (1, 3, 1)],
)
def test_the_integers_are_those_of_numpy(n, d, k, q, rng):
    points = (rng.standard_normal((n, d)) * 0.3).astype(np.float32)
    points[: n // 100] *= 100  # too long for the ball
    ball = {"center": rng.standard_normal(d) * 0.05, "radius": 0.6 * np.sqrt(d)}
    for projection in (None, np.linalg.qr(rng.standard_normal((d, q)))[0]):
        width = d if projection is None else q
        centers = np.rint(rng.standard_normal((k, width)) * 2.0**16 / (2 * np.sqrt(d)))
        centers[1] = centers[0]
        one = {} if projection is None else {"projection": projection}
        both = one if projection is None else one | {"residual_projection": projection}
        where = ball | {"centers": centers, "origins": centers, "count_weight": 3e3} | both
        asked = [
            ("cluster-counts", ball | {"centers": centers} | one),
            ("cluster-sums", ball | {"centers": centers} | one),
            ("point-residuals", where | {"bound": 3e4}),
            ("point-residuals", where | {"bound": 3e4, "square_weight": 1e-4}),
            ("point-residual-norms", where | {"edges": np.array([1e3, 1e4, 3e4, 6e4])}),
        ]
        if projection is None:
            asked += [("point-spreads", ball | {"centers": centers, "reach": 5e4}), ("outer-product", ball)]
            asked += [("point-second-moment", ball | {"bound": bound}) for bound in (2.0**26, 2.0**31)]
        for name, public in asked:
            query = Query(REGISTRY[name], public, d)
            found = total_of(query, torch.as_tensor(points, device="cuda")).cpu().numpy()
            assert np.array_equal(found, ArraySilo([points.astype(np.float64)]).exact_sum(query)), name
