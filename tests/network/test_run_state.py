"""A site answers from what it knew last, or not at all."""

import json
import os
import shutil

import pytest

from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.network.run_state import RunState, RunStates
from feddp_kmeans.network.terms import Policy, Trust
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network.talk import PLAN, Talk, refused

NOT_LATEST = "run r1 must go on from its latest state, booked on this odometer"


@pytest.fixture
def talk(tmp_path):
    talk = Talk(tmp_path)
    assert talk.agree().kind == "agreed"
    return talk


def state_of(talk):
    return talk.folder / "ward" / "r1.json"


def booked(talk):
    return [entry.run for entry in Odometer(talk.folder / "ward.jsonl").entries()]


def test_a_site_books_the_run_under_its_id_once(talk):
    assert talk.agree().kind == "agreed"
    assert talk.query().kind == "summed"
    (entry,) = Odometer(talk.folder / "ward.jsonl").entries()
    assert (entry.run, entry.what, entry.secure, entry.plan.delta) == ("r1", "run r1", True, PLAN.delta)
    assert [r.to_dict() for r in entry.plan.releases] == PLAN.ledger_rows()


def test_a_state_from_a_backup_answers_nothing(talk):
    before = state_of(talk).read_bytes()
    assert talk.query().kind == "summed"
    state_of(talk).write_bytes(before)
    talk.start()
    refused(talk.query(), NOT_LATEST)
    refused(talk.agree(), NOT_LATEST)
    assert booked(talk) == ["r1"]


def test_an_emptied_state_folder_is_not_a_new_run_of_that_name(talk):
    shutil.rmtree(state_of(talk).parent)
    talk.start()
    refused(talk.agree(), NOT_LATEST)
    refused(talk.query(), "a plan must be agreed to before anything is asked for")
    assert booked(talk) == ["r1"]


def test_of_two_copies_of_a_site_one_goes_on(talk, tmp_path):
    shutil.copytree(state_of(talk).parent, tmp_path / "copy")
    copy = Talk(tmp_path, state=tmp_path / "copy")
    copy.session, copy.turn = talk.session, talk.turn
    assert talk.query().kind == "summed"
    refused(copy.query(), NOT_LATEST)
    refused(copy.agree(), NOT_LATEST)
    talk.start()
    assert talk.agree().kind == "agreed"


def test_a_copy_with_an_odometer_of_its_own_answers_nothing(talk, tmp_path):
    shutil.copytree(state_of(talk).parent, tmp_path / "copy")
    copy = Talk(tmp_path, state=tmp_path / "copy", odometer=Odometer(tmp_path / "other.jsonl"))
    copy.session, copy.turn = talk.session, talk.turn
    refused(copy.query(), NOT_LATEST)
    refused(copy.agree(), NOT_LATEST)


@pytest.mark.parametrize("gone", ["ward.jsonl", ".ward.marks.json"])
def test_without_its_odometer_or_its_marks_a_site_answers_nothing(talk, gone):
    (talk.folder / gone).unlink()
    refused(talk.query(), NOT_LATEST)
    refused(talk.agree(), NOT_LATEST)


def test_a_site_that_stops_between_booking_and_remembering_goes_on_without_paying_again(tmp_path):
    talk = Talk(tmp_path)
    Policy(PrivacyUnit.POINT, 1.0).book(talk.terms, Odometer(tmp_path / "ward.jsonl"))
    assert talk.agree().kind == "agreed"
    assert talk.query().kind == "summed"
    assert booked(talk) == ["r1"]


def test_a_server_cannot_use_the_name_of_a_run_that_is_booked(tmp_path):
    talk = Talk(tmp_path)
    odometer = Odometer(tmp_path / "ward.jsonl")
    Policy(PrivacyUnit.POINT, 1.0).book(talk.terms, odometer)
    with odometer.step("r1", "", "of a fit on this machine"):
        pass
    refused(talk.agree(), NOT_LATEST)


@pytest.mark.parametrize("wrong", ["before", "after"])
def test_a_state_is_kept_before_anything_is_answered(tmp_path, wrong, monkeypatch):
    """Killed before or after the file is written: the run goes on either way, and no other state does."""
    talk = Talk(tmp_path, trust=Trust.AGGREGATOR)
    talk.agree()
    from feddp_kmeans.network import run_state

    write = run_state.write_whole

    def killed(*given, **more):
        if wrong == "after":
            write(*given, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_state, "write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        talk.query()
    monkeypatch.undo()
    talk.start()
    assert talk.agree().kind == "agreed"
    assert talk.query().kind == "summed"
    assert booked(talk) == ["r1"]


def test_what_is_saved_is_loaded(tmp_path):
    states = RunStates(tmp_path / "state", odometer := Odometer(tmp_path / "odometer.jsonl"))
    (tmp_path / "state").mkdir()
    assert states.load("r1") is None
    with pytest.raises(BudgetError, match="must go on from its latest state"):
        states.save("r1", RunState({}, ""))  # a run that nobody booked
    Policy(PrivacyUnit.POINT, 1.0).book(Talk(tmp_path).terms, odometer)
    state = RunState({"a": 1}, os.urandom(8).hex(), opened=["x 0"])
    states.save("r1", state)
    assert states.load("r1") == state
    (tmp_path / "state" / "r1.json").write_text("{")
    with pytest.raises(FedDPError, match=r"r1\.json must hold the state of a run"):
        states.load("r1")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({}, r"format of r1\.json must be 4, got 1: an older feddp began this run. Start a new one"),
        ({"format": 1}, r"format of r1\.json must be 4, got 1: an older feddp began this run"),
        ({"format": 5}, r"format of r1\.json must be from 1 to 4, got 5: it was written by a newer feddp"),
        ({"format": "2"}, r"format of r1\.json must be from 1 to 4, got '2'"),
    ],
)
def test_a_state_of_another_format_is_refused_by_number(talk, stated, message):
    kept = json.loads(state_of(talk).read_text())
    assert kept.pop("format") == 4
    state_of(talk).write_text(json.dumps(kept | stated))
    with pytest.raises(FedDPError, match=message):
        RunStates(state_of(talk).parent, Odometer(talk.folder / "ward.jsonl")).load("r1")
