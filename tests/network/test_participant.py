"""The client's half: it answers what it agreed to, once, and nothing else, whatever the server says."""

import math
import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.network.participant import PUBLIC
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.run_state import RunStates
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.paper_sums import CLUSTER_COUNTS, CLUSTER_SUMS
from feddp_kmeans.statistics.query import Query, query_digest
from tests.network import loopback
from tests.network.talk import BALL, POINTS, RNG, SERVER, SUMS, Talk, refused
from tests.statistics.cases import CLIENT_CASES, DIMENSION


def test_a_client_answers_what_it_agreed_to(tmp_path, site_log):
    talk = Talk(tmp_path)
    assert talk.agree().kind == "agreed"
    reply = talk.query()
    assert reply.kind == "summed"
    assert reply.fields["values"].shape == (6,)
    assert site_log()[0].startswith("agreed to run r1: epsilon 1, delta 1e-06, protects each point, aggregator; releases: outer product")


def test_all_that_a_site_holds_is_one_client(tmp_path):
    plan = prepare(Settings(2, 1.0, method="paper", privacy_unit="client", client_size=30, noise="gaussian"), SERVER, 3).plan
    where = SUMS | {PUBLIC + "bound": 1.5}
    asked = {"release": "weights", "number": 0, "statistic": "client-cluster-counts"} | where
    answers = []
    for number, parts in enumerate(([POINTS], np.array_split(POINTS, 4))):
        (tmp_path / str(number)).mkdir()
        talk = Talk(tmp_path / str(number), plan=plan)
        talk.client._data = lambda parts=parts: ArraySilo(list(parts), ("x0", "x1", "x2"))
        assert talk.agree().kind == "agreed"
        answers.append(talk.say("sum", **asked).fields["values"].tolist())
    assert answers[0] == answers[1]


def test_nothing_is_answered_before_a_plan(tmp_path):
    talk = Talk(tmp_path)
    talk.session, talk.turn = os.urandom(32), 0
    refused(talk.query(), "a plan must be agreed to before anything is asked for")


@pytest.mark.parametrize(
    ("site", "match"),
    [
        ({"epsilon": 0.5}, "epsilon must be at most 0.5, got a plan that spends"),
        ({"delta": 1e-9}, "delta must be at most 1e-09, got 1e-06"),
        ({"unit": PrivacyUnit.CLIENT}, "the plan must protect each client"),
        ({"allow_aggregator": False}, "trust must be secure-sum"),
    ],
)
def test_a_plan_beyond_the_clients_own_limits_is_refused_and_not_booked(tmp_path, site, match):
    talk = Talk(tmp_path, **site)
    refused(talk.agree(), match)
    refused(talk.query(), "a plan must be agreed to")
    assert Odometer(tmp_path / "ward.jsonl").entries() == []


def test_a_budget_that_is_spent_stays_spent_whatever_run_it_is_and_after_a_restart(tmp_path):
    assert Talk(tmp_path, epsilon=1.1).agree().kind == "agreed"
    other = Talk(tmp_path, epsilon=1.1, run="r2")
    refused(other.agree(), "must stay within epsilon 1.1; with this run it is")
    refused(other.query(), "a plan must be agreed to")


def test_the_terms_of_a_run_cannot_be_changed_once_agreed(tmp_path):
    talk = Talk(tmp_path, epsilon=math.inf)
    talk.agree()
    more = prepare(Settings(2, 4.0, method="paper", lloyd_steps=2), SERVER, 3).plan
    other = Talk(tmp_path, plan=more, epsilon=math.inf)
    refused(other.agree(), "run r1 must keep the terms that this client agreed to")
    assert len(Odometer(tmp_path / "ward.jsonl").entries()) == 1


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"release": "age"}, "the plan holds no release named 'age'"),
        ({"number": 1}, "release 'outer product' must be asked for at most 1 times, as planned, got other numbers"),
        ({"number": -1}, "at most 1 times, as planned"),
        ({"statistic": "rows"}, "statistic must be one of the registry, got 'rows'"),
        (
            {"statistic": "client-outer-product", PUBLIC + "bound": 9.0},
            "privacy unit must be 'client' for statistic 'client-outer-product'",
        ),
        ({"release": "weights"}, "noise of release 'weights' must be Gaussian for statistic 'outer-product'"),
        ({"release": "sums"}, "integer_sensitivity of release 'sums' must be at least 4294967296"),
        (
            {PUBLIC + "radius": math.pi * 1e300, PUBLIC + "center": np.array([0, np.nan, 0])},
            "center must be finite, got nan",
        ),
        ({PUBLIC + "radius": -1.0}, "radius must be from 1e-140 to 1.79769e+308, got -1.0"),
        ({"run": "r9"}, "a plan must be agreed to"),
        ({"run": "../../etc/passwd"}, "run must be 1 to 64 letters and digits"),
        ({"session": b"other"}, "a request must be of the current session"),
        ({"turn": "1"}, "field 'turn' of a 'sum' message must be int, got str"),
    ],
)
def test_a_query_that_is_not_in_the_plan_is_refused(tmp_path, changed, match):
    talk = Talk(tmp_path)
    talk.agree()
    refused(talk.query(**changed), match)
    assert talk.query().kind == "summed"


