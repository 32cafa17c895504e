"""The server's half: sums over whoever answers, nothing below the threshold, and a restart that pays for nothing twice."""

import math

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import carry_out, run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.participant import place_of
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network import loopback
from tests.variants import slow_after

RNG = np.random.default_rng(4)
CLIENTS = [RNG.standard_normal((n, 3)) + 5 * (i % 2) for i, n in enumerate((40, 30, 20, 50, 10))]
SERVER = RNG.standard_normal((30, 3)) * 3 + 2
OPEN = prepare(Settings(2, math.inf, method="paper"), SERVER, len(CLIENTS))
MODES = [Trust.AGGREGATOR, Trust.SECURE_SUM]
STAGES = {Trust.AGGREGATOR: ["agree", "sum"], Trust.SECURE_SUM: ["agree", "share", "mask", "unmask"]}


def lost(kinds, names=("site01",), when="before", turns=None):
    return lambda name, kind, turn: when if kind in kinds and name in names and (turns is None or turn in turns) else None


def centers(clients, prepared=OPEN):
    return run(InMemoryFederation(clients), prepared, seed=0).centers


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("trust", "kind"), [(trust, kind) for trust in MODES for kind in STAGES[trust]])
def test_a_client_that_is_lost_in_a_stage_is_missing_and_the_rest_is_exact(tmp_path, trust, kind, when):
    federation, _ = loopback.federation(CLIENTS, tmp_path, trust=trust, fault=lost([kind], when=when))
    found = run(federation, OPEN, seed=0)
    without = [c for i, c in enumerate(CLIENTS) if i != 1]
    assert np.array_equal(found.centers, centers(CLIENTS if kind == "unmask" else without))


@pytest.mark.parametrize(("trust", "kind"), [(trust, kind) for trust in MODES for kind in STAGES[trust]])
def test_below_the_threshold_nothing_is_released_and_the_round_is_booked(tmp_path, trust, kind, server_log):
    names = ["site00", "site03"]
    federation, _ = loopback.federation(CLIENTS, tmp_path, trust=trust, fault=lost([kind], names), threshold=4)
    with pytest.raises(FedDPError, match="must have the answers of at least 4 sites, got 3; nothing was released") as stopped:
        carry_out(opened := federation.open(OPEN.plan, 0), OPEN)
    assert "site00 is missing: it did not answer in time; site03 is missing" in str(stopped.value)
    assert [row["release"] for row in opened.ledger.rows()] == ["outer product"]
    assert [line for line in server_log() if "releases made" in line] == []
    assert [line.split(": ")[1] for line in server_log() if "is missing" in line] == [f"{name} is missing" for name in names]


@pytest.mark.parametrize("trust", MODES)
def test_a_client_that_comes_back_is_in_the_next_sum(tmp_path, trust):
    last = {"mask": 5, "sum": 2}  # the round of the weights
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=trust, fault=lost(last, turns=set(last.values())))
    run(federation, OPEN, seed=0)
    answered = [kind for name, kind, _ in transport.lengths if name == "site01" and kind in last]
    assert len(answered) == len(OPEN.plan.releases) - (trust is Trust.AGGREGATOR) - (trust is Trust.SECURE_SUM)


@pytest.mark.parametrize("trust", MODES)
def test_a_client_that_comes_back_as_another_node_is_known_again(tmp_path, trust, server_log):
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=trust)

    def restart(name, kind, turn):
        if turn == 2 and 7 not in transport.participants:
            transport.participants[7] = transport.participants[2]
            transport.absent.add(2)

    transport.fault = restart
    run(federation, OPEN, seed=0)
    assert server_log().count("site01 is back as another node") == 1


