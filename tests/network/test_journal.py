"""A server that is killed anywhere between asking for masked parts and having the release on record goes on, and loses nothing."""

import numpy as np
import pytest

from feddp_kmeans import _files
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation import recorded
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network import journal as journal_module
from feddp_kmeans.network.remote import RemoteAdder, RemoteFederation
from feddp_kmeans.network.run_state import RunStates
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from feddp_kmeans.statistics.query import Query
from tests.network import loopback
from tests.network.lying_server import LABELS, PLAN
from tests.variants import slow_after

CLIENTS = [np.full((3, 1), float(i)) for i in range(5)]
PUBLIC = {"center": np.zeros(1), "radius": 9.0, "centers": np.zeros((2, 1))}


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)


class Killed(BaseException):
    """Not an error that anything could handle."""


class Sites:
    """Five sites whose server may be killed and started again."""

    def __init__(self, folder):
        keys = {f"site{i:02d}": new_identity() for i in range(5)}
        self.folder = folder
        self.roster = {name: key.public_key() for name, key in keys.items()}
        site = lambda name: {"identity": keys[name], "roster": self.roster}  # noqa: E731
        _, self.transport = loopback.federation(CLIENTS, folder, site=site, roster=self.roster)
        self.replies = []
        exchange = self.transport.exchange

        def watched(requests, *more):
            found = exchange(requests, *more)
            self.replies += [(node, requests[node], reply) for node, reply in found.items() if isinstance(reply, bytes)]
            return found

        self.transport.exchange = watched
        self.transport.sent.clear()

    @property
    def journal(self):
        return self.folder / "record" / "pending"

    def serve(self):
        """Run the server from its start to its end; return its releases."""
        remote = RemoteFederation(self.transport, roster=self.roster, run="r1", journal=self.journal, colluders=1)
        names = [label.rpartition(" ")[0] for label in LABELS]
        with RecordedFederation(remote.connect(), self.folder / "record").open(PLAN) as opened:
            return [opened.noisy_sum(CLUSTER_SUMS, PLAN[name], **PUBLIC) for name in names]

    def killed(self):
        with pytest.raises(Killed):
            self.serve()
        self.transport.fault = lambda *_: None

    def check(self):
        """Each release was opened once by each site, for one list in one round, and the run is on each odometer once."""
        rounds, openings = {}, {}
        for _, kind, request in self.transport.sent:
            asked = unpack(request).fields
            if kind == "mask":
                rounds[asked["session"], asked["round"]] = f"{asked['release']} {asked['number']}"
            if kind == "unmask":
                label = rounds[asked["session"], asked["round"]]
                openings.setdefault(label, set()).add((asked["session"], asked["round"], tuple(asked["survivors"])))
        assert {label: len(places) for label, places in openings.items()} == dict.fromkeys(LABELS, 1)
        for name in self.roster:
            assert RunStates(self.folder / name, Odometer(self.folder / f"{name}.jsonl")).load("r1").opened == list(LABELS)
            assert len(Odometer(self.folder / f"{name}.jsonl").entries()) == 1
        assert not self.journal.exists()


def stop_at(kind, name, when, number=1):
    """Kill the server when the given release's message of a kind gets to a site, before or after the site has answered."""
    seen = []

    def fault(site, this, _turn):
        if this == kind and site == name:
            seen.append(this)
            if len(seen) > number and when == "before":
                raise Killed
        if seen and seen[-1] == "after":
            raise Killed
        if len(seen) > number and when == "after":
            seen.append("after")

    return fault


@pytest.mark.parametrize(("name", "when"), slow_after(1, [("site00", "after"), ("site00", "before"), ("site04", "before")]))
@pytest.mark.parametrize("kind", slow_after(1, ["confirm", "mask", "unmask"]))
def test_a_server_that_is_killed_at_a_message_loses_nothing(tmp_path, kind, name, when):
    sites = Sites(tmp_path)
    sites.transport.fault = stop_at(kind, name, when)
    sites.killed()
    assert sites.journal.exists() == (kind == "unmask")
    assert len(sites.serve()) == 4
    sites.check()


