"""Every federation answers the one verb alike: to the last bit without noise, by the same law with it."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.dask_silo import DaskSilo
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.paper_sums import CLIENT_CLUSTER_COUNTS, CLUSTER_COUNTS, CLUSTER_SUMS, COUNT_STEPS, OUTER_PRODUCT
from feddp_kmeans.statistics.residual_sums import CLIENT_SIZES
from feddp_kmeans.tables.client_files import open_clients
from tests.conformance.clients import CLIENTS, SERVER
from tests.variants import slow_after


def in_memory(folder):
    return InMemoryFederation(CLIENTS)


def from_groups(folder):
    owners = np.repeat(np.arange(5), [len(c) for c in CLIENTS])
    shuffle = np.random.default_rng(1).permutation(len(owners))
    federation = InMemoryFederation.from_groups(np.concatenate(CLIENTS)[shuffle], owners[shuffle])
    assert federation.n_clients == 4  # a client without rows is not in a table
    return federation


def from_offsets(folder):
    path = folder / "points.npy"
    np.save(path, np.concatenate(CLIENTS))
    return InMemoryFederation.from_offsets(np.load(path, mmap_mode="r"), np.cumsum([0, *(len(c) for c in CLIENTS)]))


def files(write):
    def make(folder):
        for index, points in enumerate(CLIENTS):
            write(folder / f"client_{index}", points)
        return FileFederation(open_clients(str(folder)))

    return make


def on_cluster(folder):
    delayed = pytest.importorskip("dask", reason="points on a cluster need the extra 'dask'").delayed
    return LocalFederation(DaskSilo([delayed(points) for points in CLIENTS], tuple("abcd")))


def table(points):
    return pa.table({f"x{i}": points[:, i] for i in range(points.shape[1])})


FEDERATIONS = {
    "in-memory": in_memory,
    "groups": from_groups,
    "offsets": from_offsets,
    "npy": files(lambda path, points: np.save(path.with_suffix(".npy"), points)),
    "parquet": files(lambda path, points: pa.parquet.write_table(table(points), path.with_suffix(".parquet"), row_group_size=16)),
    "dask": on_cluster,
    "recorded": lambda folder: RecordedFederation(InMemoryFederation(CLIENTS), folder / "record"),
    "csv": files(lambda path, points: pa.csv.write_csv(table(points), path.with_suffix(".csv"))),
}


@pytest.fixture(params=FEDERATIONS)
def federation(request, tmp_path):
    return FEDERATIONS[request.param](tmp_path)


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("epsilon", slow_after(1, [1.0, math.inf]))
def test_the_same_clients_give_the_same_bits(federation, unit, epsilon):
    prepared = prepare(Settings(2, epsilon, privacy_unit=unit, lloyd_steps=1), SERVER, 5)
    # A table with a client column cannot name a client without rows; the number of clients is public and counts.
    same = CLIENTS if federation.n_clients == len(CLIENTS) else [c for c in CLIENTS if len(c)]
    expected = run(InMemoryFederation(same), prepared, seed=3)
    found = run(federation, prepared, seed=3)
    assert np.array_equal(found.centers, expected.centers)
    assert np.array_equal(found.counts, expected.counts)


def test_nothing_is_released_beyond_the_plan_or_after_the_run(federation):
    plan = prepare(Settings(2, 1.0, method="paper"), SERVER, 5).plan
    public = {"center": np.zeros(4), "radius": 9.0}
    with federation.open(plan, seed=0) as opened:
        opened.noisy_sum(OUTER_PRODUCT, plan["outer product"], **public)
        with pytest.raises(BudgetError, match="was made 1 times already"):
            opened.noisy_sum(OUTER_PRODUCT, plan["outer product"], **public)
    with pytest.raises(BudgetError, match="a run must be open to release anything, got 'weights' for one that is closed"):
        opened.noisy_sum(CLUSTER_COUNTS, plan["weights"], **SUMS)
    assert opened.ledger.not_made() == {"weights": 1, "sums": 1, "counts": 1}


def test_arguments_that_are_refused_are_not_booked(federation):
    plan = prepare(Settings(2, 1.0, method="paper"), SERVER, 5).plan
    opened = federation.open(plan, seed=0)
    with pytest.raises(FedDPError, match="public argument 'center' must be given, got none"):
        opened.noisy_sum(CLUSTER_COUNTS, plan["weights"])
    assert opened.ledger.rows() == []


def test_a_release_that_fails_is_booked_all_the_same():
    def broken(batch, **public):
        raise ZeroDivisionError

    plan = prepare(Settings(2, 1.0, method="paper"), SERVER, 5).plan
    opened = InMemoryFederation(CLIENTS).open(plan, seed=0)
    with pytest.raises(ZeroDivisionError):
        opened.noisy_sum(replace(CLUSTER_COUNTS, compute=broken), plan["weights"], **SUMS)
    assert [row["release"] for row in opened.ledger.rows()] == ["weights"]


def planned(unit="point", **release):
    fields = {"mechanism": Mechanism.GAUSSIAN, "sensitivity": 1.0, "integer_sensitivity": float(RESOLUTION), "values": 8}
    made = Release(name="r", noise_multiplier=1.0, **(fields | release))
    return Plan(PrivacyUnit(unit), 1.0, 1e-6, (made,))


SUMS = {"center": np.zeros(4), "radius": 9.0, "centers": np.zeros((2, 4))}


def test_noise_that_is_just_enough_for_the_statistic_is_answered(federation):
    plan = planned(integer_sensitivity=RESOLUTION * (1 - 1e-13))
    assert federation.open(plan).noisy_sum(CLUSTER_SUMS, plan["r"], **SUMS).shape == (8,)


@pytest.mark.parametrize(
    ("plan", "statistic", "public", "message"),
    [
        (
            planned(integer_sensitivity=RESOLUTION * (1 - 1e-11)),
            CLUSTER_SUMS,
            SUMS,
            "integer_sensitivity of release 'r' must be at least 65536 for statistic 'cluster-sums', got 65535.9999",
        ),
        (planned(integer_sensitivity=0.5), CLUSTER_COUNTS, SUMS, "must be at least 1 for statistic 'cluster-counts', got 0.5"),
        (
            planned("client", integer_sensitivity=1.4 * COUNT_STEPS),
            CLIENT_CLUSTER_COUNTS,
            SUMS | {"bound": 1.5},
            "must be at least 98304 for statistic 'client-cluster-counts', got 91750",
        ),
        (
            planned(mechanism=Mechanism.LAPLACE),
            CLUSTER_SUMS,
            SUMS,
            "noise of release 'r' must be Gaussian for statistic 'cluster-sums', which states no L1 sensitivity, got 'laplace'",
        ),
        (planned("client"), CLUSTER_SUMS, SUMS, "privacy unit must be 'point' for statistic 'cluster-sums', got 'client'"),
        (planned(), CLIENT_SIZES, {}, "privacy unit must be 'client' for statistic 'client-sizes', got 'point'"),
        (planned(values=7), CLUSTER_SUMS, SUMS, "release 'r' must hold at most 7 values, got 8"),
    ],
)
def test_a_query_that_its_release_does_not_cover_is_booked_and_refused(federation, plan, statistic, public, message):
    opened = federation.open(plan)
    with pytest.raises(BudgetError, match=message):
        opened.noisy_sum(statistic, plan["r"], **public)
    assert [row["release"] for row in opened.ledger.rows()] == ["r"]


def test_a_federation_opens_runs_and_a_run_has_one_verb():
    public = {name for name in vars(Federation) if not name.startswith("_")}
    assert public == {"books", "open", "run_id", "with_books"}
    verbs = {name for name in vars(Run) if not name.startswith("_")}
    assert verbs == {"begin", "book", "close", "go_on", "noisy_sum", "report", "secure"}


def test_runs_on_one_federation_know_nothing_of_each_other(federation):
    """One after the other, and in turns: the same seed gives the same bits, and each has its own ledger."""
    plan = prepare(Settings(2, 1.0, method="paper"), SERVER, 5).plan
    with federation.open(plan, seed=0) as one:
        first = one.noisy_sum(CLUSTER_COUNTS, plan["weights"], **SUMS)
    assert one.ledger.not_made() == {"outer product": 1, "sums": 1, "counts": 1}
    with federation.open(plan, seed=0) as two, federation.open(plan, seed=0) as three:
        for run_ in (two, three):
            assert np.array_equal(run_.noisy_sum(CLUSTER_COUNTS, plan["weights"], **SUMS), first)
            assert [row["release"] for row in run_.ledger.rows()] == ["weights"]
    assert one.server_seed == two.server_seed == three.server_seed


def test_progress_is_made_of_release_names(federation):
    seen = []
    prepared = prepare(Settings(2, 1.0, method="paper", lloyd_steps=2), SERVER, 5)
    run(federation, prepared, on_release=seen.append)
    assert seen == ["outer product", "weights", "sums", "counts"] + ["lloyd sums", "lloyd counts"] * 2
