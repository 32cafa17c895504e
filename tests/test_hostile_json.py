"""Every reader of plain data: a right answer or one clear line, whatever is in the file."""

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feddp_kmeans._json import parse_json
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.budget import budget_dict, run_entries
from feddp_kmeans.cli.report import write_report
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.attendance import read_attendance
from feddp_kmeans.network.deployment.agreement import JOINED, JoinedRoster, agreed_roster
from feddp_kmeans.network.deployment.kit import read_kit
from feddp_kmeans.network.deployment.run_request import RunRequest, read_request
from feddp_kmeans.network.deployment.signatures import RosterSignature, read_signatures
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.network.receipts import check_signature, read_receipt, receipt_lines
from feddp_kmeans.network.roster import Roster
from feddp_kmeans.network.run_state import RunState, RunStates
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.identity import new_identity, public_line
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms
from feddp_kmeans.network.site_key import SiteKey
from feddp_kmeans.network.terms import Policy, Terms, Trust
from feddp_kmeans.privacy.marks import Marks
from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer, new_run, totals
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.report.finished_run import read_run
from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.schema import Schema
from tests.hostile import HOSTILE, spoilt_json, spoilt_tree

RNG = np.random.default_rng(0)
CLIENTS = [RNG.standard_normal((30, 3)) for _ in range(3)]
SERVER = RNG.standard_normal((20, 3))
PAPER = prepare(Settings(2, 1.0, method="paper"), SERVER, 3)
REFINED = prepare(Settings(2, 1.0, lloyd_steps=0), SERVER, 3)
SCHEMA = Schema(
    (
        NumberColumn("age", 0, 99),
        NumberColumn("w", 0, 1, missing="indicator", scale="log", unit=0.1),
        NumberColumn("q", scale="quantile", knots=(0, 1, 5)),
        CategoryColumn("c", ("a", "<x>"), missing="own"),
        BooleanColumn("b", ("ja",), ("nein",)),
        DateColumn("d", "2015-01-01", "2026-12-31", ("trend", "season")),
        OpenColumn("o"),
    ),
    (("id", "asked for"),),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def result(place):
    found = run(InMemoryFederation(CLIENTS), prepare(Settings("auto", 1.0, max_clusters=4), SERVER, 3), seed=1)
    (place / "made").mkdir()
    write_result(place / "made", result_dict(found, columns=["a", "b", "c"], seed=1, server_points=SERVER, command="feddp"))
    return json.loads((place / "made" / "result.json").read_text())


def refused_or_right(read):
    """Call it: nothing but an answer or our own error of one line may come out."""
    try:
        return read()
    except (FedDPError, BudgetError) as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert len(str(error)) < 2000  # noqa: PT017
    return None


def written(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def schema_reader(path):
    schema = Schema.read(path)
    schema.describe(np.zeros(len(schema.columns)), 1.0)
    schema.write(path)
    assert Schema.read(path) == schema


def odometer_reader(path):
    entries = Odometer(path).entries()
    json.dumps(budget_dict(entries, 1e-6))
    Odometer(path).book(Entry.of(REFINED.plan, "next", secure=True, run=new_run()), limit=Limit(100.0))
    assert len(Odometer(path).entries()) == len(entries) + 1


def run_state_reader(path):
    return RunStates(path.parent, Odometer(path.parent / "o.jsonl")).load("r1")


ROSTER = Roster("a.b", 9443, (b"x" * 32,), (SiteKey("a", public_line(new_identity().public_key()), 1, 1 << 33, b"x"),))
JOINED_ROSTER = JoinedRoster(ROSTER, (), 1, {"a": 1})
OTHER = replace(ROSTER, port=1)


def joined_reader(path):
    kit = SimpleNamespace(roster=lambda: OTHER, authorities=list, folder=path.parent / "none", endorsements=path.parent / "none")
    return agreed_roster(kit, "a", path.parent, Policy(PrivacyUnit.POINT, 1.0))


def signature_reader(path):
    return [one.holds(ROSTER, ROSTER.sites) for one in read_signatures(SimpleNamespace(folder=path.parents[1]))]


def receipt_reader(path):
    told = read_receipt(path)
    "".join(receipt_lines(told))
    with suppress(FedDPError):
        check_signature(told, KEY.public_key())


KEY = new_identity()
RECEIPT = {
    "format": 1, "site": "a", "run": "r1", "agreed": "now", "spent": {"epsilon": 1.0}, "sessions": 1, "terms": {"trust": "secure-sum"},
    "answered": [{"release": "sums", "number": 0, "times": 1, "statistic": "cluster-sums", "query": "ab", "answer": "masked, opened"}],
    "server": None, "roster": "ab", "signature": {"key": "ssh", "value": "abcd"},
}  # fmt: skip
ROW = {"release": "sums", "number": 0, "times": 1, "statistic": "cluster-sums", "query": "ab", "planned_scale": 1.0, "noise_factor": 1.2}
ROW |= {"least_noise_factor": 1.0, "sites": ["a"], "missing": {"b": "timed out"}}
ATTENDED = {"format": 1, "run": "r1", "threshold": 1, "colluders": 0, "confirmed": False, "expected": ["a"], "agreed": ["a"], "rows": [ROW]}

READERS = {
    "schema": (SCHEMA.to_dict(), "schema.json", schema_reader),
    "odometer": (Entry.of(PAPER.plan, "x", secure=True, run=new_run()).to_dict(), "o.jsonl", odometer_reader),
    "run state": ({"format": 2} | RunState({"run": "r1"}, "digest").to_dict(), "r1.json", run_state_reader),
    "marks": ({"format": 1, "runs": {"r1": {"done": "a", "begun": "b"}}}, "marks.json", lambda path: Marks(path).of("r1")),
    "kit": ({"format": 1, "host": "a.b", "port": 9443}, "federation.json", lambda path: read_kit(path.parent).sites()),
    "job": (asdict(RunRequest("r1", Settings(2, 1.0, box=(0.0, 1.0)), "out", "feddp")), "job.json", read_request),
    "joined roster": (JOINED_ROSTER.to_dict(), JOINED, joined_reader),
    "signature": (RosterSignature("a", ROSTER.digest, 1, b"x").to_dict(), "signatures/a.json", signature_reader),
    "receipt": (RECEIPT, "r1.json", receipt_reader),
    "attendance": (ATTENDED, "sites.json", lambda path: (found := read_attendance(path, "r1")) and found.to_dict()),
    "site": (asdict(Site("a", "d", 1.0, "s", "o")), "site.json", lambda path: read_site(path).participant()),
}


@pytest.mark.parametrize("name", sorted(READERS))
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_spoilt_file_is_refused_or_read(place, name, data):
    tree, file, read = READERS[name]
    path = written(place / file, data.draw(spoilt_json(tree)))
    refused_or_right(lambda: read(path))


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_beginning_of_a_file_is_refused_or_read(place, name):
    tree, file, read = READERS[name]
    content = json.dumps(tree).encode()
    for end in range(0, len(content), max(1, len(content) // 120)):
        refused_or_right(lambda end=end: read(written(place / file, content[:end])))
    for hostile in HOSTILE:
        with pytest.raises(FedDPError):
            read(written(place / file, hostile or b"{"))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_spoilt_result_is_refused_or_shown_and_never_runs_in_a_browser(place, result, data):
    written(place / "made" / "result.json", data.draw(spoilt_json(result)))
    refused_or_right(lambda: read_run(place / "made"))
    refused_or_right(lambda: totals(run_entries([place / "made"]), 1e-6))
    page = refused_or_right(lambda: write_report(place / "made", place / "page.html"))
    if page is not None:
        assert "<script" not in Path(page).read_text()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_spoilt_record_is_refused_and_nothing_is_made_anew(place, data):
    folder = place / "record"
    if not folder.exists():
        run(RecordedFederation(InMemoryFederation(CLIENTS), folder), REFINED, seed=3)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    name = data.draw(st.sampled_from(sorted(before)))
    spoilt = data.draw(spoilt_json(json.loads(before[name]))) if name.endswith("json") else before[name][: data.draw(st.integers(0, 300))]
    written(folder / name, spoilt)
    try:
        found = refused_or_right(lambda: run(RecordedFederation(InMemoryFederation(CLIENTS), folder), REFINED, seed=3))
        assert found is None or np.isfinite(found.centers).all()
        assert all((folder / other).read_bytes() == content for other, content in before.items() if other.endswith("npy") and other != name)
    finally:
        for path in folder.iterdir():
            path.unlink()
        for other, content in before.items():
            written(folder / other, content)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_spoilt_terms_are_refused_or_cost_what_they_say(place, data):
    plan, trust = data.draw(st.sampled_from([(REFINED.plan, Trust.SECURE_SUM), (PAPER.plan, Trust.AGGREGATOR)]))
    tree = data.draw(spoilt_tree(Terms("abc", plan, trust, secure=True, threshold=4, colluders=0).to_dict()))

    def read():
        terms = Terms.from_dict(tree)
        assert terms.epsilon_spent <= terms.plan.epsilon
        Policy(terms.plan.unit, 100.0, 0.5, allow_aggregator=True).book(terms, Odometer(place / "book.jsonl"))
        assert len(Odometer(place / "book.jsonl").entries()) == 1

    try:
        refused_or_right(read)
    finally:
        (place / "book.jsonl").unlink(missing_ok=True)


def session():
    terms = SessionTerms(b"s" * 32, 2, 3)
    parties = [Party.new(f"p{i}", terms) for i in range(4)]
    adverts = [party.advert() for party in parties]
    shares = {party.name: party.share(adverts) for party in parties}
    server = Aggregator(terms, tuple(adverts), shares)
    for party in parties:
        party.receive(sorted(shares), {name: sent[party.name] for name, sent in shares.items() if name != party.name})
        party.mask(0, np.arange(3))
    state = parties[0].to_dict()
    reply = parties[0].unmask(0, [party.name for party in parties]).to_dict()
    return {"party": state, "aggregator": server.to_dict(), "advert": adverts[0].to_dict(), "reply": reply, "terms": terms.to_dict()}


TREES = session()
KINDS = {"party": Party, "aggregator": Aggregator, "advert": Advert, "reply": UnmaskReply, "terms": SessionTerms}


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_spoilt_states_and_messages_of_a_secure_sum_are_refused_or_read(kind, data):
    tree = data.draw(spoilt_tree(TREES[kind]))
    found = refused_or_right(lambda: KINDS[kind].from_dict(tree))
    assert found is None or KINDS[kind].from_dict(found.to_dict()).to_dict() == found.to_dict()


@given(st.text() | st.binary())
def test_what_is_no_json_is_refused_in_one_line(content):
    try:
        expected = json.loads(content)
    except (ValueError, RecursionError):
        with pytest.raises(FedDPError, match="JSON must"):
            parse_json(content)
    else:
        assert repr(refused_or_right(lambda: parse_json(content))) in {repr(expected), "None"}


def test_an_odometer_with_noise_that_is_none_has_no_bound_and_takes_no_time(tmp_path):
    row = Entry.of(PAPER.plan, "x", secure=True, run=new_run()).to_dict()
    for changed in ({"noise_multiplier": 1e-9}, {"noise_multiplier": 0.02, "times": 1_000_000}):
        entry = row | {"releases": [release | changed for release in row["releases"]]}
        path = written(tmp_path / "o.jsonl", json.dumps(entry).encode())
        assert all(total.why_unbounded for total in totals(Odometer(path).entries(), 1e-6))
        with pytest.raises(BudgetError, match="must stay within epsilon 5"):
            Odometer(path).book(Entry.of(PAPER.plan, "y", secure=True, run=new_run()), limit=Limit(5.0))


def test_a_line_without_an_end_is_a_run_and_the_next_one_is_another(tmp_path):
    path = tmp_path / "o.jsonl"
    written(path, json.dumps(Entry.of(REFINED.plan, "x", secure=True, run=new_run()).to_dict()).encode())
    path.chmod(0o600)
    Odometer(path).book(Entry.of(REFINED.plan, "x", secure=True, run=new_run()))
    assert len(Odometer(path).entries()) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_odometer_behind_a_link_stays_where_it_is(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "o.jsonl").symlink_to(tmp_path / "elsewhere" / "o.jsonl")
    Odometer(tmp_path / "o.jsonl").book(Entry.of(REFINED.plan, "x", secure=True, run=new_run()))
    assert (tmp_path / "o.jsonl").is_symlink()
    assert len(Odometer(tmp_path / "elsewhere" / "o.jsonl").entries()) == 1
