"""A run and its record are one: what was emptied, set back, copied or written elsewhere never answers again unbooked."""

import hashlib
import json
import shutil
import threading
from contextlib import suppress

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation import recorded as recorded_module
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import Limit, Odometer, total_for
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from tests.federation.counting import CLIENTS, SERVER, Counting

PREPARED = prepare(Settings(2, 1.0, method="paper", lloyd_steps=2), SERVER, len(CLIENTS))  # makes all that it plans
RELEASES = sum(release.times for release in PREPARED.plan.releases)
NOT_LATEST = "must go on from its latest state, booked on this odometer"


@pytest.fixture
def books(tmp_path):
    return Odometer(tmp_path / "books" / "odometer.jsonl")


def go(folder, books, *, stop_at=10**9, seed=None, limit=None):
    """Run, or go on, and stop after a number of new releases; return how many were made."""
    asked = Counting(CLIENTS)
    asked.stop_at = stop_at
    recorded = RecordedFederation(asked, folder)
    recorded.books = Books(books, limit, "feddp fit")
    with suppress(KeyboardInterrupt):
        run(recorded, PREPARED, seed=seed)
    return asked.asked


def test_a_run_is_booked_once_before_its_first_release_and_goes_on_for_nothing(tmp_path, books):
    assert go(tmp_path / "run", books, stop_at=0, limit=Limit(1.0)) == 0
    (entry,) = books.entries()
    record = json.loads((tmp_path / "run" / "releases.json").read_text())
    assert record["run"] == entry.run
    assert (record["format"], len(entry.run), entry.what, entry.secure) == (2, 32, "feddp fit", True)
    assert [r.to_dict() for r in entry.plan.releases] == PREPARED.plan.ledger_rows()
    for made in (2, 1, 10):
        assert go(tmp_path / "run", books, stop_at=made, limit=Limit(1.0)) == min(made, RELEASES - 3)
    assert go(tmp_path / "run", books, limit=Limit(1.0)) == 0
    assert [e.run for e in books.entries()] == [entry.run]


def test_a_folder_that_was_emptied_is_a_new_run_and_paid_in_full(tmp_path, books):
    folder = tmp_path / "run"
    go(folder, books)
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(BudgetError, match=r"must stay within epsilon 1\.2"):
        go(folder, books, limit=Limit(1.2))
    assert list(folder.iterdir()) == []
    assert go(folder, books) == RELEASES
    first, second = books.entries()
    assert first.run != second.run
    assert total_for(PrivacyUnit.POINT, books.entries(), 1e-6).epsilon > 1.4


def test_releases_without_their_record_are_not_a_new_run(tmp_path, books):
    go(tmp_path / "run", books, stop_at=2)
    (tmp_path / "run" / "releases.json").unlink()
    with pytest.raises(FedDPError, match="must have their record next to them"):
        go(tmp_path / "run", books)
    assert len(books.entries()) == 1


@pytest.mark.parametrize("later", [1, 3])
def test_a_backup_of_the_record_does_not_go_on(tmp_path, books, later):
    go(tmp_path / "run", books, stop_at=1)
    shutil.copytree(tmp_path / "run", tmp_path / "backup")
    go(tmp_path / "run", books, stop_at=later)
    with pytest.raises(BudgetError, match=NOT_LATEST):
        go(tmp_path / "backup", books)
    shutil.rmtree(tmp_path / "run")
    shutil.copytree(tmp_path / "backup", tmp_path / "run")
    with pytest.raises(BudgetError, match=NOT_LATEST):
        go(tmp_path / "run", books)


def test_a_record_of_nothing_yet_does_not_go_on_twice(tmp_path, books):
    go(tmp_path / "run", books, stop_at=0)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    assert go(tmp_path / "run", books, stop_at=1) == 1
    with pytest.raises(BudgetError, match=NOT_LATEST):
        go(tmp_path / "copy", books)
    assert len(books.entries()) == 1


def test_of_two_copies_that_go_on_at_once_one_gets_each_release(tmp_path, books, monkeypatch):
    go(tmp_path / "run", books, stop_at=1)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    barrier, shown, refused = threading.Barrier(2), [], []

    honest = ExactAdder.noisy_sum

    def together(*given):
        values = honest(*given)
        if not shown and not refused:
            barrier.wait(20)
        return values

    monkeypatch.setattr(ExactAdder, "noisy_sum", together)

    def one(folder):
        recorded = RecordedFederation(InMemoryFederation(CLIENTS), folder)
        recorded.books = Books(books)
        try:
            run(recorded, PREPARED)
            shown.append(folder.name)
        except BudgetError as error:
            refused.append(str(error))
            barrier.abort()
        except threading.BrokenBarrierError:  # the other was refused meanwhile: go on without it
            one(folder)

    threads = [threading.Thread(target=one, args=(tmp_path / name,)) for name in ("run", "copy")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shown) == len(refused) == 1
    assert NOT_LATEST in refused[0]
    assert len(books.entries()) == 1


def test_a_run_does_not_go_on_where_it_is_not_booked(tmp_path, books):
    go(tmp_path / "run", books, stop_at=1)
    elsewhere = Odometer(tmp_path / "other" / "odometer.jsonl")
    with pytest.raises(BudgetError, match="must be booked, with this very plan, on the odometer of its data"):
        go(tmp_path / "run", elsewhere)
    assert elsewhere.entries() == []
    run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path / "unbooked"), PREPARED)
    with pytest.raises(BudgetError, match="must be booked, with this very plan, on the odometer of its data"):
        go(tmp_path / "unbooked", books)