def test_more_values_than_planned_are_refused(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    wide = SUMS | {PUBLIC + "centers": np.zeros((5, 3))}
    refused(talk.say("sum", release="sums", number=0, statistic="cluster-sums", **wide), "must hold at most 6 values, got 15")


@pytest.mark.parametrize("public", [{"projection": np.full((3, 1), 50.0)}, {"centers": np.full((2, 3), 1e30)}])
def test_arguments_that_would_make_arithmetic_inexact_are_refused(tmp_path, public):
    talk = Talk(tmp_path)
    talk.agree()
    asked = SUMS | {PUBLIC + name: value for name, value in public.items()}
    refused(talk.say("sum", release="sums", number=0, statistic="cluster-sums", **asked), "must")


def test_arguments_that_a_statistic_does_not_know_are_refused(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    refused(talk.query(**{PUBLIC + "shell": 1.0}), "public arguments must be ['center', 'radius'], got 'shell'")
    assert talk.query().kind == "summed"


def test_a_release_keeps_its_query(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    first = talk.query()
    again = talk.query()
    assert np.array_equal(first.fields["values"], again.fields["values"])
    refused(talk.query(**{PUBLIC + "radius": 8.0}), "release 'outer product 0' must stay the query that it was")


def test_an_exact_sum_is_not_given_to_a_server_that_agreed_to_masked_ones(tmp_path):
    plan = prepare(Settings(2, 1.0, method="paper", noise="gaussian", lloyd_steps=2), SERVER, 3).plan
    talk = Talk(tmp_path, plan, Trust.SECURE_SUM)
    assert talk.agree().kind == "agreed"
    refused(talk.query(), "trust must be secure-sum, as agreed, got a request of aggregator")


def test_queries_are_told_apart_by_statistic_names_shapes_and_bits():
    ones = np.ones((2, 3))
    queries = [
        (CLUSTER_COUNTS, {"centers": ones}),
        (CLUSTER_SUMS, {"centers": ones}),
        (CLUSTER_SUMS, {"origins": ones}),
        (CLUSTER_SUMS, {"centers": ones.ravel()}),
        (CLUSTER_SUMS, {"centers": ones.T}),
        (CLUSTER_SUMS, {"centers": np.nextafter(ones, 2.0)}),
        (CLUSTER_SUMS, {"centers": ones, "projection": None}),
        (CLUSTER_SUMS, {"centers": ones, "projection": np.empty(0)}),
        (CLUSTER_SUMS, {"centers": ones.astype(np.int64)}),
        (CLUSTER_SUMS, {"centers": ones.astype(np.float32)}),
        (CLUSTER_SUMS, {"centers": ones, "radius": 1}),
        (CLUSTER_SUMS, {"centers": ones, "radius": np.ones(())}),
        (CLUSTER_SUMS, {"centers": ones, "radius": 1.0}),
    ]
    assert len({query_digest(statistic, public) for statistic, public in queries}) == len(queries)
    assert query_digest(*queries[-1]) == query_digest(CLUSTER_SUMS, {"radius": np.float64(1), "centers": np.ones((2, 3), order="F")})


TOGETHER = Plan(
    PrivacyUnit.POINT,
    1.0,
    1e-6,
    tuple(Release(name, law, 1.0, 1.0, 40.0, 9, 6) for name, law in (("often", Mechanism.GAUSSIAN), ("laplace", Mechanism.LAPLACE))),
)
TIMES = [10**9, 7, 0, -1, 2**70, 2.0, True, None, "2", [2], {"times": 2}, b"2", np.array([2])]


def together(talk, number=0, times=2, release="often", **changed):
    asked = {"release": release, "number": number, "times": times, "statistic": "cluster-counts"}
    return talk.say("sum", **asked | SUMS | changed)


def opened_talk(folder, **changed):
    talk = Talk(folder, plan=replace(TOGETHER, **changed), unit=changed.get("unit", PrivacyUnit.POINT))
    assert talk.agree().kind == "agreed"
    return talk


@pytest.mark.parametrize("times", TIMES, ids=repr)
def test_releases_made_as_one_must_be_a_planned_number_of_them(tmp_path, times):
    """Refused before the points are read, and nothing is spent: all six releases can still be asked for."""
    talk = opened_talk(tmp_path)
    data, read = talk.client._data, []
    talk.client._data = lambda: read.append(1) or data()
    reply = together(talk, times=times)
    assert reply.kind == "refused"
    assert "times" in reply.fields["reason"]
    assert read == []
    assert RunStates(tmp_path / "ward", Odometer(tmp_path / "ward.jsonl")).load("r1").sums == []
    assert together(talk, times=6).kind == "summed"


def test_releases_made_as_one_are_not_nan_in_number(tmp_path):
    talk = opened_talk(tmp_path)
    handle = talk.client.handle
    talk.client.handle = lambda request: handle(request.replace(b'"times": 2.5', b'"times": NaN'))
    assert unpack(pack("sum", times=2.5).replace(b'"times": 2.5', b'"times": NaN')).fields["times"] is not None
    refused(together(talk, times=2.5), "field 'times' of a 'sum' message must be int, got float")


def test_releases_are_made_in_no_more_sums_than_planned(tmp_path):
    """The error of the sampler and the keys of a secure sum are counted for this many; the same sum again is no new one."""
    often = replace(TOGETHER.releases[0], sums=2)
    talk = opened_talk(tmp_path, releases=(often,))
    assert together(talk, 0, times=1).kind == "summed"
    assert together(talk, 1, times=2).kind == "summed"
    assert together(talk, 1, times=2).kind == "summed"
    refused(together(talk, 3, times=1), "release 'often' must be made in at most 2 sums, as planned, got one more")


def test_only_gaussian_noise_on_all_clients_is_made_as_one(tmp_path):
    talk = opened_talk(tmp_path)
    refused(together(talk, release="laplace"), "release 'laplace' must be made one by one")
    assert together(talk, release="laplace", times=1).kind == "summed"
    (tmp_path / "sampled").mkdir()
    sampled = opened_talk(tmp_path / "sampled", unit=PrivacyUnit.CLIENT, sampling_rate=0.5, releases=TOGETHER.releases[:1])
    asked = {"release": "often", "number": 0, "statistic": "client-sizes"}
    refused(sampled.say("sum", **asked, times=2), "release 'often' must be made one by one")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 7), st.integers(-1, 8), st.booleans()), max_size=12))
