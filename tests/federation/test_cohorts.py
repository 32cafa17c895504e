"""Which clients a cohort holds, and at what rate: each client by itself, afresh for each release, in every federation, and nobody else.

Every client holds points at a place of its own, so that the sum without noise shows who took part.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats

from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos import batches
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.silos.memory import ArraySilo, ArraySource, TableSilo
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.paper_sums import CLIENT_CLUSTER_COUNTS, CLIENT_CLUSTER_SUMS, CLIENT_PRESENCE, COUNT_STEPS, MEAN_STEPS
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.residual_sums import CLIENT_SIZES
from feddp_kmeans.tables.client_files import open_clients
from tests.network import loopback
from tests.statistics.cases import CLIENT_CASES, DIMENSION, names

FALSE_ALARM = 1e-9
"""Chance that one side of one check of the law fails for right cohorts: streams are not seeded."""

N = 12
PLACES = 8.0 * np.arange(N)[:, None]
SIZES = [3, 1, 2, 40, 1, 1, 5, 2, 1, 7, 1, 4]
POINTS = [np.full((size, 1), 8.0 * index) for index, size in enumerate(SIZES)]
BALL = {"center": np.zeros(1), "radius": float(RESOLUTION)}
WHO = BALL | {"centers": PLACES, "bound": 1.0}


def plan_of(rate, *, times=1, releases=("first", "second"), values=N):
    made = [Release(name, Mechanism.GAUSSIAN, 1.0, float(COUNT_STEPS), 0.0, values, times=times) for name in releases]
    return Plan(PrivacyUnit.CLIENT, math.inf, 1e-6, tuple(made), sampling_rate=rate)


def who(run, plan, name="first"):
    """Which clients took part in a release."""
    counts = run.noisy_sum(CLIENT_CLUSTER_COUNTS, plan[name], **WHO)
    shown = np.rint(counts / plan[name].fine_step / COUNT_STEPS).astype(int)
    assert set(shown.tolist()) <= {0, 1}
    return np.flatnonzero(shown).tolist()


def listed(points, folder):
    return InMemoryFederation(points)


def listed_afresh(points, folder):
    return LocalFederation(SourceSilo([ArraySource(rows) for rows in points]))


def table_afresh(points, folder):
    silo = TableSilo(np.concatenate(points), np.cumsum([0, *(len(rows) for rows in points)]))
    silo.in_memory = False  # so that no batch is kept
    return LocalFederation(silo)


def sparsely(points, folder):
    return InMemoryFederation([sparse.csr_matrix(rows) for rows in points])


def by_groups(points, folder):
    owners = np.repeat(np.arange(N), [len(rows) for rows in points])
    shuffle = np.random.default_rng(1).permutation(len(owners))
    return InMemoryFederation.from_groups(np.concatenate(points)[shuffle], owners[shuffle])


def by_offsets(points, folder):
    return InMemoryFederation.from_offsets(np.concatenate(points), np.cumsum([0, *(len(rows) for rows in points)]))


def in_files(points, folder):
    for index, rows in enumerate(points):
        np.save(folder / f"client_{index:02d}.npy", rows)
    return FileFederation(open_clients(str(folder)))


def recorded(points, folder):
    return RecordedFederation(InMemoryFederation(points), folder / "record")


def remote(points, folder):
    """Sites that come in another order than that of their names, by which cohorts go."""
    order = np.random.default_rng(2).permutation(N)
    parties = [loopback.participant(f"site{index:02d}", points[index], folder, unit=PrivacyUnit.CLIENT) for index in order]
    return RemoteFederation(loopback.Loopback(parties), trust=Trust.AGGREGATOR).connect()


def on_cluster(points, folder):
    delayed = pytest.importorskip("dask").delayed
    from feddp_kmeans.silos.dask_silo import DaskSilo

    return LocalFederation(DaskSilo([delayed(rows) for rows in points], ("a",)))


FEDERATIONS = [listed, listed_afresh, table_afresh, sparsely, by_groups, by_offsets, in_files, recorded, remote, on_cluster]


@pytest.fixture(params=FEDERATIONS, ids=lambda made: made.__name__)
def make(request, tmp_path):
    folders = iter(range(100))

    def made(points=POINTS):
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        return request.param(points, folder)

    return made


@pytest.fixture(autouse=True)
def _several_batches(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_VALUES", 5)


class Scripted(StreamFactory):
    """Streams whose cohorts come from given random numbers, one row a cohort."""

    def __init__(self, *rows):
        super().__init__(0)
        self.rows, self.labels = [list(row) for row in rows], []

    def streams(self, _):
        """The streams of a run that this is the watcher of."""
        return self

    def adder(self, adder):
        return adder

    def stream(self, label):
        if not label.startswith("cohort/"):
            return super().stream(label)
        self.labels.append(label)
        return _Numbers(self.rows.pop(0))


class _Numbers:
    secure = False

    def __init__(self, row):
        self.row = row

    def uint64(self, size):
        assert size == len(self.row)
        return np.array(self.row, dtype=np.uint64)


def begun(federation, plan, streams):
    """A run with these streams."""
    return federation.open(plan, seed=0, watcher=streams)


def drawn(chosen, rate):
    """Random numbers that are just low enough for the chosen clients, and just too high for the others."""
    edge = int(rate * 2**64)
    return [edge - 1 if index in chosen else edge for index in range(N)]


@pytest.mark.parametrize("rate", [0.25, 0.7])
def test_a_number_below_the_rate_and_no_other_takes_part(make, rate):
    plan = plan_of(rate)
    for chosen in ([0, 3, 11], [1], [], [2, 4, 5, 6, 7, 8, 9, 10]):
        opened = begun(make(), plan, Scripted(drawn(chosen, rate), [0] * N))
        assert who(opened, plan) == chosen
        assert who(opened, plan, "second") == list(range(N))


def test_every_release_and_every_repetition_draws_its_own_cohort(make):
    plan = plan_of(0.5, times=3)
    script = [[1, 2], [3], [0, 11], [4, 5], [], [10]]
    streams = Scripted(*(drawn(chosen, 0.5) for chosen in script))
    opened = begun(make(), plan, streams)
    order = ["first", "second", "first", "first", "second", "second"]
    assert [who(opened, plan, name) for name in order] == script
    assert streams.labels == [f"cohort/{name}" for name in order]


def test_where_all_take_part_nobody_is_drawn(make):
    plan = plan_of(1.0)
    assert who(begun(make(), plan, Scripted()), plan) == list(range(N))


@pytest.mark.parametrize("other", [1e300, np.nan, -55.0], ids=["huge", "nan", "elsewhere"])
def test_points_of_clients_outside_do_not_matter(make, other):
    """Sums of the cohort's own points, to the last bit, whatever the others hold."""
    chosen = [2, 3, 9]
    strangers = [rows if index in chosen else np.full((9, 1), other) for index, rows in enumerate(POINTS)]
    plan = replace(plan_of(0.5), releases=(Release("first", Mechanism.GAUSSIAN, 1.0, 2.0**40, 0.0, 1),))
    public = BALL | {"centers": np.zeros((1, 1)), "bound": 2.0**20}
    found = [
        begun(make(points), plan, Scripted(drawn(chosen, 0.5))).noisy_sum(CLIENT_CLUSTER_SUMS, plan["first"], **public)
        for points in (POINTS, strangers)
    ]
    assert np.array_equal(*found)
    expected = MEAN_STEPS * sum(float(POINTS[index].sum()) for index in chosen)
    assert found[0] / plan["first"].fine_step == pytest.approx([expected], rel=1e-6)


