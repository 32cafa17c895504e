"""Whole clients in torch: the integers of numpy, and the same runs."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.gpu import torch_clients, torch_silo
from feddp_kmeans.silos.gpu.torch_clients import OF_CLIENTS
from feddp_kmeans.silos.gpu.torch_silo import TorchSilo
from feddp_kmeans.silos.memory import ArraySilo, TableSilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query
from tests.statistics.cases import ALL_CASES, CLIENT_CASES, DIMENSION, names

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]
SIZES = (40, 0, 1, 300, 7, 1, 60)


def clients_of(dtype, scale=1.0, sizes=SIZES, dimension=DIMENSION):
    rng = np.random.default_rng(3)
    clients = [(scale * rng.standard_normal((n, dimension))).astype(dtype) for n in sizes]
    clients[0][5, 0], clients[3][7, 1], clients[-1][:] = np.nan, np.inf, np.nan
    return clients


def offsets_of(clients):
    return np.cumsum([0, *map(len, clients)])


def tensors_of(clients, device):
    return [torch.as_tensor(client, device=device) for client in clients]


def test_every_name_is_that_of_a_statistic_of_clients():
    assert all(REGISTRY[name].whole_clients for name in OF_CLIENTS)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.01, 1.0, 1e30])
@pytest.mark.parametrize("case", CLIENT_CASES, ids=names(CLIENT_CASES))
def test_the_integers_are_those_of_numpy(case, scale, dtype, device):
    statistic, public, *_ = case
    clients, query = clients_of(dtype, scale), Query(statistic, public, DIMENSION)
    table, offsets = np.concatenate(clients), offsets_of(clients)
    with np.errstate(all="ignore"):
        expected = ArraySilo(clients).exact_sum(query)
        alone = ArraySilo([table]).exact_sum(query)
    silos = [
        TorchSilo(tensors_of(clients, device)),
        TorchSilo(clients, device),
        TorchSilo.from_offsets(table, offsets, device),
        TorchSilo.from_offsets(torch.as_tensor(table, device=device), offsets),
    ]
    for silo in silos:
        assert np.array_equal(silo.exact_sum(query), expected)
        assert np.array_equal(silo.as_one_client().exact_sum(query), alone)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CLIENT_CASES, ids=names(CLIENT_CASES))
def test_clients_of_a_cohort_add_up_whatever_batches_they_are_in(case, device, monkeypatch):
    statistic, public, *_ = case
    clients, query = clients_of(np.float32), Query(statistic, public, DIMENSION)
    table = TableSilo.from_offsets(np.concatenate(clients), offsets_of(clients))
    held = TorchSilo(tensors_of(clients, device))
    silos = [held, TorchSilo.from_offsets(np.concatenate(clients), offsets_of(clients), device)]
    cohorts = [np.array([bool(number >> bit & 1) for bit in range(len(clients))]) for number in (0, 2, 8, 0b101101, 127)]
    for at_once in (1, 100, 1 << 20):
        for module in (torch_clients, torch_silo):
            monkeypatch.setattr(module, "AT_ONCE", at_once)
        for cohort in cohorts:
            for silo in silos:
                assert np.array_equal(silo.exact_sum(query, cohort), table.exact_sum(query, cohort))
    nobody, all_as_one = np.array([False]), np.array([True])
    assert not held.as_one_client().exact_sum(query, nobody).any()
    assert np.array_equal(held.as_one_client().exact_sum(query, all_as_one), table.as_one_client().exact_sum(query))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["client-second-moment", "client-moment-norms", "client-outer-product", "client-residuals"])
def test_many_coordinates_and_large_clients_are_the_same_too(name, device):
    """More points than are multiplied together, and more numbers than one block of a sum holds."""
    rng = np.random.default_rng(4)
    clients = [rng.standard_normal((n, 40)).astype(np.float32) for n in (5000, 3, 3, 90, 39, 40, 41)]
    public = {"center": np.full(40, 0.01), "radius": 9.0}
    centers = rng.standard_normal((30, 40)) * 9000
    public |= {
        "client-second-moment": {"bound": 1e9},
        "client-moment-norms": {"edges": np.geomspace(1e8, 1e14, 50)},
        "client-outer-product": {"bound": 500.0},
        "client-residuals": {"centers": centers, "origins": centers, "count_weight": 777.7, "square_weight": 1e-5, "bound": 7e5},
    }[name]
    query = Query(REGISTRY[name], public, 40)
    assert np.array_equal(TorchSilo(tensors_of(clients, device)).exact_sum(query), ArraySilo(clients).exact_sum(query))


@pytest.mark.parametrize("device", DEVICES)
def test_squares_of_a_client_that_add_up_to_more_than_floating_point_holds(device):
    rng = np.random.default_rng(6)
    client = rng.uniform(-0.7, 0.7, (1_300_000, 2))
    centers = np.array([[65001.0, 65003.0]])
    public = {"center": np.zeros(2), "radius": 1.0, "centers": centers, "origins": centers}
    public |= {"count_weight": 1.0, "square_weight": 1.0, "bound": 2.0**55}
    query = Query(REGISTRY["client-residuals"], public, 2)
    expected = ArraySilo([client]).exact_sum(query)
    assert np.array_equal(TorchSilo.from_offsets(client, [0, len(client)], device).exact_sum(query), expected)
    assert np.array_equal(ArraySilo([client[::-1]]).exact_sum(query), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", ALL_CASES, ids=names(ALL_CASES))
def test_what_has_no_form_in_torch_is_added_up_by_numpy(case, device):
    statistic, public, *_ = case
    clients, query = clients_of(np.float64), Query(statistic, public, DIMENSION)
    expected = ArraySilo(clients).exact_sum(query)
    for silo in (TorchSilo(tensors_of(clients, device)), TorchSilo(clients, device)):
        assert np.array_equal(silo.exact_sum(query), expected)


RUNS = {
    "paper, server data": {"method": "paper", "radius": 40.0},
    "refined, server data": {"radius": 40.0},
    "refined, a box": {"box": (-5.0, 12.0)},
    "refined, nothing known": {},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("unit", ["client", "point", "sampled client"])
@pytest.mark.parametrize("what", RUNS)
def test_a_run_gives_the_same_centers_and_the_same_noise(what, unit, device):
    rng = np.random.default_rng(5)
    clients = [(rng.standard_normal((n, 3)) + 6 * rng.integers(0, 2, (n, 1))).astype(np.float32) for n in [60, 0, 30, *[9] * 40]]
    clients[0][5, 1] = np.nan
    server = 1.2 * (rng.standard_normal((40, 3)) + 6 * rng.integers(0, 2, (40, 1))) if "server" in what else None
    settings = Settings(2, 1.0, privacy_unit=unit.split()[-1], sampling_rate=0.7 if "sampled" in unit else 1.0, **RUNS[what])
    prepared = prepare(settings, server, len(clients), 3)
    expected = run(InMemoryFederation(clients), prepared, seed=0).centers
    for given in (tensors_of(clients, device), clients):
        found = run(LocalFederation(TorchSilo(given, device)), prepared, seed=0)
        assert np.array_equal(found.centers, expected)
