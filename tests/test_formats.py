"""Every file that is read again states its format. One rule: ours and older are read, a newer one is refused in one line that names it."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.budget import run_entries
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation, read_record
from feddp_kmeans.network.deployment.agreement import JOINED, JoinedRoster
from feddp_kmeans.network.deployment.plain_files import read_plain, write_plain
from feddp_kmeans.network.deployment.run_request import REQUEST, RunRequest, opened, read_request
from feddp_kmeans.network.deployment.signatures import RosterSignature
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.wire import PROTOCOL, pack, unpack
from feddp_kmeans.privacy.marks import Mark, Marks
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.odometer import Entry, Odometer, new_run
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.report.finished_run import read_result, read_run
from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.tables.columns import NumberColumn
from feddp_kmeans.tables.schema import Schema

RNG = np.random.default_rng(0)
CLIENTS = [RNG.standard_normal((30, 2)) for _ in range(3)]
PREPARED = prepare(Settings(2, 1.0, lloyd_steps=0), RNG.standard_normal((20, 2)), 3)
SITE = Site("a", "d", 1.0, "s", "o")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of each kind, as it is written today."""
    place = tmp_path_factory.mktemp("formats")
    recorded = RecordedFederation(InMemoryFederation(CLIENTS), place)
    write_result(place, result_dict(run(recorded, PREPARED, seed=1), columns=["a", "b"], seed=1))
    Odometer(place / "odometer.jsonl").book(Entry.of(PREPARED.plan, "x", secure=True, run=new_run()))
    Marks(place / "marks.json").set("abc", Mark("one", "two"))
    Schema((NumberColumn("age", 0, 99),)).write(place / "schema.json")
    (place / "site.json").write_text(json.dumps({"format": 1} | asdict(SITE)))
    opened(RunRequest("run1", Settings(2, 1.0, box=(0, 1)), str(place / "served"), "feddp serve"))
    (place / "served" / REQUEST).rename(place / REQUEST)
    write_plain(place / JOINED, JoinedRoster(Roster("h", 1, (), ()), (), 1))
    write_plain(place / "signature.json", RosterSignature("a", "b", 1))
    return place


FILES = {
    "result.json, to predict": ("result.json", "format", lambda path: read_run(path.parent)),
    "result.json, to report": ("result.json", "format", read_result),
    "result.json, to add up": ("result.json", "format", lambda path: run_entries([path.parent])),
    "odometer": ("odometer.jsonl", "format", lambda path: Odometer(path).entries()),
    "marks": ("marks.json", "format", lambda path: Marks(path).of("abc")),
    "record": ("releases.json", "format", lambda path: read_record(path.parent)),
    "schema": ("schema.json", "version", Schema.read),
    "site": ("site.json", "format", read_site),
    "joined roster": (JOINED, "format", lambda path: read_plain(path, JoinedRoster, "hold a roster")),
    "signature": ("signature.json", "format", lambda path: read_plain(path, RosterSignature, "hold a signature")),
    "request": (REQUEST, "format", read_request),
}


@pytest.mark.parametrize("kind", sorted(FILES))
def test_a_file_states_its_format_and_a_newer_one_is_refused_by_name(folder, tmp_path, kind):
    name, key, read = FILES[kind]
    stated = json.loads((folder / name).read_text())
    path = tmp_path / name
    path.write_text(json.dumps(stated))
    assert read(path)
    for newer in (stated[key] + 1, "1", True, 0):
        path.write_text(json.dumps(stated | {key: newer}))
        with pytest.raises(FedDPError, match=f"{key} of .* must be from 1 to {stated[key]}, got {newer!r}: .* newer feddp") as refused:
            read(path)
        assert name in str(refused.value)


@pytest.mark.parametrize("kind", sorted(set(FILES) - {"record", "schema"}))
def test_a_file_of_0_1_states_no_format_and_is_read(folder, tmp_path, kind):
    name, key, read = FILES[kind]
    stated = json.loads((folder / name).read_text())
    (tmp_path / name).write_text(
        json.dumps({word: value for word, value in stated.items() if word != key and (word != "run" or name == REQUEST)})
    )
    assert read(tmp_path / name)


def test_a_site_file_is_read_as_it_was_written(folder):
    assert read_site(folder / "site.json") == SITE


def test_a_message_of_another_protocol_is_refused_by_number():
    message = pack("sum", a=1)
    for other in (1, 7):
        with pytest.raises(FedDPError, match=f"a message must be one of protocol {PROTOCOL}, got {other}: server and site need the same"):
            unpack(message.replace(b"feddp%d\n" % PROTOCOL, b"feddp%d\n" % other))


@pytest.mark.parametrize("settings", [{}, {"epsilon": math.inf}, {"method": "paper"}, {"privacy_unit": "client", "sampling_rate": 0.5}])
def test_a_plan_is_read_as_it_was_stated(settings):
    plan = prepare(Settings(2, **{"epsilon": 1.0} | settings), CLIENTS[0], 3).plan
    given = json.loads(json.dumps(plan.to_dict()).replace("Infinity", '"inf"'))
    rough = tuple(replace(release, integer_sensitivity=1.0) for release in plan.releases)
    assert Plan.from_dict(given) == replace(plan, releases=rough, facts={}, reasons=())
    exact = [r.to_dict() | {"integer_sensitivity": r.integer_sensitivity} for r in plan.releases]
    assert Plan.from_dict(given | {"releases": exact}).releases == plan.releases


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"release": 3}, "release of a release must be text, got 3"),
        ({"mechanism": "uniform"}, r"mechanism of release 'r' must be one of \['gaussian', 'laplace'\], got 'uniform'"),
        ({"mechanism": "laplace"}, "l1_sensitivity of release 'r' must be a number, got None"),
        ({"noise_multiplier": "5"}, "noise_multiplier of release 'r' must be a number, got '5'"),
        ({"noise_multiplier": -1.0}, "noise_multiplier of 'r' must be at least 0"),
        ({"noise_multiplier": math.nan}, "values, times, sums and noise_multiplier of release 'r' must be within bounds"),
        ({"times": 1.0}, "times of release 'r' must be a whole number, got 1.0"),
        ({"times": True}, "times of release 'r' must be a whole number, got True"),
        ({"values": 0}, "must be within bounds, got 0, 1, 0 and 5"),
        ({"l2_sensitivity": 10**400}, "l2_sensitivity of release 'r' must be a number that a computer can hold, got one of 401 digits"),
    ],
)
def test_what_is_no_release_is_refused_by_field_and_value(changed, message):
    row = {"release": "r", "mechanism": "gaussian", "l2_sensitivity": 1, "noise_multiplier": 5, "values": 1, "times": 1}
    assert Release.from_dict(row).noise_multiplier == 5
    with pytest.raises(FedDPError, match=message):
        Release.from_dict(row | changed)