@pytest.mark.parametrize("values", [5, 30, 1 << 18])
@pytest.mark.parametrize("seed", range(5))
def test_the_sum_over_a_cohort_is_that_over_its_clients_alone(values, seed, monkeypatch):
    """Clients of any size, in one batch or many, in a list, a table and a table in another order."""
    monkeypatch.setattr(batches, "BATCH_VALUES", values)
    rng = np.random.default_rng(seed)
    points = [rng.standard_normal((size, 1)) for size in rng.integers(0, 9, 40)]
    owners = np.repeat(np.arange(40), [len(rows) for rows in points])
    shuffle = rng.permutation(len(owners))
    starts = np.searchsorted(owners, np.arange(41))
    order = np.argsort(owners[shuffle], kind="stable")
    held = [SourceSilo([ArraySource(rows) for rows in points]), TableSilo(np.concatenate(points), starts)]
    held.append(TableSilo(np.concatenate(points)[shuffle], starts, order))
    cohort = rng.random(40) < 0.4
    chosen = SourceSilo([ArraySource(rows) for rows, taken in zip(points, cohort, strict=True) if taken])
    where = {"center": np.zeros(1), "radius": 3.0, "centers": np.array([[-9e3], [9e3]])}
    for statistic, public in ((CLIENT_SIZES, {}), (CLIENT_CLUSTER_SUMS, where | {"bound": 2.0}), (CLIENT_PRESENCE, where | {"bound": 1.0})):
        expected = chosen.exact_sum(Query(statistic, public, chosen.dimension))
        for clients in held:
            assert np.array_equal(clients.exact_sum(Query(statistic, public, clients.dimension), cohort), expected)


