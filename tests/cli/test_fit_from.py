"""``feddp fit --from``: next month, as a person runs it."""

import json

import pytest

from feddp_kmeans.privacy.odometer import Odometer
from tests.algorithm.months import CENTERS, COLUMNS, month
from tests.cli.command import feddp

SHARED = ("--odometer", "people.jsonl", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("year")
    moved = CENTERS.copy()
    moved[0, 2] += 0.1
    for name, table in {"january": month(0), "february": month(1), "march": month(2, centers=moved)}.items():
        (folder / name).mkdir()
        for site, rows in enumerate((table[:4000], table[4000:])):
            lines = [",".join(f"{x:.6f}" for x in row) for row in rows]
            (folder / name / f"site{site}.csv").write_text(
                "\n".join([",".join((*COLUMNS, "note")), *(f"{line},word" for line in lines)]) + "\n"
            )
    ranges = [part for name in COLUMNS for part in ("--range", f"{name}=0:1")]
    done = feddp("fit", "january", "-k", 3, "--epsilon", 0.8, *ranges, "--ignore", "note", *SHARED, "--out", "run1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_month_goes_on_from_the_last_and_says_what_changed(folder):
    done = feddp("fit", "february", "--from", "run1", "--epsilon", 0.5, *SHARED, "--out", "run2", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = feddp("fit", "march", "--from", "run2", "--epsilon", 0.5, "--odometer", "people.jsonl", "--out", "run3", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "What changed since the run of" in done.stdout
    assert " moved: c from 0." in done.stdout
    assert "3 runs on these data so far" in done.stdout
    states = [
        [cluster["state"] for cluster in json.loads((folder / run / "result.json").read_text())["changes"]["clusters"]]
        for run in ("run2", "run3")
    ]
    assert states[0] == ["same"] * 3
    assert sorted(states[1]) == ["moved", "same", "same"]
    assert len(Odometer(folder / "people.jsonl").entries()) == 3


def test_the_same_people_must_be_on_one_odometer(folder):
    done = feddp("fit", "february", "--from", "run1", "--epsilon", 0.5, "--out", "other", cwd=folder)
    assert done.returncode == 1
    assert "the odometer must be that of the run of --from" in done.stderr
    assert not (folder / "february" / ".feddp-budget.jsonl").exists()
    stated = feddp("fit", "february", "--from", "run1", "--new-people", "--epsilon", 0.5, "--out", "other", "-q", cwd=folder)
    assert stated.returncode == 0, stated.stderr
    assert json.loads((folder / "other" / "result.json").read_text())["changes"]["new_people"] is True
    assert len(Odometer(folder / "february" / ".feddp-budget.jsonl").entries()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from", "nothing"), "run must be a folder with a result.json"),
        (("--from", "run1", "-k", 5), "n_clusters must be the 3 of the earlier run, got 5"),
        (("--from", "run1", "--unit", "client"), "privacy_unit must be the 'point' of the earlier run"),
        (("--from", "run1", "--range", "a=0:2"), "columns must be those of the run of --from"),
        (("--from", "run1", "--method", "paper"), "method must be 'refined'"),
        (("-k", 3, "--new-people"), "--new-people must be given together with --from"),
    ],
)
def test_what_cannot_go_on_is_refused_before_anything_is_booked(folder, options, message):
    before = (folder / "people.jsonl").read_text()
    done = feddp("fit", "february", *options, "--epsilon", 0.5, "--odometer", "people.jsonl", "--out", "refused", cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert (folder / "people.jsonl").read_text() == before
    assert not (folder / "refused").exists()


def test_a_plan_for_a_year_fills_its_limit_exactly(folder):
    planned = json.loads(feddp("plan", "-k", 3, "--epsilon", 2, "--runs", 12, "--json", cwd=folder).stdout)
    assert len(planned["runs"]) == 12
    assert 1.99 < planned["totals"][-1] <= 2
    shown = feddp("plan", "-k", 3, "--epsilon", 2, "--runs", 12, cwd=folder)
    assert "12 runs: epsilon 2 in all" in shown.stdout
    assert f"{planned['runs'][0]:g}" in shown.stdout