def test_no_number_of_a_release_is_given_twice(requests):
    """Whatever is asked in whatever order, also after restarts, what was answered never takes a number twice or one beyond the plan."""
    with tempfile.TemporaryDirectory() as folder:
        talk, taken = opened_talk(Path(folder)), {}
        for number, times, restart in requests:
            if restart:
                talk.start()
                talk.agree()
            if together(talk, number, times).kind == "summed":
                for one in range(number, number + times):
                    assert 0 <= one < 6
                    assert taken.setdefault(one, (number, times)) == (number, times)
            elif 0 <= number < number + times <= 6:
                assert any(taken.get(one, (number, times)) != (number, times) for one in range(number, number + times))


def test_a_message_that_is_repeated_is_refused_also_after_a_restart(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    message = {"release": "outer product", "number": 0, "statistic": "outer-product"} | BALL
    assert talk.say("sum", **message).kind == "summed"
    refused(talk.say("sum", **message, turn=1), "got one that is old or repeated")
    talk.start()
    refused(talk.say("sum", **message, turn=1), "got one that is old or repeated")
    opened = talk.session
    assert talk.agree().kind == "agreed"
    refused(talk.say("sum", **message, session=opened), "got one that is old or repeated")
    refused(talk.ask("agree", terms=talk.terms.to_dict(), session=opened, rounds=1), "a session must be new")


@pytest.mark.parametrize(
    "content", [b"", b"feddp1\n", b"feddp2\n", b"GET / HTTP/1.1", pack("shutdown"), pack("agree"), pack("agree", terms={}), pack("sum")]
)
def test_a_request_that_is_none_is_refused(tmp_path, content):
    talk = Talk(tmp_path)
    assert unpack(talk.client.handle(content)).kind == "refused"


def test_two_requests_at_once_are_answered_one_after_the_other(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    data, replies = talk.client._data, []
    talk.client._data = lambda: (time.sleep(0.2), data())[1]
    place = {"run": talk.terms.run, "session": talk.session, "turn": 1}
    same = {"kind": "sum", "release": "outer product", "number": 0, "times": 1, "statistic": "outer-product"} | place | BALL
    threads = [threading.Thread(target=lambda: replies.append(talk.ask(**same).kind)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(replies) == ["refused", "summed"]


@pytest.mark.parametrize("statistic", [statistic for statistic in REGISTRY.values() if statistic.whole_clients], ids=lambda one: one.name)
def test_several_files_of_a_data_holder_are_one_client(statistic):
    public = next(public for case, public, *_ in CLIENT_CASES if case is statistic)
    rows = RNG.standard_normal((60, DIMENSION))
    one, several = (ArraySilo(parts, tuple("wxyz")) for parts in ([rows], np.split(rows, [10, 30])))
    assert np.array_equal(*(data.as_one_client().exact_sum(Query(statistic, public, DIMENSION)) for data in (one, several)))


MARK = "Ada Lovelace"


def quoting(kind):
    """Return an error as a reader would raise it: it quotes the data."""
    return kind(f"could not convert {MARK!r} to a number")


class Breaking:
    """Data that break when they are added up, in this or that place."""

    def __init__(self, error, columns=("x", "y", "z")):
        self.error, self.given = error, columns

    @property
    def columns(self):
        if self.given is None:
            raise self.error
        return self.given

    def as_one_client(self):
        return self

    def exact_sum(self, query, cohort=None):
        raise self.error


@pytest.mark.parametrize("kind", [ValueError, FedDPError, BudgetError, KeyError, OSError, RecursionError])
@pytest.mark.parametrize("stage", ["opening", "columns", "adding up", "saving"])
def test_once_the_data_are_touched_only_fixed_sentences_leave_and_the_log_quotes_nothing(tmp_path, kind, stage, monkeypatch, site_log):
    talk = Talk(tmp_path)
    talk.agree()

    def broken(*_):
        raise quoting(kind)

    if stage == "saving":
        monkeypatch.setattr(RunStates, "save", broken)
    else:
        data = Breaking(quoting(kind), None if stage == "columns" else ("x", "y", "z"))
        talk.client._data = broken if stage == "opening" else lambda: data
    reply = talk.query()
    assert (reply.kind, reply.fields["reason"]) == ("failed", "its data or its program failed; the reason is in its own log")
    if stage in {"opening", "columns"}:
        reply = talk.ask("describe", nonce=b"1")
        assert (reply.kind, reply.fields["reason"]) == ("failed", "its data cannot be read; the reason is in its own log")
    assert not any(MARK in line for line in site_log())
    assert any(line.startswith(f"failed at sum: {kind.__name__} in network/participant.py, line ") for line in site_log())


@pytest.mark.parametrize("kind", [ValueError, FedDPError, BudgetError])
def test_a_masked_sum_that_breaks_says_nothing_either(tmp_path, kind, server_log, site_log):
    federation, transport = secure(tmp_path)
    transport.participants[2]._data = lambda: Breaking(quoting(kind))
    run(federation, OPEN, seed=0)
    assert any(
        "site01 is missing: it failed: its data or its program failed; the reason is in its own log" in line for line in server_log()
    )
    assert site_log()
    assert not any(MARK in line for line in server_log() + site_log())


def test_what_is_wrong_with_a_query_is_said_before_the_data_are_touched(tmp_path):
    """A refusal names its rule: it cannot depend on the data, because it comes first."""
    talk = Talk(tmp_path)
    talk.agree()
    talk.client._data = lambda: Breaking(quoting(ValueError))
    wide = SUMS | {PUBLIC + "centers": np.zeros((5, 3))}
    refused(talk.say("sum", release="sums", number=0, statistic="cluster-sums", **wide), "must hold at most 6 values, got 15")
    refused(talk.query(number=1), "at most 1 times, as planned")


def test_a_kind_of_request_that_is_none_is_not_printed_as_it_came(tmp_path, site_log):
    talk = Talk(tmp_path)
    talk.client.handle(pack("\x1b[2J"))
    assert site_log() == ["refused a request: a request must be of a known kind, got '\\x1b[2J'."]


def secure(tmp_path, fault=lambda *_: None, **more):
    clients = [POINTS[:20], POINTS[20:40], POINTS[40:50], POINTS[50:]]
    return loopback.federation(clients, tmp_path, fault=fault, **more)


OPEN = prepare(Settings(2, math.inf, method="paper"), SERVER, 4)


def spied(tmp_path, kind, number=0, **more):
    """Run until the given message of a kind is about to reach the first client; return it and the client."""
    federation, transport = secure(tmp_path, **more)
    seen = []

    def fault(name, this, turn):
        if this == kind and name == "site00":
            seen.append(turn)
            if len(seen) > number:
                raise InterruptedError

    transport.fault = fault
    with pytest.raises(InterruptedError):
        run(federation, OPEN, seed=0)
    request = next(request for name, this, request in reversed(transport.sent) if name == "site00") if transport.sent else b""
    return transport.participants[1], unpack(request), transport


def altered(client, request, **changed):
    return unpack(client.handle(pack(request.kind, **dict(request.fields) | changed)))


def test_too_few_survivors_and_unknown_ones_are_not_unmasked(tmp_path):
    client, request, transport = spied(tmp_path, "unmask")
    request = unpack(pack("unmask", **transport_fields(transport)))
    few = ["site00", "site01"]
    refused(altered(client, request, survivors=few), "survivors must be at least 3, got 2")
    refused(altered(client, request, survivors=["site00", "site01", "zoe"]), "survivors must be parties of this session")
    refused(altered(client, request, survivors=["site01", "site02", "site03"]), "survivors must include 'site00' itself")
    assert altered(client, request).kind == "unmasked"


def test_the_same_round_is_not_unmasked_the_other_way(tmp_path):
    client, _, transport = spied(tmp_path, "unmask")
    request = unpack(pack("unmask", **transport_fields(transport)))
    assert altered(client, request).kind == "unmasked"
    other = altered(client, request, survivors=["site00", "site01", "site02"], turn=9)
    refused(other, "which was not unmasked before")


def test_a_release_that_was_opened_is_not_masked_again(tmp_path):
    client, _, transport = spied(tmp_path, "unmask")
    opening = transport_fields(transport)
    _, _, mask = next(entry for entry in reversed(transport.sent) if entry[:2] == ("site00", "mask"))
    again = dict(unpack(mask).fields) | {"turn": opening["turn"] + 1, "round": opening["round"] + 1}
    assert unpack(client.handle(pack("unmask", **opening))).kind == "unmasked"
    refused(unpack(client.handle(pack("mask", **again))), "must be made only once")


def transport_fields(transport):
    """Return the unmask request that the server was about to send."""
    _, _, mask = next(entry for entry in reversed(transport.sent) if entry[1] == "mask" and entry[0] == "site00")
    asked = unpack(mask).fields
    names = [f"site{i:02d}" for i in range(4)]
    turn = {"run": asked["run"], "session": asked["session"], "turn": asked["turn"] + 1}
    return turn | {"round": asked["round"], "survivors": names, "confirmations": {}}


def test_a_neighbour_whose_key_is_unknown_is_refused(tmp_path, server_log):
    keys = {f"site{i:02d}": new_identity() for i in range(4)}
    roster = {name: key.public_key() for name, key in keys.items()}
    site = lambda name: {"identity": keys[name], "roster": roster}  # noqa: E731
    federation, transport = secure(tmp_path, site=site)
    stolen = transport.participants[4]
    stolen._identity = new_identity()
    with pytest.raises(FedDPError, match="the shares of keys must have the answers of at least 3 sites, got 0"):
        run(federation, OPEN, seed=0)
    assert any("the advert of 'site03' must be signed with the key of the roster" in line for line in server_log())


def test_a_seed_is_only_for_those_who_allow_a_simulation(tmp_path):
    federation, transport = secure(tmp_path, site={"allow_simulation": False})
    with pytest.raises(FedDPError, match="noise must be cryptographic, got a run with a known seed"):
        run(federation, prepare(Settings(2, 1.0), SERVER, 4), seed=0)
    assert run(RemoteFederation(transport).connect(), prepare(Settings(2, 1.0), SERVER, 4)).privacy.secure


def test_secrets_are_readable_by_their_owner_alone(tmp_path):
    spied(tmp_path, "unmask")
    files = [path for path in tmp_path.rglob("*.json") if path.parent.name.startswith("site")]
    assert len(files) == 4
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