def test_a_site_that_is_away_is_replaced_by_nobody(tmp_path):
    federation = remote(POINTS, tmp_path)
    away = next(node for node, party in federation._transport.participants.items() if party.name == "site03")
    federation._transport.absent.add(away)
    plan = plan_of(0.5)
    assert who(begun(federation, plan, Scripted(drawn([0, 3, 11], 0.5))), plan) == [0, 11]


def law(successes, tries, rate):
    """How likely at least, or at most, that many of so many tries is, the lesser of the two."""
    return min(stats.binom.cdf(successes, tries, rate), stats.binom.sf(successes - 1, tries, rate))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_clients_are_drawn_at_the_stated_rate_each_by_itself_and_afresh(rate):
    """Secret streams. 23 checks on two sides: a chance of 46 FALSE_ALARM."""
    clients, times = 10, 4000
    federation = InMemoryFederation([np.full((1, 1), 8.0 * index) for index in range(clients)])
    plan = plan_of(rate, times=times)
    opened = federation.open(plan)
    cohorts = np.array([opened._cohort(name) for _ in range(times // 2) for name in ("first", "second")])
    assert cohorts.shape == (times, clients)
    assert law(int(cohorts.sum()), cohorts.size, rate) > FALSE_ALARM
    for client in range(clients):
        assert law(int(cohorts[:, client].sum()), times, rate) > FALSE_ALARM
        together = cohorts[:, client] & cohorts[:, (client + 1) % clients]
        assert law(int(together.sum()), times, rate**2) > FALSE_ALARM
    for apart in (1, 2):  # the release before, and the same release before
        again = cohorts[apart::2] & cohorts[:-apart:2]
        assert law(int(again.sum()), again.size, rate**2) > FALSE_ALARM


def test_a_run_takes_the_rate_of_its_plan():
    """500 releases of 12 clients by the verb itself: a rate that is squared, doubled or turned around shows. 2 FALSE_ALARM."""
    plan = plan_of(0.3, times=500)
    with InMemoryFederation(POINTS).open(plan) as opened:
        taken = [who(opened, plan) for _ in range(500)]
    assert law(sum(map(len, taken)), 500 * N, 0.3) > FALSE_ALARM


def test_a_client_without_data_stays_a_client(make):
    """The neighbour at client level: nothing changes but what that client adds, and it is drawn as before."""
    emptied = [rows[:0] if index == 3 else rows for index, rows in enumerate(POINTS)]
    federation = make(emptied)
    if federation.n_clients == N - 1:
        assert isinstance(federation, InMemoryFederation)  # groups name no client without rows: their number is public
        return
    assert federation.n_clients == N
    plan = plan_of(0.5)
    script = [drawn([0, 3, 11], 0.5), drawn([3], 0.5)]
    opened = begun(federation, plan, Scripted(*script))
    assert [who(opened, plan), who(opened, plan, "second")] == [[0, 11], []]


@pytest.mark.parametrize(("statistic", "public"), [case[:2] for case in CLIENT_CASES], ids=names(CLIENT_CASES))
def test_a_client_without_data_adds_zero_to_every_statistic(statistic, public, rng):
    clients = [rng.standard_normal((size, DIMENSION)) for size in (3, 40, 1)]
    nobody = np.empty((0, DIMENSION))
    gone = [np.full((2, DIMENSION), np.nan)]  # rows that are left out are no data
    query = Query(statistic, public, clients[0].shape[1])
    expected = ArraySilo(clients).exact_sum(query)
    for more in ([nobody, *clients], [*clients[:1], nobody, *clients[1:], nobody], [*clients, *gone]):
        assert np.array_equal(ArraySilo(more).exact_sum(query), expected)
    offsets = np.cumsum([0, 0, 3, 0, 40, 1, 0])
    table = TableSilo.from_offsets(np.concatenate(clients), offsets)
    assert table.n_clients == 6
    assert np.array_equal(table.exact_sum(query), expected)