def test_a_second_node_of_a_data_holder_and_a_stranger_are_left_out(tmp_path, server_log):
    _, transport = loopback.federation(CLIENTS[:3], tmp_path)
    twin = loopback.participant("site00", CLIENTS[0], tmp_path)
    transport.participants[8] = twin
    other = RemoteFederation(transport).connect()
    assert other.n_clients == 3
    assert "a second node of site00 is left out: one data holder counts once" in server_log()
    transport.participants[9] = loopback.participant("late", CLIENTS[4], tmp_path)
    run(other, OPEN, seed=0)
    assert any(line.startswith("late is left out") for line in server_log())


def test_other_columns_and_broken_data_are_left_out_and_the_data_are_not_quoted(tmp_path, server_log):
    def broken():
        raise FedDPError("column 'name' of patients.csv must be numeric, got 'Ada Lovelace'.")

    _, transport = loopback.federation(CLIENTS, tmp_path)
    transport.participants[8] = loopback.participant("wide", np.ones((3, 7)), tmp_path)
    transport.participants[9] = loopback.participant("broken", CLIENTS[0], tmp_path)
    transport.participants[9]._data = broken
    again = RemoteFederation(transport).connect()
    assert again.n_clients == 5
    assert any(line.startswith("wide is left out: its columns are") for line in server_log())
    assert any("its data cannot be read; the reason is in its own log" in line for line in server_log())
    assert not any("Lovelace" in line for line in server_log())


@pytest.mark.parametrize(
    "answer",
    [
        lambda told: pack("summed", **place_of(told), values=told.fields["values"][:-1]),
        lambda told: pack("summed", **place_of(told), values=told.fields["values"].astype(np.float64) * np.nan),
        lambda told: pack("summed", **place_of(told), values=np.full(len(told.fields["values"]), 2**40)),
        lambda told: pack("summed", **place_of(told)),
        lambda told: pack("masked", **place_of(told), values=told.fields["values"]),
        lambda told: b"\x80\x04nonsense",
        lambda told: pack("failed", reason="x" * 10_000),
    ],
)
def test_an_answer_that_no_honest_client_gives_is_left_out_and_the_rest_goes_on(tmp_path, answer):
    prepared = prepare(Settings(2, math.inf, privacy_unit="client", method="paper"), SERVER, len(CLIENTS))
    site = {"unit": PrivacyUnit.CLIENT}
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=Trust.AGGREGATOR, site=site)
    liar = transport.participants[3]
    handle = liar.handle

    def lying(request):
        reply = handle(request)
        return answer(unpack(reply)) if unpack(reply).kind == "summed" else reply

    liar.handle = lying
    found = run(federation, prepared, seed=0)
    assert np.array_equal(found.centers, centers([c for i, c in enumerate(CLIENTS) if i != 2], prepared))


@pytest.mark.parametrize("shares", [{}, {"site00": "no digits"}, {"site00": 7}, [1]])
def test_a_client_whose_shares_cannot_be_read_is_its_own_loss(tmp_path, shares):
    federation, transport = loopback.federation(CLIENTS, tmp_path)
    liar = transport.participants[3]
    handle = liar.handle

    def lying(request):
        asked = unpack(request)
        return pack("shared", **place_of(asked), shares=shares) if asked.kind == "share" else handle(request)

    liar.handle = lying
    found = run(federation, OPEN, seed=0)
    assert np.array_equal(found.centers, centers([c for i, c in enumerate(CLIENTS) if i != 2]))


@pytest.mark.parametrize("trust", MODES)
@pytest.mark.parametrize("turn", slow_after(2, [2, 6, 1, 4]))
def test_a_server_that_starts_again_goes_on_without_paying_again(tmp_path, trust, turn):
    def stop(_, kind, number):
        if number == turn and kind in {"share", "mask", "sum"}:
            raise KeyboardInterrupt

    prepared = prepare(Settings(2, 8.0, method="paper", noise="gaussian", lloyd_steps=2), SERVER, len(CLIENTS))
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=trust, fault=stop, run="r1")
    try:
        run(RecordedFederation(federation, tmp_path / "record"), prepared)
    except KeyboardInterrupt:
        kept = len(list((tmp_path / "record").glob("*.npy")))
    else:
        pytest.fail("the server was not stopped")
    transport.fault = lambda *_: None
    transport.sent.clear()
    again = RemoteFederation(transport, trust=trust, run="r1").connect()
    run(RecordedFederation(again, tmp_path / "record"), prepared)
    releases = sum(r.times for r in prepared.plan.releases)
    asked = sum(kind in {"mask", "sum"} for name, kind, _ in transport.sent if name == "site00")
    assert asked == releases - kept
    assert [len(Odometer(tmp_path / f"site{i:02d}.jsonl").entries()) for i in range(5)] == [1] * 5


