"""A run goes on from its latest state, booked here, or not at all."""

import json
import shutil

import numpy as np
import pytest

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer

PLANS = {epsilon: prepare(Settings(2, epsilon), np.random.default_rng(0).standard_normal((40, 3)), 100).plan for epsilon in (1.0, 2.0)}
NOT_LATEST = "run abc must go on from its latest state, .*: it is booked in full"


def entry(run="abc", epsilon=1.0, *, secure=True):
    return Entry.of(PLANS[epsilon], "a run", secure=secure, run=run)


@pytest.fixture
def odometer(tmp_path):
    return Odometer(tmp_path / ".feddp-budget.jsonl")


def marks_of(odometer):
    return odometer.path.with_name(".feddp-budget.marks.json")


def steps(odometer, *states, run="abc"):
    for before, after in zip(("", *states), states, strict=False):
        with odometer.step(run, before, after):
            pass


def test_a_run_is_booked_once_and_goes_on_from_its_latest_state(odometer):
    for _ in range(2):
        odometer.begin(entry(), "", limit=Limit(1.0))  # the second pays nothing: nothing was answered yet
    steps(odometer, "one", "two")
    odometer.begin(entry(), "two", limit=Limit(1.0))
    odometer.check("abc", "two")
    assert len(odometer.entries()) == 1
    for older in ("", "one", "other"):
        with pytest.raises(BudgetError, match=NOT_LATEST):
            odometer.begin(entry(), older)
        with pytest.raises(BudgetError, match=NOT_LATEST):
            odometer.check("abc", older)
        with pytest.raises(BudgetError, match=NOT_LATEST), odometer.step("abc", older, "next"):
            raise AssertionError("an old state took a step")
    odometer.check("abc", "two")


def test_a_limit_holds_where_a_run_begins_and_a_refused_run_leaves_nothing(odometer):
    with pytest.raises(BudgetError, match=r"must stay within epsilon 0\.5"):
        odometer.begin(entry(), "", limit=Limit(0.5))
    assert odometer.entries() == []
    assert not marks_of(odometer).exists()


def test_a_step_that_is_cut_short_goes_on_from_either_state(odometer):
    odometer.begin(entry(), "")
    steps(odometer, "one")
    with pytest.raises(KeyboardInterrupt), odometer.step("abc", "one", "two"):
        raise KeyboardInterrupt
    for state in ("one", "two"):
        odometer.check("abc", state)
    with pytest.raises(BudgetError, match=NOT_LATEST):
        odometer.check("abc", "")
    with odometer.step("abc", "one", "other two"):  # what was begun was seen by nobody
        pass
    for state in ("one", "two"):
        with pytest.raises(BudgetError, match=NOT_LATEST):
            odometer.check("abc", state)


@pytest.mark.parametrize(("state", "other"), [("one", "two"), ("two", "one")])
def test_a_run_that_goes_on_after_a_step_that_was_cut_short_does_so_from_one_state(odometer, state, other):
    odometer.begin(entry(), "")
    steps(odometer, "one")
    with pytest.raises(KeyboardInterrupt), odometer.step("abc", "one", "two"):
        raise KeyboardInterrupt
    odometer.begin(entry(), state)
    odometer.check("abc", state)
    with pytest.raises(BudgetError, match=NOT_LATEST):
        odometer.check("abc", other)


def test_a_step_is_kept_before_it_is_done(odometer):
    odometer.begin(entry(), "")
    with odometer.step("abc", "", "one"):
        odometer.check("abc", "")
        odometer.check("abc", "one")


def test_of_two_copies_that_step_at_once_one_gets_through(odometer):
    odometer.begin(entry(), "")
    one, two = odometer.step("abc", "", "one"), odometer.step("abc", "", "two")
    one.__enter__()
    two.__enter__()
    with pytest.raises(BudgetError, match=NOT_LATEST):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    odometer.check("abc", "two")
    with pytest.raises(BudgetError, match=NOT_LATEST):
        odometer.check("abc", "one")


@pytest.mark.parametrize("other", [entry(epsilon=2.0), entry(secure=False), entry("def")])
def test_a_run_goes_on_only_with_its_plan_and_its_id(odometer, other):
    odometer.begin(entry(), "")
    steps(odometer, "one")
    with pytest.raises(BudgetError, match="must be booked, with this very plan, on the odometer of its data"):
        odometer.begin(other, "one")
    assert len(odometer.entries()) == 1


def test_without_its_line_or_its_mark_a_run_does_not_go_on(odometer, tmp_path):
    odometer.begin(entry(), "")
    before = tmp_path / "before"
    shutil.copy(odometer.path, before)
    odometer.begin(entry("def"), "")
    steps(odometer, "one", run="def")
    now = tmp_path / "now"
    shutil.copy(odometer.path, now)
    shutil.copy(before, odometer.path)  # an older odometer, with the marks of today
    for state in ("", "one"):
        with pytest.raises(BudgetError, match="must be booked, with this very plan"):
            odometer.begin(entry("def"), state)
        with pytest.raises(BudgetError, match="must go on from its latest state"), odometer.step("def", state, "two"):
            raise AssertionError("a run that is not booked took a step")
    shutil.copy(now, odometer.path)
    for gone in (marks_of(odometer).unlink, lambda: marks_of(odometer).write_text('{"format": 1, "runs": {}}')):
        gone()
        for run, state in (("def", "one"), ("def", ""), ("abc", "")):
            with pytest.raises(BudgetError, match="must go on from its latest state"):
                odometer.begin(entry(run), state)
    assert len(odometer.entries()) == 2


def test_a_run_that_was_booked_without_a_state_has_none_to_go_on_from(odometer):
    odometer.book(entry())
    with pytest.raises(BudgetError, match=NOT_LATEST):
        odometer.begin(entry(), "")


def test_a_crash_between_mark_and_line_leaves_a_run_that_is_booked_later(odometer):
    odometer.begin(entry(), "")
    odometer.path.unlink()
    odometer.begin(entry(), "")
    assert len(odometer.entries()) == 1


@pytest.mark.parametrize("content", ["", "[]", '{"runs": {"abc": {"done": 1, "begun": ""}}}', '{"runs": {"abc": "one"}}', "{}"])
def test_damaged_marks_are_one_clear_error(odometer, content):
    odometer.begin(entry(), "")
    marks_of(odometer).write_text(content)
    with pytest.raises(FedDPError, match=r"\.feddp-budget\.marks\.json must"):
        odometer.check("abc", "")


def test_newer_marks_are_refused_by_name(odometer):
    odometer.begin(entry(), "")
    marks_of(odometer).write_text(json.dumps(json.loads(marks_of(odometer).read_text()) | {"format": 2}))
    with pytest.raises(FedDPError, match=r"format of \.feddp-budget\.marks\.json must be from 1 to 1, got 2"):
        odometer.check("abc", "")


def test_two_names_of_one_odometer_share_its_marks(tmp_path, odometer):
    odometer.begin(entry(), "")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.symlink_to(odometer.path)
    steps(Odometer(link), "one")
    odometer.check("abc", "one")
    with pytest.raises(BudgetError, match=NOT_LATEST):
        odometer.check("abc", "")
