"""Nothing that was paid for is lost: every fit keeps its releases, and goes on for nothing."""

import json
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.algorithm import tracking
from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.privacy.odometer import Odometer, total_for
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.cli.command import feddp, with_data
from tests.variants import slow_after

GIVEN = ("fit", "clients", "--server", "server.npy", "-k", 2, "--epsilon", 1, "--lloyd-steps", 1)


@pytest.fixture
def folder(tmp_path):
    return with_data(tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """Counts the sums that clients are asked for; stops at ``stop_at`` as Ctrl-C does."""

    class Asked:
        count, stop_at, error = 0, 10**9, KeyboardInterrupt

    made = ExactAdder.noisy_sum

    def counted(*given, **more):
        if Asked.count >= Asked.stop_at:
            raise Asked.error
        Asked.count += 1
        return made(*given, **more)

    monkeypatch.setattr(ExactAdder, "noisy_sum", counted)
    return Asked


def stopped(folder, asked, *given, at):
    asked.stop_at = at
    done = feddp(*given, cwd=folder)
    asked.stop_at, asked.count = 10**9, 0
    return done


def booked(folder):
    return Odometer(folder / "clients" / ".feddp-budget.jsonl").entries()


def result_of(folder, name):
    return json.loads((folder / name / "result.json").read_text())


@pytest.mark.parametrize("seed", [(), ("--seed", 5)])
@pytest.mark.parametrize("at", slow_after(1, [1, 0, 2]))
def test_a_fit_that_was_interrupted_goes_on_and_pays_once(folder, asked, at, seed):
    done = stopped(folder, asked, *GIVEN, *seed, "--out", "run", at=at)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "feddp: stopped; what was released is kept. Continue with the same options and --resume run"
    assert not (folder / "run" / "result.json").exists()
    assert len(booked(folder)) == 1
    again = feddp(*GIVEN, *seed, "--out", "run", cwd=folder)
    assert again.returncode == 1
    assert "--out must not hold releases already, got 'run': --resume run continues with them, --force pays again." in again.stderr
    done = feddp(*GIVEN, *seed, "--resume", "run", cwd=folder)
    assert done.returncode in {0, USELESS}, done.stderr
    result = result_of(folder, "run")
    assert asked.count == len(list((folder / "run").rglob("*.npy"))) - at
    assert len(booked(folder)) == 1
    if seed:
        assert feddp(*GIVEN, *seed, "--out", "whole", cwd=folder).returncode in {0, USELESS}
        assert result_of(folder, "whole")["centers"] == result["centers"]


def test_a_run_that_left_releases_out_counts_with_its_whole_plan_wherever_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(tracking, "_first_part", lambda *_: 1)
    assert feddp(*GIVEN, "--out", "run", cwd=folder).returncode in {0, USELESS}  # few releases: noise may hide the clusters
    assert result_of(folder, "run")["not_made"]["looks"] > 1000
    spent = [json.loads(feddp("budget", place, "--json", cwd=folder).stdout)["totals"] for place in ("clients", "run")]
    assert spent[0] == spent[1]


def test_a_finished_fit_is_written_again_from_its_releases(folder, asked):
    assert feddp(*GIVEN, "--out", "run", cwd=folder).returncode in {0, USELESS}
    first, asked.count = result_of(folder, "run"), 0
    (folder / "run" / "report.html").unlink()
    for more in (("--resume", "run"), ("--resume", "run/", "--out", folder / "run"), ("--resume", "run", "--out", "second")):
        assert feddp(*GIVEN, *more, cwd=folder).returncode in {0, USELESS}
    assert asked.count == 0
    assert len(booked(folder)) == 1
    for name in ("run", "second"):
        assert result_of(folder, name)["centers"] == first["centers"]
        assert (folder / name / "report.html").exists()


def test_a_result_that_cannot_be_written_loses_nothing(folder, asked, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    from feddp_kmeans.report import result

    with monkeypatch.context() as patch:
        patch.setattr(result, "write_result", full)
        done = feddp(*GIVEN, "--out", "run", cwd=folder)
    assert done.returncode == 1
    assert "what was released is kept. Continue with the same options and --resume run" in done.stderr
    assert "feddp: the run must be able to read its data and to write its folder, got [Errno 28] No space left on device." in done.stderr
    asked.count = 0
    assert feddp(*GIVEN, "--resume", "run", cwd=folder).returncode in {0, USELESS}
    assert (asked.count, len(booked(folder))) == (0, 1)


@pytest.mark.parametrize("options", [(), ("-q",), ("--json",)])
def test_a_fit_has_a_folder_without_being_given_one(folder, options):
    done = feddp(*GIVEN, *options, cwd=folder)
    assert done.returncode in {0, USELESS}
    (made,) = folder.glob("feddp-*")
    assert re.fullmatch(r"feddp-\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\d", made.name)
    assert {path.name for path in made.iterdir()} == {"result.json", "centers.parquet", "report.html", "releases"}
    told = {"": done.stdout, "-q": "", "--json": done.stderr}["".join(options)]
    assert (made.name in told) is (options != ("-q",))
    if options == ("--json",):
        assert json.loads(done.stdout)["centers"] == result_of(folder, made.name)["centers"]
    assert feddp(*GIVEN, "-q", cwd=folder).returncode in {0, USELESS}  # also within the same second
    assert len(list(folder.glob("feddp-*"))) == 2


@pytest.mark.parametrize(
    ("clients", "out"),
    slow_after(
        2,
        [
            ("**/*", ()),
            ("clients/*/*", ("--out", "clients/run")),
            ("*/*", ()),
            ("*/*.parquet", ()),
            ("feddp-*/*", ()),
            ("**/*.npy", ()),
        ],
    ),
)
def test_a_result_is_never_read_as_a_client(folder, clients, out):
    """A pattern that matches all that the first run wrote finds the same clients in the second."""
    (folder / "feddp-old").mkdir()
    (folder / "clients" / "more").mkdir()
    for place in ("feddp-old", "clients/more"):
        shutil.copy(folder / "clients" / "0.npy", folder / place / "0.npy")
    if clients == "*/*.parquet":
        pq.write_table(pa.table({"x0": [1.0, 2.0], "x1": [3.0, 4.0]}), folder / "clients" / "0.parquet")
    found = []
    for _ in range(2):
        done = feddp("fit", clients, "--server", "server.npy", *GIVEN[4:], "--json", *out, "--force", cwd=folder)
        assert done.returncode in {0, USELESS}, done.stderr
        found.append(json.loads(done.stdout)["plan"]["facts"]["n_clients"])
    assert found[0] == found[1] > 0


@pytest.mark.parametrize(
    ("clients", "where", "out"), [("clients", ".", "clients"), (".", "clients", "."), ("clients", ".", "clients/../clients")]
)
def test_a_result_is_not_written_among_the_clients_tables(folder, clients, where, out):
    before = sorted(folder.rglob("*"))
    done = feddp("fit", clients, *GIVEN[4:], "--box=-9,9", "--out", out, cwd=folder / where)
    assert done.returncode == 1
    assert "--out must be another folder than that of the clients, got" in done.stderr
    assert sorted(folder.rglob("*")) == before


def test_a_folder_inside_the_clients_folder_is_no_client(folder):
    done = feddp("fit", ".", "--server", "../server.npy", *GIVEN[4:], "-q", cwd=folder / "clients")
    assert done.returncode in {0, USELESS}, done.stderr
    again = feddp("fit", ".", "--server", "../server.npy", *GIVEN[4:], "--json", cwd=folder / "clients")
    assert json.loads(again.stdout)["plan"]["facts"]["n_clients"] == 3


def test_a_refused_run_leaves_no_folder_and_no_entry(folder):
    for more in (("--limit", 0.5), ("--limit", 0.5, "--out", "run")):
        done = feddp(*GIVEN, *more, cwd=folder)
        assert done.returncode == 1
        assert "must stay within epsilon 0.5" in done.stderr
        assert "kept" not in done.stderr
    assert booked(folder) == []
    assert sorted(path.name for path in folder.iterdir()) == ["clients", "server.npy"]


@pytest.mark.parametrize("what", ["emptied", "removed", "nowhere"])
def test_only_a_folder_with_releases_is_gone_on_with(folder, what):
    look = ("choose-k", *GIVEN[1:4], "--epsilon", 1, "--max-clusters", 3, "--out", "look", "-q")
    assert feddp(*look, cwd=folder).returncode == 0
    if what == "removed":
        shutil.rmtree(folder / "look" / "releases")
    elif what == "emptied":
        for file in (folder / "look" / "releases").iterdir():
            file.unlink()
    where = "nowhere" if what == "nowhere" else "look"
    done = feddp(*GIVEN, "--max-clusters", 3, "--resume", where, cwd=folder)
    assert done.returncode == 1
    assert f"--resume must be a folder with the releases of a feddp fit or choose-k, got '{where}'" in done.stderr
    if what != "nowhere":  # The look is made again, and paid again: 1.29 or so is spent and shown, not 0.9995.
        assert feddp(*look, cwd=folder).returncode == 0
        first, second = booked(folder)
        assert first.run != second.run
        assert total_for(PrivacyUnit.POINT, booked(folder), 1e-6).epsilon > 1.25


def test_force_beyond_the_limit_leaves_what_was_paid_for(folder):
    assert feddp(*GIVEN, "--out", "run", cwd=folder).returncode == 0
    before = {path.name: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    refused = feddp(*GIVEN, "--out", "run", "--force", "--limit", 1.1, cwd=folder)
    assert (refused.returncode, len(booked(folder))) == (1, 1)
    assert {path.name: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()} == before


def test_force_pays_for_new_releases(folder, asked):
    stopped(folder, asked, *GIVEN, "--out", "run", at=2)
    assert feddp(*GIVEN, "--out", "run", "--force", cwd=folder).returncode == 0
    assert asked.count == len(list((folder / "run").rglob("*.npy")))
    assert len({entry.run for entry in booked(folder)}) == 2


def test_a_copied_run_folder_goes_on_once(folder, asked):
    stopped(folder, asked, *GIVEN, "--out", "run", at=2)
    shutil.copytree(folder / "run", folder / "copy")
    assert feddp(*GIVEN, "--resume", "copy", cwd=folder).returncode == 0
    asked.count = 0
    done = feddp(*GIVEN, "--resume", "run", cwd=folder)
    assert done.returncode == 1
    assert "must go on from its latest state, booked on this odometer" in done.stderr
    assert "kept" not in done.stderr
    assert asked.count == 0


def test_a_choose_k_that_was_interrupted_says_how_it_goes_on(folder, asked):
    look = ("choose-k", *GIVEN[1:4], "--epsilon", 1, "--max-clusters", 3, "--out", "look")
    done = stopped(folder, asked, *look, at=1)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "feddp: stopped; what was released is kept. Continue with the same options and --out look"
    assert feddp(*look, cwd=folder).returncode == 0
    assert feddp(*GIVEN[:-2], "--max-clusters", 3, "--resume", "look", "-q", cwd=folder).returncode == 0
    assert len(booked(folder)) == 1