def test_a_sum_that_was_opened_and_lost_without_a_journal_is_not_opened_again(tmp_path):
    def stop(name, kind, turn):
        # The last client has helped to open the first sum, and the server stops before it keeps it.
        return "after" if kind == "unmask" and turn == 3 else None

    prepared = prepare(Settings(2, 8.0, lloyd_steps=0), SERVER, len(CLIENTS))
    federation, transport = loopback.federation(CLIENTS, tmp_path, fault=stop, run="r1")
    with pytest.raises(FedDPError, match="looks 1 to 120 must have the answers of at least 4 sites, got 0"):
        run(RecordedFederation(federation, tmp_path / "record"), prepared)
    transport.fault = lambda *_: None
    again = RemoteFederation(transport, run="r1").connect()
    with pytest.raises(FedDPError, match="release 'looks 0' must be made only once, got a request to make it again"):
        run(RecordedFederation(again, tmp_path / "record"), prepared)


@pytest.mark.parametrize(("trust", "kind"), [(Trust.AGGREGATOR, "sum"), (Trust.SECURE_SUM, "mask")])
def test_an_answer_that_is_given_again_is_left_out(tmp_path, trust, kind, server_log):
    first = {}
    prepared = prepare(Settings(2, math.inf, method="paper", lloyd_steps=2), SERVER, len(CLIENTS))
    federation, transport = loopback.federation(CLIENTS, tmp_path, trust=trust)
    honest = transport.exchange

    def exchange(requests, timeout, patient):
        replies = honest(requests, timeout, patient)
        if 2 in requests and unpack(requests[2]).kind == kind:
            release = unpack(requests[2]).fields["release"]
            replies[2] = first.setdefault(release, replies[2])
        return replies

    transport.exchange = exchange
    run(federation, prepared, seed=0)
    told = [line for line in server_log() if "site01 is missing" in line]
    assert told == ["lloyd sums 2: site01 is missing: it answered an earlier request again."]
    assert {line.split(":")[0] for line in server_log() if "without site01" in line} == {"lloyd sums 2", "lloyd counts 2"}


@pytest.mark.parametrize("trust", MODES)
def test_sizes_and_counts_of_messages_and_log_lines_do_not_depend_on_the_data(tmp_path, trust, server_log, site_log, caplog):
    other = [np.zeros((1, 3)), np.ones((500, 3)) * 1e9, np.empty((0, 3)), CLIENTS[0] * -3, CLIENTS[1]]
    seen, told = [], []
    for name, clients in (("one", CLIENTS), ("other", other)):
        federation, transport = loopback.federation(clients, tmp_path / name, trust=trust, run="r1")
        (tmp_path / name).mkdir()
        run(federation, OPEN, seed=0)
        seen.append(transport.lengths)
        told.append((server_log(), site_log()))
        caplog.clear()
    assert seen[0] == seen[1]
    assert all(told[0])
    assert told[0] == told[1]


def signed(tmp_path, impostor=None, **more):
    keys = {f"site{i:02d}": new_identity() for i in range(5)}
    roster = {name: key.public_key() for name, key in keys.items()}
    shown = keys | ({impostor: new_identity()} if impostor else {})
    site = lambda name: {"identity": shown[name], "roster": roster}  # noqa: E731
    federation, transport = loopback.federation(CLIENTS, tmp_path, site=site, roster=roster, **more)
    return federation, transport


