"""Clients and servers that lie: a liar changes what one client may change, the rest goes on, and a refusal tells nothing of the data."""

import math

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.participant import PUBLIC, place_of
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from tests.network import loopback
from tests.network.talk import PLAN, POINTS, SUMS, Talk
from tests.variants import slow_after

RNG = np.random.default_rng(4)
CLIENTS = [RNG.standard_normal((20, 3)) + 5 * (i % 2) for i in range(6)]
SERVER = RNG.standard_normal((30, 3)) + 2.5
HONEST = [client for i, client in enumerate(CLIENTS) if i != 2]


def open_plan(unit, **more):
    sizes = {"client_size": 20} if unit == "client" else {}
    return prepare(Settings(2, math.inf, privacy_unit=unit, lloyd_steps=1, **sizes, **more), SERVER, len(CLIENTS))


def federation_with_a_liar(folder, lie, unit, trust=Trust.AGGREGATOR):
    """``lie(told, earlier)`` makes the third client's answer of the one it would give and of those it gave."""
    federation, transport = loopback.federation(CLIENTS, folder, trust=trust, site={"unit": PrivacyUnit(unit)})
    liar, earlier = transport.participants[3], []
    handle = liar.handle

    def lying(request):
        reply = handle(request)
        told = unpack(reply)
        if told.kind not in {"summed", "masked"}:
            return reply
        earlier.append(reply)
        return lie(told, earlier)

    liar.handle = lying
    return federation


def answer(told, values):
    return pack(told.kind, **place_of(told), values=values)


LIES = {
    "too long a vector": lambda told, _: answer(told, np.concatenate([told.fields["values"]] * 2)),
    "numbers that are not whole": lambda told, _: answer(told, told.fields["values"] + 0.5),
    "NaN": lambda told, _: answer(told, told.fields["values"] * np.nan),
    "numbers without sign": lambda told, _: answer(told, told.fields["values"].view(np.uint64)),
    "a table": lambda told, _: answer(told, told.fields["values"][:, None]),
    "more than a sum can hold": lambda told, _: answer(told, np.full(len(told.fields["values"]), np.iinfo(np.int64).max)),
    "the least number there is": lambda told, _: answer(told, np.full(len(told.fields["values"]), np.iinfo(np.int64).min)),
    "its first answer, again and again": lambda told, earlier: earlier[0] if len(earlier) > 1 else answer(told, told.fields["values"][:1]),
    "an answer without a place": lambda told, _: pack(told.kind, values=told.fields["values"]),
    "an answer for another turn": lambda told, _: pack(
        told.kind, session=told.fields["session"], turn=told.fields["turn"] - 1, values=told.fields["values"]
    ),
}


@pytest.mark.parametrize("unit", ["client", pytest.param("point", marks=pytest.mark.slow)])
@pytest.mark.parametrize("lie", slow_after(5, sorted(LIES)))
def test_what_no_honest_client_sends_is_left_out_and_the_rest_goes_on(tmp_path, lie, unit):
    prepared = open_plan(unit, method="paper")
    found = run(federation_with_a_liar(tmp_path, LIES[lie], unit), prepared, seed=0)
    assert np.array_equal(found.centers, run(InMemoryFederation(HONEST), prepared, seed=0).centers)


@pytest.mark.parametrize("method", ["paper", pytest.param("refined", marks=pytest.mark.slow)])
def test_a_client_that_claims_to_be_many_counts_as_one(tmp_path, method):
    """The server sees a plain answer, and one client's has a bounded norm: both norms are held to, whatever law the noise has."""
    for number, times in enumerate((2, 1000)):
        (tmp_path / str(number)).mkdir()
        prepared = open_plan("client", method=method, noise="gaussian" if times == 2 else "auto")

        def lie(told, _, times=times):
            values = told.fields["values"]
            longest = max(np.linalg.norm(values), 1.0)
            return answer(told, (values * (times * 2.0**33 / longest)).astype(np.int64))

        found = run(federation_with_a_liar(tmp_path / str(number), lie, "client"), prepared, seed=0)
        assert np.array_equal(found.centers, run(InMemoryFederation(HONEST), prepared, seed=0).centers)


def test_an_answer_that_is_long_in_one_norm_alone_is_left_out(tmp_path, server_log):
    prepared = open_plan("client", method="paper")
    release = prepared.plan["weights"]

    def lie(told, _):
        values = told.fields["values"]
        if len(values) != len(SERVER):
            return answer(told, values)
        spread = np.full(len(values), int(release.integer_sensitivity / math.sqrt(len(values)) * 0.99))
        assert np.linalg.norm(spread) < release.integer_sensitivity < spread.sum()
        return answer(told, spread)

    federation = federation_with_a_liar(tmp_path, lie, "client")
    run(federation, prepared, seed=0)
    assert any(line.startswith("weights: site02 is missing: sent more than one client may") for line in server_log())


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", ["paper", "refined"])
@pytest.mark.parametrize("size", [20, *(pytest.param(size, marks=pytest.mark.slow) for size in (0, 400))])
def test_data_at_the_end_of_the_numbers_move_no_more_than_one_client_may(tmp_path, unit, method, size):
    """A client may hold 1e300, NaN and infinities: its rows are clipped or dropped, and the others' clusters stay where they are."""
    wild = np.resize([1e300, -1e300, 5e-324, 1e160, 0.0, np.inf, -np.inf, np.nan, 1.0], (size, 3))
    prepared = open_plan(unit, method=method)
    clients = [wild if i == 2 else client for i, client in enumerate(CLIENTS)]
    federation, _ = loopback.federation(clients, tmp_path, trust=Trust.AGGREGATOR, site={"unit": PrivacyUnit(unit)})
    found = run(federation, prepared, seed=0)
    assert np.isfinite(found.centers).all()
    reach = np.linalg.norm(SERVER, axis=1).max() * 4
    assert np.linalg.norm(found.centers, axis=1).max() <= reach


