"""Who was in each release: on record with a reason out of four words, over restarts, and never for a sample of clients."""

import json
import logging
import math
from dataclasses import replace

import numpy as np
import pytest

from feddp_kmeans import FedDPError, _files
from feddp_kmeans._logs import LOG, kept_log
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.attendance import ATTENDANCE, Attendance, noise_factors, read_attendance
from feddp_kmeans.network.remote import RemoteAdder, RemoteFederation
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.network.transport import Absence, Lost
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.report.result import result_dict
from tests.conformance.clients import CLIENTS, SERVER
from tests.network import loopback

PREPARED = prepare(Settings(2, 1.0, method="paper", noise="gaussian", lloyd_steps=0), SERVER, len(CLIENTS))
NAMES = [f"site{i:02d}" for i in range(len(CLIENTS))]
MODES = [Trust.AGGREGATOR, Trust.SECURE_SUM]


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)


def made(folder, **more):
    """A federation whose record is kept, and its transport."""
    return loopback.federation(CLIENTS, folder, run="r1", journal=folder / "releases" / "pending", **more)


def kept(folder):
    return read_attendance(folder / "releases" / ATTENDANCE, "r1").to_dict()


def absences(told):
    return {row["release"]: row["missing"] for row in told["attendance"]}


@pytest.mark.parametrize("trust", MODES)
def test_every_release_says_who_was_missing_and_why(tmp_path, trust, monkeypatch):
    kind = "sum" if trust is Trust.AGGREGATOR else "mask"

    releases, whole = [], RemoteAdder.noisy_sum
    monkeypatch.setattr(RemoteAdder, "noisy_sum", lambda self, asked: releases.append(asked.release.name) or whole(self, asked))
    fault = lambda name, asked, _: "before" if (name, asked, releases[-1:]) == ("site01", kind, ["weights"]) else None  # noqa: E731
    federation, _ = made(tmp_path, trust=trust, fault=fault)
    found = run(federation, PREPARED)
    result = result_dict(found, columns=list("abcd"), seed=None, attendance=kept(tmp_path))
    assert result["participants"] == NAMES
    assert (result["run"], result["threshold"], result["colluders"]) == ("r1", federation.threshold, federation.colluders)
    assert absences(result) == {"outer product": {}, "weights": {"site01": "timed out"}, "sums": {}, "counts": {}}
    assert [row["sites"] for row in result["attendance"]] == [5, 4, 5, 5]
    shares = federation.threshold - federation.colluders
    expected = [1.0] * 4 if trust is Trust.AGGREGATOR else [math.sqrt(n / shares) for n in (5, 4, 5, 5)]
    assert [row["noise_factor"] for row in result["attendance"]] == expected
    for row, booked in zip(result["attendance"], result["ledger"], strict=True):
        assert row["planned_scale"] == booked["scale"]  # the guarantee counts the planned noise
        assert row["scale"] == row["noise_factor"] * booked["scale"]
        assert 1 <= row["least_noise_factor"] <= row["noise_factor"]


def test_stated_errors_use_the_noise_that_is_really_there(tmp_path):
    federation, _ = made(tmp_path)
    found, told = run(federation, PREPARED), kept(tmp_path)
    counts = next(row for row in told["attendance"] if row["release"] == "counts")
    assert counts["noise_factor"] == math.sqrt(5 / 3)
    assert found.count_stddev == pytest.approx(math.sqrt(5 / 3) * PREPARED.plan["counts"].stddev)
    assert found.privacy.epsilon_spent == PREPARED.plan.epsilon_spent


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Lost("gone", Absence.NOT_CONNECTED), "not connected"),
        (Lost("no reply within 30 s"), "timed out"),
        (b"nonsense", "failed"),
        (None, "refused"),
    ],
)
def test_reasons_are_words_of_a_list_and_nothing_that_a_site_says(tmp_path, reply, why):
    federation, transport = made(tmp_path)
    honest = transport.exchange

    def exchange(requests, timeout, patient):
        replies = honest(requests, timeout, patient)
        for node, request in requests.items():
            if node == 2 and unpack(request).kind == "mask":
                replies[node] = transport.participants[2].handle(b"garbage") if reply is None else reply
        return replies

    transport.exchange = exchange
    run(federation, PREPARED)
    assert {tuple(missing.items()) for missing in absences(kept(tmp_path)).values()} == {(("site01", why),)}
    assert kept(tmp_path)["participants"] == [name for name in NAMES if name != "site01"]


def test_a_site_of_the_roster_that_never_came_is_missing_everywhere(tmp_path):
    keys = {name: new_identity() for name in (*NAMES, "zwickau")}
    roster = {name: key.public_key() for name, key in keys.items()}
    site = lambda name: {"identity": keys[name], "roster": roster}  # noqa: E731
    federation, _ = made(tmp_path, site=site, roster=roster)
    run(federation, PREPARED)
    told = kept(tmp_path)
    assert told["participants"] == NAMES
    assert told["confirmed"]
    assert set(map(str, absences(told).values())) == {"{'zwickau': 'not connected'}"}