@pytest.mark.parametrize("gone", ["odometer.jsonl", ".odometer.marks.json"])
def test_without_its_odometer_or_its_marks_a_run_does_not_go_on(tmp_path, books, gone):
    go(tmp_path / "run", books, stop_at=1)
    (books.path.parent / gone).unlink()
    with pytest.raises(BudgetError, match="Start a new run: it is booked in full"):
        go(tmp_path / "run", books)
    assert go(tmp_path / "new", books) == RELEASES


def test_a_record_that_names_another_run_of_the_same_plan_does_not_go_on(tmp_path, books):
    go(tmp_path / "run", books, stop_at=1)
    go(tmp_path / "other", books, stop_at=2)
    path = tmp_path / "run" / "releases.json"
    other = json.loads((tmp_path / "other" / "releases.json").read_text())["run"]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run": other}))
    with pytest.raises(BudgetError, match=NOT_LATEST):
        go(tmp_path / "run", books)


def test_a_record_set_back_in_the_middle_of_a_run_stops_it(tmp_path, books):
    folder = tmp_path / "run"
    go(folder, books, stop_at=1)
    before = (folder / "releases.json").read_bytes()

    asked = Counting(CLIENTS)
    recorded = RecordedFederation(asked, folder)
    recorded.books = Books(books)

    def set_back(_):
        if asked.asked == 1:
            (folder / "releases.json").write_bytes(before)

    with pytest.raises(BudgetError, match=NOT_LATEST):
        run(recorded, PREPARED, on_release=set_back)


def test_a_record_that_goes_in_the_middle_of_a_run_stops_it(tmp_path, books):
    recorded = RecordedFederation(InMemoryFederation(CLIENTS), tmp_path / "run")
    recorded.books = Books(books)
    with pytest.raises(FedDPError, match="must have their record next to them"):
        run(recorded, PREPARED, on_release=lambda _: (tmp_path / "run" / "releases.json").unlink())


def test_a_crash_between_result_and_record_uses_what_is_there_for_the_same_query_only(tmp_path, books):
    folder = tmp_path / "run"
    go(folder, books, stop_at=1, seed=3)
    record = folder / "releases.json"
    before = record.read_bytes()
    seen = {path.name: path.read_bytes() for path in folder.glob("*.npy")}
    go(folder, books, stop_at=1, seed=3)
    # As if it had been killed with the second release on disk and not on record: the mark says so too.
    marks = json.loads((books.path.parent / ".odometer.marks.json").read_text())
    run_id = json.loads(before)["run"]
    after = marks["runs"][run_id]["done"]
    record.write_bytes(before)
    marks["runs"][run_id] = {"done": hashlib.sha256(before).hexdigest(), "begun": after}
    (books.path.parent / ".odometer.marks.json").write_text(json.dumps(marks))
    seen |= {path.name: path.read_bytes() for path in folder.glob("*.npy")}
    assert go(folder, books, seed=3) == RELEASES - 2
    assert all((folder / name).read_bytes() == content for name, content in seen.items())


def test_a_newer_record_and_one_of_0_1_are_refused_by_name(tmp_path, books):
    go(tmp_path / "run", books, stop_at=1)
    path = tmp_path / "run" / "releases.json"
    made = json.loads(path.read_text())
    path.write_text(json.dumps(made | {"format": 3}))
    with pytest.raises(FedDPError, match=r"format of releases\.json in 'run' must be from 1 to 2, got 3"):
        go(tmp_path / "run", books)
    path.write_text(json.dumps({name: value for name, value in made.items() if name not in {"format", "run"}}))
    with pytest.raises(BudgetError, match=r"releases\.json in 'run' must name its run; 0\.1 gave runs no id"):
        go(tmp_path / "run", books)


def test_what_cannot_be_kept_is_not_booked(tmp_path, books, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorded_module, "write_whole", full)
    with pytest.raises(FedDPError, match=r"releases must be kept in a folder that can be written, got .*No space left"):
        go(tmp_path / "run", books)
    assert books.entries() == []


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_disk_that_is_full_in_mid_run_costs_nothing(tmp_path, books, monkeypatch, call):
    """The release that could not be kept is shown to nobody, and made again."""
    write, calls = recorded_module.write_whole, iter(range(1, 100))

    def full(*given, **more):
        if next(calls) == 2 + call:
            raise OSError(28, "No space left on device")
        write(*given, **more)

    monkeypatch.setattr(recorded_module, "write_whole", full)
    with pytest.raises(OSError, match="No space"):
        go(tmp_path / "run", books)
    monkeypatch.undo()
    # A release is written in two files: its values and its row on record. Values without a row are used as they are.
    assert go(tmp_path / "run", books) == RELEASES - (call + 1) // 2
    assert len(books.entries()) == 1


def test_a_simulation_is_booked_as_one(tmp_path, books):
    go(tmp_path / "run", books, seed=1)
    assert [entry.secure for entry in books.entries()] == [False]


def test_an_unrecorded_run_is_booked_before_its_first_sum_and_not_if_its_query_is_refused(books):
    federation = InMemoryFederation(CLIENTS)
    federation.books = Books(books, Limit(3.0))
    statistic = next(iter(PREPARED.plan.releases))
    opened = federation.open(PREPARED.plan)
    for name in ("client-sizes", "outer-product"):
        with pytest.raises((BudgetError, FedDPError, TypeError)):
            opened.noisy_sum(REGISTRY[name], statistic, center=np.zeros(3), radius=-1.0)
    assert books.entries() == []
    run(federation, PREPARED)
    run(federation, PREPARED)
    first, second = books.entries()
    assert first.run != second.run
    assert first.what == "a run in Python"
    federation.books = Books(books, Limit(1.6))
    with pytest.raises(BudgetError, match=r"must stay within epsilon 1\.6"):
        run(federation, PREPARED)
    assert len(books.entries()) == 2
