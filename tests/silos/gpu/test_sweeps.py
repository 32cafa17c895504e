"""Looks in one sweep: on a GPU, the integers of numpy for ties, edges, any size and any number of centers."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu import sweeps
from feddp_kmeans.silos.gpu.torch_silo import TorchSilo, total_of
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.query import Query
from tests.silos.gpu.beside_numpy import same, tied_points

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def test_points_elsewhere_have_no_space():
    assert sweeps.space(torch.zeros((4, 2)), torch.zeros(2, dtype=torch.float64), 1.0) is None


@needs_gpu
@pytest.mark.parametrize(
    ("d", "k"),
    [(1, 3), (6, 16), (20, 1000), (30, 3000), (33, 40), (47, 226), (64, 100), (64, 1000), (100, 10), (100, 80), (128, 20), (128, 100)],
)
def test_ties_edges_and_extremes_give_the_integers_of_numpy(d, k, rng):
    points, targets = tied_points(d, k, rng)
    where = {"center": np.zeros(d), "radius": float(RESOLUTION), "centers": targets}
    look = where | {"origins": targets, "count_weight": 3e3}
    assert same("cluster-counts", points, where)
    assert same("cluster-sums", points, where)
    assert same("point-spreads", points, where | {"reach": 3e4})
    assert same("point-residual-norms", points, look | {"edges": np.array([1e3, 3e3, 3e4])})
    for bound in (0.5, 1.0, 3e4, 1e9):
        assert same("point-residuals", points, look | {"bound": bound})
        assert same("point-residuals", points, look | {"bound": bound, "square_weight": 1e-3})


@needs_gpu
def test_far_centers_and_other_origins_are_looked_at_otherwise(rng):
    points = rng.standard_normal((500, 5)).astype(np.float32)
    targets = np.rint(rng.uniform(-1, 1, (4, 5)) * 2.0**22)
    where = {"center": np.zeros(5), "radius": 9.0, "centers": targets, "origins": targets, "count_weight": 3e3, "bound": 3e4}
    assert same("point-residuals", points, where)
    assert same("point-residuals", points, where | {"centers": targets / 2.0**9, "origins": targets / 2.0**8})


@needs_gpu
def test_sums_of_many_rows_are_flushed_in_time(rng):
    """Every row adds as much as it may, and all of them to one number: 3 * 10**7 rows at the bound."""
    points = torch.full((30_000_000, 4), 0.0, device="cuda")
    points[:, 0] = 0.5
    public = {"center": np.zeros(4), "radius": 1.0, "centers": np.zeros((1, 4)), "count_weight": 1.0, "bound": 1.0}
    query = Query(REGISTRY["point-residuals"], public | {"origins": np.zeros((1, 4))}, 4)
    one = ArraySilo([np.array([[0.5, 0, 0, 0]])]).exact_sum(query)
    assert one[0] > 2**29
    assert np.array_equal(total_of(query, points).cpu().numpy(), 30_000_000 * one)


@needs_gpu
def test_coordinates_in_a_subspace_are_kept_for_the_same_one_only(rng):
    points = (rng.standard_normal((3000, 20)) * 0.2).astype(np.float32)
    points[:50] *= 100
    on_gpu, in_memory = TorchSilo([torch.as_tensor(points, device="cuda")]), ArraySilo([points.astype(np.float64)])
    for radius in (2.0, 2.0, 1.5):
        for projection in (*np.linalg.qr(rng.standard_normal((2, 20, 6)))[0], None):
            for _ in range(2):
                centers = np.rint(rng.standard_normal((9, 20 if projection is None else 6)) * 9000)
                space = {} if projection is None else {"projection": projection, "residual_projection": projection}
                public = {"center": np.zeros(20), "radius": radius, "centers": centers, "origins": centers, "count_weight": 3e3}
                query = Query(REGISTRY["point-residuals"], public | space | {"bound": 3e4}, 20)
                assert np.array_equal(on_gpu.exact_sum(query), in_memory.exact_sum(query))
                assert len(on_gpu._sources[0].kept) == len(space) / 2