@pytest.mark.slow  # A whole refined run under secure sum.
def test_a_masked_answer_cannot_be_checked_but_harms_only_the_sum_it_is_in(tmp_path):
    """Under secure-sum a server that could check one client's answer could read it. A liar can spoil a release; nothing else breaks."""
    prepared = open_plan("point", method="refined")

    def lie(told, _):
        return answer(told, told.fields["values"] + np.uint64(2**40))

    found = run(federation_with_a_liar(tmp_path, lie, "point", Trust.SECURE_SUM), prepared, seed=0)
    assert np.isfinite(found.centers).all()
    assert found.privacy.ledger == tuple(prepared.plan.ledger_rows())


SHAPES = {
    "a center for each point": ("outer-product", {"center": np.zeros((60, 3)), "radius": 9.0}),
    "a center for each point, of one number": ("outer-product", {"center": np.zeros((60, 1)), "radius": 9.0}),
    "a center of one row": ("outer-product", {"center": np.zeros((1, 3)), "radius": 9.0}),
    "a center of one number": ("outer-product", {"center": np.zeros(1), "radius": 9.0}),
    "a radius for each point": ("outer-product", {"center": np.zeros(3), "radius": np.full(60, 9.0)}),
    "no centers": ("cluster-sums", {"center": np.zeros(3), "radius": 9.0, "centers": np.zeros((0, 3))}),
    "centers in a cube": ("cluster-sums", {"center": np.zeros(3), "radius": 9.0, "centers": np.zeros((2, 3, 1))}),
    "text": ("outer-product", {"center": "zero", "radius": 9.0}),
    "a list": ("outer-product", {"center": [0.0, 0.0, 0.0], "radius": 9.0}),
    "a number without end": ("outer-product", {"center": np.zeros(3), "radius": 10**400}),
    "a table of lows": ("grid-counts", {"low": np.zeros((60, 3)), "high": np.ones((60, 3)), "cells": np.ones(3)}),
    "no lows": ("grid-counts", {"low": np.zeros((0, 3)), "high": np.ones((0, 3)), "cells": np.ones(3)}),
    "a grid without end": ("grid-counts", {"low": np.zeros(3), "high": np.ones(3), "cells": np.full(3, 2.0**20)}),
    "distances from each point's own center": ("point-distances", {"center": np.zeros((60, 3)), "edges": np.ones(2)}),
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_query_of_an_odd_shape_is_answered_alike_whatever_the_points_are(tmp_path, shape):
    """An array of as many rows as there are points would go with them one by one; and whether it fits would tell how many they are."""
    name, public = SHAPES[shape]
    replies = set()
    for number, rows in enumerate((0, 1, 59, 60, 61)):
        (tmp_path / str(number)).mkdir()
        talk = Talk(tmp_path / str(number))
        talk.client = loopback.participant("ward", np.resize(POINTS, (rows, 3)), talk.folder, **talk.site)
        talk.agree()
        release = "outer product" if name == "outer-product" else "sums" if name == "cluster-sums" else "weights"
        if release in PLAN:
            asked = {"release": release, "number": 0, "statistic": name} | {PUBLIC + key: value for key, value in public.items()}
            reply = talk.say("sum", **asked)
            assert reply.kind in {"refused", "failed"}, reply
            replies.add((reply.kind, reply.fields["reason"]))
    assert len(replies) == 1


def test_rows_do_not_get_arguments_of_their_own():
    """The statistics themselves refuse what would treat a point by its place."""
    from feddp_kmeans.errors import FedDPError
    from tests.strategies import one_client

    batch = one_client(POINTS)
    for name, public in SHAPES.values():
        with pytest.raises(FedDPError):
            REGISTRY[name](batch, **public)


def test_a_server_cannot_keep_a_client_busy_with_a_plan(tmp_path):
    talk = Talk(tmp_path, epsilon=math.inf)
    row = talk.terms.to_dict()["releases"][0]
    many = [
        row | {"release": f"r{i}", "noise_multiplier": 0.01 + 0.001 * i, "times": 10_000, "mechanism": "laplace", "l1_sensitivity": 1.0}
        for i in range(100)
    ]
    reply = talk.agree(releases=many, epsilon=1e9)
    assert reply.kind == "refused"
    assert "must state enough noise to add up" in reply.fields["reason"]
    assert talk.agree().kind == "agreed"


def test_a_replayed_request_is_answered_once(tmp_path):
    talk = Talk(tmp_path)
    talk.agree()
    fields = {"run": "r1", "session": talk.session, "turn": 1} | SUMS
    fields |= {"release": "sums", "number": 0, "times": 1, "statistic": "cluster-sums"}
    request = pack("sum", **fields)
    assert unpack(talk.client.handle(request)).kind == "summed"
    assert "old or repeated" in unpack(talk.client.handle(request)).fields["reason"]


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "x" * 201])
def test_a_client_whose_name_could_fool_a_reader_is_left_out(tmp_path, name, server_log):
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=Trust.AGGREGATOR)
    transport.participants[9] = loopback.participant("late", CLIENTS[0], tmp_path)
    transport.participants[9].name = name
    from feddp_kmeans.network.remote import RemoteFederation

    again = RemoteFederation(transport, trust=Trust.AGGREGATOR).connect()
    assert again.n_clients == federation.n_clients == len(CLIENTS)
    assert any("the name of a site must be 1 to 200 printable characters" in line for line in server_log())
