"""Batches: small clients together, large ones in pieces, whole clients where a statistic needs them whole."""

import math

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.adder import Asked
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.silos import batched, batches
from feddp_kmeans.statistics.engine import Engine, using
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.paper_sums import CLIENT_CLUSTER_SUMS, MEAN_STEPS, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query


def batches_of(clients, *, whole_clients=True):
    made = InMemoryFederation(clients)._silo
    return list(made.whole(None) if whole_clients else made.points())


def test_many_small_clients_are_few_batches():
    found = batches_of([np.ones((50, 100))] * 5000)
    assert len(found) == 97  # 52 clients of 40 kB in 2 MiB
    assert sum(b.n_clients for b in found) == 5000


def test_a_large_client_comes_in_pieces_unless_it_must_be_whole(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_VALUES", 60)
    clients = [np.ones((100, 3)), np.ones((5, 3))]
    pieces = batches_of(clients, whole_clients=False)
    assert max(len(b.points) for b in pieces) <= 20
    assert sum(len(b.points) for b in pieces) == 105
    whole = batches_of(clients)
    assert [b.sizes.tolist() for b in whole] == [[100], [5]]


def test_rows_with_a_nan_or_an_infinity_are_dropped_on_the_client():
    rows = np.array([[1.0, 2], [np.nan, 0], [0, np.inf], [3, 4]])
    (batch,) = batches_of([rows, rows[1:3]])
    assert batch.points.tolist() == [[1, 2], [3, 4]]
    assert batch.sizes.tolist() == [2, 0]


def test_a_cohort_leaves_the_others_out():
    federation = InMemoryFederation([np.full((1, 1), i) for i in range(4)])
    plan = prepare(Settings(1, math.inf, privacy_unit="client", method="paper"), np.ones((3, 1)), 4).plan
    public = {"center": np.zeros(1), "radius": 9.0, "centers": np.zeros((1, 1)), "bound": 9.0}
    cohort = np.array([True, False, False, True])
    with federation.open(plan) as opened:
        asked = Asked(Query(CLIENT_CLUSTER_SUMS, public, 1), plan["sums"], 0, cohort, opened.streams.stream("x"))
        sums = opened._adder.noisy_sum(asked).values
    assert sums * (plan["sums"].grid ** -1) / (MEAN_STEPS * RESOLUTION / 9.0) == pytest.approx(3, rel=1e-3)


def test_sparse_points_are_points():
    rows = np.eye(4)
    (batch,) = batches_of([sparse.csr_matrix(rows), rows])
    assert np.array_equal(batch.points, np.vstack([rows, rows]))


@pytest.mark.parametrize(
    ("clients", "message"),
    [
        ([], "clients must be at least one"),
        ([np.ones((2, 3)), np.ones((2, 4))], "client 0 has 3, client 1 has 4"),
        ([np.ones(3)], "client 0 must have two dimensions"),
        ([np.array([["a", "b"]])], "client 0 must hold numbers only"),
        ([np.ones((2, 0))], "at least one column"),
    ],
)
def test_clients_that_do_not_fit_are_refused(clients, message):
    with pytest.raises(FedDPError, match=message):
        InMemoryFederation(clients)


class _OnDevice:
    """Answers numpy as a tensor of a GPU does, or one that asks for gradients."""

    device, shape = "cuda:0", (2, 1)

    def __init__(self, refusal):
        self._refusal = refusal

    def __array__(self, dtype=None, copy=None):
        raise self._refusal


@pytest.mark.parametrize("refusal", [TypeError("can't convert cuda:0 device type tensor to numpy."), RuntimeError("Use tensor.detach().")])
def test_a_tensor_that_numpy_cannot_read_is_refused_with_the_way_out(refusal):
    with pytest.raises(FedDPError, match=r"client 0 must be .* got _OnDevice on cuda:0: .* LocalFederation\(TorchSilo\(\[\.\.\.\]\)\)"):
        InMemoryFederation([_OnDevice(refusal)])


def test_groups_must_be_one_a_row():
    with pytest.raises(FedDPError, match="groups must hold one value per row of X: X has 3 rows"):
        InMemoryFederation.from_groups(np.ones((3, 2)), ["a", "b"])


def test_a_million_clients_are_one_array_and_their_offsets():
    offsets = np.arange(0, 2_000_001, 2)
    federation = InMemoryFederation.from_offsets(np.ones((2_000_000, 1), dtype=np.float32), offsets)
    assert federation.n_clients == 1_000_000
    found = list(federation._silo.whole(None))
    assert sum(b.n_clients for b in found) == 1_000_000
    assert len(found) == 8  # 131,072 clients of two numbers in 2**18
    assert {b.points.dtype for b in found} == {np.dtype(np.float32)}


@pytest.mark.parametrize("kept", [[True, False, True, True], [False] * 4])
def test_a_cohort_of_a_table_is_that_of_a_list(kept):
    clients = [np.full((size, 2), float(size)) for size in (3, 1, 0, 2)]
    table = InMemoryFederation.from_offsets(np.concatenate(clients), [0, 3, 4, 4, 6])._silo
    (found,) = table.whole(np.array(kept))
    chosen = [client for client, taken in zip(clients, kept, strict=True) if taken]
    assert found.points.tolist() == [row for client in chosen for row in client.tolist()]
    assert found.sizes.tolist() == [len(client) for client in chosen]


def test_arrays_are_not_copied():
    points = np.ones((1000, 10))
    for federation in (InMemoryFederation([points]), InMemoryFederation.from_groups(points, np.arange(1000) // 10)):
        for batch in (*federation._silo.points(), *federation._silo.whole(None)):
            assert np.shares_memory(batch.points, points)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int32, ">f4", bool])
def test_other_numbers_become_float64(dtype):
    (batch,) = batches_of([np.ones((3, 2), dtype=dtype)], whole_clients=False)
    assert batch.points.dtype == np.float64


def test_finite_numbers_whose_sum_is_not_are_kept():
    rows = np.full((4, 2), np.finfo(np.float64).max)
    (batch,) = batches_of([rows])
    assert batch.points.tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("groups", "sizes"),
    [
        (["b", "a", "b", "c"], [1, 2, 1]),
        ([2, 2, 5, 5], [2, 2]),
        ([np.nan, 1.0, np.nan, np.inf], [1, 1, 2]),
        (np.array(["2020", "NaT", "NaT", "2019"], dtype="datetime64[D]"), [1, 1, 2]),
        (np.array(["x", "x", "y", "x"], dtype=object), [3, 1]),
    ],
)
def test_groups_are_clients_in_the_order_of_their_labels(groups, sizes):
    points = np.arange(8.0).reshape(4, 2)
    (batch,) = InMemoryFederation.from_groups(points, groups)._silo.whole(None)
    assert batch.sizes.tolist() == sizes
    order = np.argsort(np.asarray(groups), kind="stable")
    assert batch.points.tolist() == points[order].tolist()


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 2], "offsets must ascend from 0 to the 3 rows of X, got 0 to 2"),
        ([1, 3], "offsets must ascend from 0"),
        ([0, 2, 1, 3], "offsets must ascend from 0"),
        ([0.0, 3.0], "offsets must be whole numbers"),
        ([[0, 3]], "offsets must be whole numbers, one per client and one more, got int64 of shape"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(offsets, message):
    with pytest.raises(FedDPError, match=message):
        InMemoryFederation.from_offsets(np.ones((3, 2)), offsets)


def test_a_table_without_rows_has_no_clients():
    with pytest.raises(FedDPError, match="clients must be at least one"):
        InMemoryFederation.from_groups(np.ones((0, 2)), [])


def counted_run(federation, prepared, monkeypatch):
    """Run, and return the centers and how many numbers were encoded."""
    seen = []
    encode = Ball.encode
    monkeypatch.setattr(Ball, "encode", lambda ball, points: (seen.append(points.size), encode(ball, points))[1])
    with using(Engine.NUMPY):  # compiled kernels encode points whenever they look at them
        centers = run(federation, prepared, seed=1).centers
    monkeypatch.undo()
    return centers, sum(seen)


@pytest.mark.parametrize("unit", ["point", "client"])
def test_points_in_memory_are_encoded_once_a_run(rng, monkeypatch, unit):
    clients = [rng.standard_normal((n, 3)) for n in (40, 7, 0, 200)]
    prepared = prepare(Settings(2, 1.0, method="paper", privacy_unit=unit, client_size=60), rng.standard_normal((40, 3)), 4)
    once, numbers = counted_run(InMemoryFederation(clients), prepared, monkeypatch)
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", 0)
    again, more = counted_run(InMemoryFederation(clients), prepared, monkeypatch)
    server = 40 * 3
    assert numbers - server <= 247 * 3 < more - server
    assert np.array_equal(once, again)


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_what_is_kept_changes_nothing_where_the_ball_moves(rng, monkeypatch, unit, dimension):
    clients = [rng.standard_normal((n, dimension)) + 9 for n in (40, 7, 0, 200)]
    prepared = prepare(Settings(2, 50.0, privacy_unit=unit), None, 4, dimension)
    kept = run(InMemoryFederation(clients), prepared, seed=1)
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", 0)
    fresh = run(InMemoryFederation(clients), prepared, seed=1)
    assert np.array_equal(kept.centers, fresh.centers)
    assert np.array_equal(kept.counts, fresh.counts)


@pytest.mark.parametrize("method", ["paper", "refined"])
def test_what_is_kept_is_nobody_elses_cohort(rng, monkeypatch, method):
    clients = [rng.standard_normal((5, 3)) for _ in range(40)]
    asked = Settings(2, math.inf, method=method, privacy_unit="client", client_size=5, sampling_rate=0.3, lloyd_steps=2)
    prepared = prepare(asked, rng.standard_normal((40, 3)), 40)
    kept = run(InMemoryFederation(clients), prepared, seed=1).centers
    monkeypatch.setattr(batched, "_KEPT_NUMBERS", 0)
    assert np.array_equal(kept, run(InMemoryFederation(clients), prepared, seed=1).centers)


def test_what_was_kept_is_of_one_run_and_of_no_other(rng):
    points = rng.standard_normal((100, 3))
    federation = InMemoryFederation([points])
    prepared = prepare(Settings(2, math.inf, method="paper"), rng.standard_normal((40, 3)), 1)
    first = run(federation, prepared, seed=1).centers
    points += 5.0
    assert not np.array_equal(first, run(federation, prepared, seed=1).centers)
    opened = federation.open(prepared.plan, seed=1)
    ball = prepared.method.ball
    opened.noisy_sum(OUTER_PRODUCT, prepared.plan["outer product"], center=ball.center, radius=ball.radius)
    points -= 5.0
    assert np.array_equal(first, run(federation, prepared, seed=1).centers)


@pytest.mark.parametrize(
    ("groups", "sizes"),
    [
        ([3, math.nan, 1, math.nan, 2, 1, math.nan, 3, 1], [2, 3, 3, 1]),
        (["a", None, "b", "a", math.nan], [2, 2, 1]),
        ([1, "1", 1.0, True, "1"], [3, 2]),
    ],
)
def test_a_client_whose_rows_lie_between_rows_of_nobody_is_one_client(groups, sizes):
    """A NaN has no place in an order: sorted with one, the rows of one client came to lie apart and counted as several clients."""
    federation = InMemoryFederation.from_groups(np.ones((len(groups), 1)), np.array(groups, dtype=object))
    assert [len(rows) for rows in federation.nonprivate_clients()] == sizes


def test_groups_that_cannot_be_told_apart_are_refused():
    groups = np.empty(2, dtype=object)
    groups[:] = [["K000400"], ["K000400"]]
    with pytest.raises(FedDPError, match="groups must be words or numbers, got another object"):
        InMemoryFederation.from_groups(np.ones((2, 1)), groups)