def kill(monkeypatch, module, name, after, number):
    """Kill the server before or after it calls a function for the given time."""
    whole, calls = getattr(module, name), []

    def killing(*arguments, **more):
        calls.append(name)
        if len(calls) == number and not after:
            raise Killed
        found = whole(*arguments, **more)
        if len(calls) == number and after:
            raise Killed
        return found

    monkeypatch.setattr(module, name, killing)


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("module", "name", "number"),
    [
        (journal_module, "write_whole", 2),
        (recorded, "write_whole", 5),  # the second release
        (recorded, "write_whole", 6),  # its digest
        (RemoteAdder, "_finished", 2),
        (RemoteAdder, "kept", 2),
        (RemoteAdder, "kept", 4),  # the last release: everything else is on record
    ],
)
def test_a_server_that_is_killed_while_it_writes_loses_nothing(tmp_path, monkeypatch, module, name, number, after):
    sites = Sites(tmp_path)
    with monkeypatch.context() as patch:
        kill(patch, module, name, after, number)
        sites.killed()
    kept = {path.name: path.read_bytes() for path in (tmp_path / "record").glob("*.npy")}
    assert len(sites.serve()) == 4
    assert {path.name: path.read_bytes() for path in (tmp_path / "record").glob("*.npy")}.items() >= kept.items()
    sites.check()


def test_a_server_that_is_killed_again_and_again_gets_the_sum_that_was_opened(tmp_path, monkeypatch):
    sites = Sites(tmp_path)
    for _ in range(3):
        with monkeypatch.context() as patch:
            kill(patch, RemoteAdder, "_finished", True, 1)
            sites.killed()
    answers = {}
    for node, request, reply in sites.replies:
        if unpack(request).kind == "unmask":
            answers.setdefault(node, set()).add(reply)
    assert {node: len(said) for node, said in answers.items()} == dict.fromkeys(range(1, 6), 1)
    first, *_ = sites.serve()
    sites.check()
    assert np.array_equal(first, sites.serve()[0])


def test_sites_that_come_back_finish_what_was_pending(tmp_path):
    """Too few answered for the sum to be opened, and some of them have helped already: the others' help is enough later."""
    sites = Sites(tmp_path)
    lost = {("mask", "site04"), ("unmask", "site00"), ("unmask", "site01")}
    sites.transport.fault = lambda name, kind, _: "before" if (kind, name) in lost else None
    with pytest.raises(FedDPError, match="must have the answers of at least 4 sites, got 2"):
        sites.serve()
    sites.transport.fault = lambda *_: None
    sites.transport.absent = {1}
    with pytest.raises(FedDPError, match=r"loud must be opened with at least 4 sites of its sum; wait for site00\."):
        sites.serve()
    sites.transport.absent = set()
    assert len(sites.serve()) == 4


def test_a_site_that_was_not_there_at_first_stays_out_and_one_that_was_comes_back(tmp_path):
    sites = Sites(tmp_path)
    sites.transport.absent = {5}
    sites.transport.fault = stop_at("mask", "site00", "before")
    sites.killed()
    sites.transport.absent = set()
    sites.serve()
    assert RunStates(tmp_path / "site00", Odometer(tmp_path / "site00.jsonl")).load("r1").parties == [
        "site00",
        "site01",
        "site02",
        "site03",
    ]
    assert not any(name == "site04" and kind == "share" for name, kind, _ in sites.transport.sent)


def test_a_pending_sum_is_of_its_run_and_of_its_query(tmp_path):
    sites = Sites(tmp_path)
    sites.transport.fault = stop_at("unmask", "site00", "before", 0)
    sites.killed()
    kept = journal_module.Journal(sites.journal, "r1")
    asked = Query(CLUSTER_SUMS, PUBLIC, len(PUBLIC["center"])).public
    query = {f"public.{name}": value for name, value in asked.items()}
    query |= {"release": "loud", "number": 0, "times": 1, "statistic": "cluster-sums"}
    assert kept.read(query) is not None
    assert kept.read(query | {"number": 1}) is None
    assert journal_module.Journal(sites.journal, "r2").read(query) is None
    with pytest.raises(BudgetError, match="release 'loud 0' must stay the query that sites were asked to open"):
        kept.read(query | {"public.radius": 8.0})
    with pytest.raises(BudgetError, match="release 'loud 0' must stay the query that sites were asked to open"):
        kept.read(query | {"times": 2})
    assert sites.journal.stat().st_mode & 0o077 == 0
    sites.journal.write_bytes(b"something else")
    with pytest.raises(FedDPError, match="pending must hold the sum that a server was about to open"):
        kept.read(query)
