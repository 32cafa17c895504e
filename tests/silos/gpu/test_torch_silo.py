"""Statistics in torch: the integers of numpy."""

# ruff: noqa: E402 - without torch nothing below can be imported

import math

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.gpu.chunks import LARGEST_ADDED
from feddp_kmeans.silos.gpu.torch_arithmetic import encode
from feddp_kmeans.silos.gpu.torch_silo import STATISTICS, TorchSilo, total_of
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.norms import POINT_COUNT
from feddp_kmeans.statistics.query import Query
from tests.statistics.cases import POINT_CASES
from tests.strategies import one_client

CASES = [case for case in POINT_CASES if case[0].name in STATISTICS]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


def test_every_name_is_in_the_registry():
    assert set(STATISTICS) <= set(REGISTRY)
    assert {case[0].name for case in CASES} == set(STATISTICS) == set(LARGEST_ADDED)


def test_many_rows_of_few_coordinates_add_up_exactly():
    """Three million rows at the edge of a ball: their squares add up to more than 2**53."""
    rows = torch.full((3_000_000, 1), 0.9, dtype=torch.float64)
    one = REGISTRY["outer-product"](one_client([[0.9]]), center=np.zeros(1), radius=0.9)
    found = total_of(Query(REGISTRY["outer-product"], {"center": np.zeros(1), "radius": 0.9}, 1), rows)
    assert found.tolist() == [3_000_000 * int(one[0])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=[case[0].name for case in CASES])
def test_the_integers_are_those_of_numpy(case, dtype, device, rng):
    statistic, public, *_ = case
    points = (rng.standard_normal((500, len(public["center"]))) * 0.2 + public["center"]).astype(dtype)
    expected = statistic(one_client(points.astype(np.float64)), **public)
    found = total_of(Query(statistic, public, len(public["center"])), torch.as_tensor(points, device=device))
    assert np.array_equal(found.cpu().numpy(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_points_that_are_shortened_are_the_same_too(device, rng):
    ball = Ball(rng.standard_normal(30), 2.0)
    points = rng.standard_normal((2000, 30)) * rng.choice([0.1, 1, 1e3, 1e200], (2000, 1))
    directions = rng.standard_normal((2000, 30))
    edge = ball.center + directions / np.linalg.norm(directions, axis=1)[:, None] * rng.uniform(1.9, 2.5, (2000, 1))
    points = np.concatenate([points, edge])
    found = encode(torch.as_tensor(points, device=device), torch.as_tensor(ball.center, device=device), ball.radius).cpu().numpy()
    assert np.array_equal(found, ball.encode(points))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("epsilon", [math.inf, 1.0])
@pytest.mark.parametrize("method", ["paper", "refined"])
def test_a_run_gives_the_same_centers_and_the_same_noise(method, epsilon, device, rng):
    clients = [rng.standard_normal((n, 3)) + 6 * rng.integers(0, 2, (n, 1)) for n in (60, 0, 30)]
    clients[0][5] = np.nan
    server = 1.2 * (rng.standard_normal((40, 3)) + 6 * rng.integers(0, 2, (40, 1)))
    prepared = prepare(Settings(2, epsilon, method=method, radius=40.0), server, 3)
    tensors = [torch.as_tensor(client, device=device) for client in clients]
    found = run(LocalFederation(TorchSilo(tensors)), prepared, seed=0)
    assert np.array_equal(found.centers, run(InMemoryFederation(clients), prepared, seed=0).centers)
    assert found.privacy.trust == "aggregator"


def test_what_does_not_run_in_torch_is_refused_in_a_line(rng):
    points = torch.as_tensor(rng.standard_normal((9, 3)))
    with pytest.raises(FedDPError, match="must be a dense array or a tensor, got a sparse matrix"):
        TorchSilo([sparse.eye(3)])
    with pytest.raises(FedDPError, match="offsets must ascend from 0 to the 9 rows"):
        TorchSilo.from_offsets(points, [0, 8])
    with pytest.raises(FedDPError, match="statistic must be one that runs in torch"):
        total_of(Query(POINT_COUNT, {}, 3), points)
    for clients in ([], [points, points[:, :2]], [points[0]]):
        with pytest.raises(FedDPError, match="clients must be"):
            TorchSilo(clients)


@pytest.mark.parametrize("device", DEVICES)
def test_a_site_with_a_gpu_adds_up_what_one_in_memory_does(device, rng):
    clients = [rng.standard_normal((n, 3)) for n in (40, 0, 7)]
    clients[0][3] = np.inf
    silo = TorchSilo([torch.as_tensor(client, device=device) for client in clients]).as_one_client()
    query = Query(REGISTRY["outer-product"], {"center": np.zeros(3), "radius": 2.0}, 3)
    assert (silo.n_clients, silo.columns) == (1, ("x0", "x1", "x2"))
    assert np.array_equal(silo.exact_sum(query), ArraySilo(clients).as_one_client().exact_sum(query))
    assert [len(rows) for rows in silo.nonprivate_clients()] == [39, 0, 7]