@pytest.mark.parametrize("confirmed", [False, True])
@pytest.mark.parametrize("kinds", [(), ("mask",), *(pytest.param((kind,), marks=pytest.mark.slow) for kind in ("confirm", "unmask"))])
def test_clients_that_know_each_others_keys_add_up(tmp_path, confirmed, kinds):
    federation, transport = signed(tmp_path, confirmed=confirmed, fault=lost(kinds))
    found = run(federation, OPEN, seed=0)
    assert np.array_equal(found.centers, centers([c for i, c in enumerate(CLIENTS) if i != 1] if kinds == ("mask",) else CLIENTS))
    assert any(kind == "confirm" for _, kind, _ in transport.sent) is confirmed


def test_a_node_without_the_key_of_its_name_is_left_out(tmp_path, server_log):
    federation, _ = signed(tmp_path, impostor="site02")
    assert federation.n_clients == 4
    assert any("'site02' must prove that it holds its key, got another signature" in line for line in server_log())


def test_a_signature_that_was_made_for_another_meeting_is_left_out(tmp_path):
    federation, transport = signed(tmp_path)
    old = {node: one.handle(pack("describe", nonce=b"an earlier nonce")) for node, one in transport.participants.items()}
    transport.exchange = lambda requests, *_: {node: old[node] for node in requests}
    with pytest.raises(FedDPError, match="sites must be at least one, got none whose data can be used"):
        RemoteFederation(transport, roster=federation._roster).connect()


def test_a_name_that_is_not_on_the_roster_is_left_out(tmp_path):
    roster = {f"site{i:02d}": new_identity().public_key() for i in range(2)}
    _, transport = loopback.federation(CLIENTS[:1], tmp_path, site={"identity": new_identity()})
    transport.participants[1].name = "stranger"
    with pytest.raises(FedDPError, match="sites must be at least one, got none whose data can be used"):
        RemoteFederation(transport, roster=roster).connect()


def test_the_server_tells_who_answered_and_what_is_spent(tmp_path, server_log):
    prepared = prepare(Settings(2, 1.0, method="paper", noise="gaussian", lloyd_steps=0), SERVER, len(CLIENTS))
    federation, _ = loopback.federation(CLIENTS, tmp_path, fault=lost(["mask"], turns={4}))
    run(federation, prepared)
    assert server_log()[0] == "5 sites: site00, site01, site02, site03, site04"
    assert "weights: site01 is missing: it did not answer in time" in server_log()
    assert any(line.startswith("weights: 4 of 5 sites, without site01; 2 of 4 releases made: epsilon 0.") for line in server_log())
    assert "sums: site01 is back" in server_log()  # under the same node
    spent = [float(line.split("epsilon ")[1].split(" of")[0]) for line in server_log() if "releases made" in line]
    assert spent == sorted(spent)
    assert len(spent) == sum(r.times for r in prepared.plan.releases)
    assert 0.99 <= spent[-1] <= 1


@pytest.mark.parametrize(("threshold", "message"), [(0, "threshold must be from 1 to the 5 sites, got 0"), (6, "got 6")])
def test_a_threshold_that_cannot_be_met_is_refused(tmp_path, threshold, message):
    federation, _ = loopback.federation(CLIENTS, tmp_path, threshold=threshold)
    with pytest.raises(FedDPError, match=message):
        federation.open(OPEN.plan, 0)


@pytest.mark.parametrize(
    ("clients", "colluders", "threshold"), [(1, 0, 1), (2, 0, 2), (3, 0, 2), (5, 0, 4), (5, 1, 4), (5, 2, 4), (5, 3, 5)]
)
def test_the_threshold_leaves_no_room_for_two_groups(tmp_path, clients, colluders, threshold):
    federation, _ = loopback.federation(CLIENTS[:clients], tmp_path, colluders=colluders)
    assert federation.threshold == threshold
    assert 2 * federation.threshold > clients + colluders
