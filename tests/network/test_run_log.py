"""The server's log of a run: one line per release with named facts, one whenever a site goes missing or is back."""

import json
import logging

import pytest

from feddp_kmeans import _files
from feddp_kmeans._logs import LOG, kept_log
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network import run_log
from tests.conformance.clients import CLIENTS, SERVER
from tests.network import loopback

PREPARED = prepare(Settings(2, 1.0, method="paper", noise="gaussian", lloyd_steps=0), SERVER, len(CLIENTS))


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """The kept log of a run that loses site01 for two releases, at the server and at the sites, which share this process."""
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)
    masks = []

    def fault(name, kind, _):
        masks.extend([kind] * ((name, kind) == ("site01", "mask")))
        return "before" if (name, kind) == ("site01", "mask") and len(masks) in {2, 3} else None

    federation, _ = loopback.federation(CLIENTS, tmp_path, run="r1", fault=fault)
    package = logging.getLogger("feddp_kmeans")
    before = package.level
    package.setLevel(logging.INFO)
    try:
        with kept_log(tmp_path / LOG):
            run(federation, PREPARED)
    finally:
        package.setLevel(before)
    return [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]


def of(rows, event):
    return [row for row in rows if row["event"] == event]


def test_a_release_is_one_line_at_the_server_and_one_at_each_site_in_it(rows):
    released = of(rows, "release")
    assert [(row["release"], row["sites"], row["made"], row["run"]) for row in released] == [
        ("outer product", 5, 1, "r1"),
        ("weights", 4, 2, "r1"),
        ("sums", 4, 3, "r1"),
        ("counts", 5, 4, "r1"),
    ]
    assert released[1]["missing"] == {"site01": "timed out"}
    answered = of(rows, "answered")
    assert len(answered) == 5 + 4 + 4 + 5
    assert len({(row["site"], row["release"]) for row in answered}) == len(answered)
    assert all(set(row) == {"time", "level", "event", "run", "site", "release", "statistic", "arguments", "message"} for row in answered)


def test_a_site_is_named_once_when_it_goes_missing_and_once_when_it_is_back(rows):
    facts = [(row["event"], row["site"], row["release"], row.get("reason")) for row in of(rows, "missing") + of(rows, "back")]
    assert facts == [("missing", "site01", "weights", "timed out"), ("back", "site01", "counts", None)]


def test_every_line_has_a_time_a_level_and_an_event(rows):
    assert all({"time", "level", "event", "message"} <= set(row) for row in rows)
    assert {row["event"] for row in rows} == {"agreed", "release", "answered", "missing", "back"}
    assert run_log.logger.name == "feddp_kmeans.network.run_log"