@pytest.mark.parametrize("trust", MODES)
def test_a_run_that_goes_on_keeps_the_record_of_earlier_sessions(tmp_path, trust):
    """The first session has all sites but one for a release; the second never sees site04."""
    kind = "sum" if trust is Trust.AGGREGATOR else "mask"
    first, transport = made(tmp_path, trust=trust, fault=lambda name, asked, _: "before" if (name, asked) == ("site01", kind) else None)

    def recorded(federation):
        return RecordedFederation(federation, tmp_path / "releases", run="r1")

    made_so_far = []

    def stop(name):
        made_so_far.append(name)
        if len(made_so_far) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(recorded(first), PREPARED, on_release=stop)
    transport.fault = lambda *_: None
    transport.absent.add(5)
    again = RemoteFederation(
        transport, trust=trust, threshold=first.threshold, colluders=first.colluders, run="r1", journal=tmp_path / "releases" / "pending"
    ).connect()
    run(recorded(again), PREPARED)
    told = kept(tmp_path)
    early, late = {"site01": "timed out"}, {"site04": "not connected"}
    assert absences(told) == {"outer product": early, "weights": early, "sums": late, "counts": late}
    assert told["participants"] == NAMES


def test_nothing_that_is_written_depends_on_who_was_sampled(tmp_path, caplog):
    """Two runs whose cohorts differ, with a site that fails whenever it is asked: all lines, files and receipts are the same."""
    settings = Settings(2, math.inf, privacy_unit="client", method="paper", client_size=50, sampling_rate=0.5, lloyd_steps=2)
    prepared = prepare(settings, SERVER, len(CLIENTS))
    seen, asked, places = [], [], []
    for seed in (0, 1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        caplog.clear()
        caplog.set_level(logging.INFO, logger="feddp_kmeans")
        site = {"unit": PrivacyUnit.CLIENT}
        federation, transport = made(folder, trust=Trust.AGGREGATOR, site=site)

        def fault(name, kind, turn, transport=transport):
            if turn >= 2:  # site01 is there twice from now on: the new node is its own only if it is known to be missing
                transport.participants[9] = transport.participants[2]
            return "before" if (name, kind) == ("site01", "sum") else None

        transport.fault = fault
        with kept_log(folder / LOG):
            run(federation, prepared, seed=seed)
        places.append(federation.sites._strangers)
        asked.append([(name, kind) for name, kind, _ in transport.sent if kind == "sum"])
        lines = [record.getMessage() for record in caplog.records]
        receipts = [json.loads(path.read_text()) for path in sorted(folder.glob("site*/receipts/r1.json"))]
        assert len(receipts) == len(CLIENTS)
        for receipt in receipts:
            assert receipt["answered"].startswith("not listed: which sites were asked")
            del receipt["agreed"], receipt["written"]
        log = [{key: value for key, value in json.loads(line).items() if key != "time"} for line in (folder / LOG).read_text().splitlines()]
        rows = json.loads((folder / "releases" / ATTENDANCE).read_text())
        told = kept(folder)
        for row in (*rows["rows"], *told["attendance"]):
            del row["query"]  # a digest of what follows from earlier releases
        seen.append((lines, log, receipts, told, rows))
    assert asked[0] != asked[1]
    assert places == [{9}, set()]
    assert seen[0] == seen[1]
    lines, log, _, told, _ = seen[0]
    assert (
        sum(": sampled; " in line for line in lines)
        == len([row for row in log if row["event"] == "release"])
        == len(told["attendance"])
        > 0
    )
    assert not any(name in line for name in NAMES for line in lines if "release" in line and "agreed" not in line)
    assert told["participants"] == NAMES
    assert {(row["sites"], row["missing"], row["sampled"]) for row in told["attendance"]} == {(None, None, True)}


def test_a_trusted_server_adds_the_planned_noise_whoever_answers():
    terms = Terms("r1", PREPARED.plan, Trust.AGGREGATOR, True, 3, 0)
    assert noise_factors(terms, 3) == noise_factors(terms, 5) == (1.0, 1.0)
    terms = replace(terms, trust=Trust.SECURE_SUM, threshold=4, colluders=1)
    assert noise_factors(terms, 4) == (math.sqrt(4 / 3), 1.0)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"format": 1}',
        '{"format": 2, "run": "r1"}',
        '{"format": 1, "run": "r1", "rows": [{}], "expected": [], "agreed": []}',
    ],
)
def test_a_file_that_is_no_record_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / ATTENDANCE
    path.write_text(content)
    with pytest.raises(FedDPError, match=r"sites\.json") as refused:
        read_attendance(path, "r1")
    assert "\n" not in str(refused.value)


def test_a_row_with_another_reason_or_of_another_run_is_not_taken(tmp_path):
    federation, _ = made(tmp_path)
    run(federation, PREPARED)
    path = tmp_path / "releases" / ATTENDANCE
    assert read_attendance(path, "r2") is None
    content = json.loads(path.read_text())
    content["rows"][0]["missing"] = {"site01": "<script>"}
    path.write_text(json.dumps(content))
    with pytest.raises(FedDPError, match=r"sites\.json must say which sites were in each release: missing of a row must be one of"):
        read_attendance(path, "r1")


def test_without_a_place_nothing_is_kept(tmp_path):
    terms = Terms("r1", PREPARED.plan, Trust.SECURE_SUM, True, 4, 1)
    attendance = Attendance.open(None, terms, NAMES)
    attendance.agree(NAMES)
    assert attendance.to_dict()["participants"] == []
    assert not list(tmp_path.iterdir())
    assert np.isfinite(noise_factors(terms, 5)[0])
