"""``feddp knots`` as a person runs it."""

import json

import numpy as np
import pytest

from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.tables.schema import Schema
from tests.cli.command import feddp

GIVEN = ("knots", "people.csv", "income,hours", "--epsilon", 1, "--ignore", "who", "--ignore", "gone", "--categories", "sex=female,male")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    hours = np.where(rng.random(6000) < 0.3, 0, rng.integers(1, 60, 6000))
    incomes = rng.lognormal(10, 1.5, 6000)
    rows = [f"c{i // 3},{income:.2f},{'' if i % 50 == 0 else hour},{'female' if i % 2 else 'male'},7," for i, (income, hour) in
            enumerate(zip(incomes, hours, strict=True))]  # fmt: skip
    (tmp_path / "people.csv").write_text("who,income,hours,sex,same,gone\n" + "\n".join(rows) + "\n")
    return tmp_path


def booked(folder):
    return Odometer(folder / ".feddp-budget.jsonl").entries()


def test_knots_are_written_and_the_next_command_works(folder):
    done = feddp(*GIVEN, "--out", "schema.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    for told in ("Knots, and how far their ranks may be off", "income", "± ", "What was released", "e^1", "1 run on these data so far"):
        assert told in done.stdout
    schema = Schema.read(folder / "schema.toml")
    assert schema.names == ("income", "hours", "sex", "same")
    income, hours = schema.fields[:2]
    assert len(income.knots) == 11
    assert hours.knots[0] == 0
    assert (folder / "schema.toml").read_text().startswith("# Knots of income, hours: learnt from clients, for epsilon 1, ")
    assert not (folder / "schema.toml.run").exists()
    (entry,) = booked(folder)
    assert (entry.plan.epsilon, entry.table, entry.what.startswith("feddp knots people.csv income,hours")) == (1.0, "people.csv", True)
    following = done.stdout.splitlines()[-1].removeprefix("Next: feddp ").split()
    fitted = feddp(*following, "-q", cwd=folder)
    assert fitted.returncode in {0, USELESS}, fitted.stderr
    assert len(booked(folder)) == 2
    again = feddp(*GIVEN, "--out", "schema.toml", cwd=folder)
    assert (again.returncode, "use --force" in again.stderr) == (1, True)
    assert len(booked(folder)) == 2


def test_whole_clients_ranges_and_an_old_schema(folder):
    (folder / "old.toml").write_text('[columns.income]\nrange = [0, 1e7]\nscale = "log"\n[columns.hours]\nnumber = true\n')
    more = ("--schema", "old.toml", "--unit", "client", "--client-column", "who", "--range", "hours=0:168", "--json")
    done = feddp("knots", "people.csv", "hours,income", "--epsilon", 2, *more, "--out", "new.json", cwd=folder)
    made = json.loads(done.stdout)
    schema = Schema.read(folder / "new.json")
    assert Schema.from_dict(made["schema"]) == schema
    assert [(column.low, column.high, column.scale) for column in schema.fields] == [(0, 1e7, "quantile"), (0, 168, "quantile")]
    assert made["plan"]["privacy_unit"] == booked(folder)[0].plan.unit.value == "client"
    assert made["plan"]["facts"]["n_clients"] == 2000
    assert set(made["rank_errors"]) == {"income", "hours"}


def test_a_column_without_knots_is_said_and_ends_with_status_3(folder):
    given = ("knots", "people.csv", "same,gone,income", "--epsilon", 2, "--ignore", "who", "--ignore", "sex")
    done = feddp(*given, "--out", "schema.toml", cwd=folder)
    assert done.returncode == USELESS
    first, second = done.stdout.splitlines()[:2]
    assert first == "Warning: column 'same' has no knots: its values do not differ as far as noise lets us see."
    assert second.startswith("Warning: column 'gone' has no knots: noise hides where its values lie; a larger epsilon")
    kinds = [column.kind for column in Schema.read(folder / "schema.toml").fields]
    assert kinds == ["number", "open", "open", "open"]
    quiet = feddp(*given, "--out", "other.toml", "--quiet", cwd=folder)
    assert (quiet.returncode, quiet.stdout) == (USELESS, "")
    assert quiet.stderr.splitlines()[-1].startswith("feddp: written, but column 'same' has no knots")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("people.csv", "incme", *GIVEN[5:]), "columns must be in the table and its schema, got 'incme': did you mean income?"),
        (("people.csv", "sex", *GIVEN[5:]), "column 'sex' must hold numbers to have knots, got kind 'category'."),
        (("people.csv", ","), "columns must be a list of names"),
        (("people.csv", "income"), "columns 'who', 'sex' of people.csv must hold numbers, got words in most cells: leave them out with"),
        (("people.csv", "income", "--range", "incme=0:1"), "--range and --categories must name a column of the tables, got 'incme'"),
        (("people.csv", "income", *GIVEN[5:], "--range", "income=1:0"), "low of column 'income' must be below high"),
        (("people.csv", "income", "--client-column", "whom"), "must"),
        (("people.csv", "income", "--unit", "house"), "privacy_unit must be 'point' or 'client', got 'house'."),
        (("people.csv", "income", "--delta", 2), "delta must be"),
        (("people.csv", "income", "--limit", -1), "limit must be a positive epsilon"),
        (("people.csv", "income", *GIVEN[5:], "--limit", 0.5), "must stay within epsilon 0.5"),
        (("people.csv", "income", "--out", "people.csv", "--force"), "--out must end in .toml or .json, got 'people.csv'."),
        (("people.csv", "income", "--out", "none/schema.toml"), "--out must be in a folder that exists"),
        (("nobody.csv", "income"), "clients must exist"),
        (("broken.parquet", "income"), "broken.parquet must be a readable .parquet table"),
    ],
)
def test_what_cannot_be_learnt_is_refused_in_one_line_and_nothing_is_booked(folder, given, told):
    (folder / "broken.parquet").write_bytes(b"no table")
    before = (folder / "people.csv").read_bytes()
    done = feddp("knots", *given, "--epsilon", 1, *(() if "--out" in given else ("--out", "schema.toml")), cwd=folder)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("feddp: ")]
    assert (done.returncode, told in line) == (1, True), done.stderr
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) == ["broken.parquet", "people.csv"]
    assert not booked(folder) if (folder / ".feddp-budget.jsonl").exists() else True
    assert (folder / "people.csv").read_bytes() == before


def test_an_interrupted_run_goes_on_for_nothing_and_only_with_its_own_columns(folder, monkeypatch):
    asked, made = [], ExactAdder.noisy_sum

    def stopped(*given):
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return made(*given)

    monkeypatch.setattr(ExactAdder, "noisy_sum", stopped)
    done = feddp(*GIVEN, "--out", "schema.toml", cwd=folder)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "feddp: stopped; what was released is kept. Continue with the same options and --out schema.toml"
    assert not (folder / "schema.toml").exists()
    other = feddp("knots", "people.csv", "income,same", *GIVEN[3:], "--out", "schema.toml", cwd=folder)
    assert (other.returncode, "must be of this very plan and seed" in other.stderr) == (1, True)
    assert feddp(*GIVEN, "--out", "schema.toml", cwd=folder).returncode == 0
    assert len(asked) == 5  # two releases before, one that was stopped, and the last two
    assert len(booked(folder)) == 1


def test_a_rehearsal_seed_says_that_it_is_not_private(folder):
    runs = [feddp(*GIVEN, "--seed", 3, "--out", name, cwd=folder) for name in ("a.toml", "b.toml")]
    assert all("SIMULATION, NOT PRIVATE" in run.stdout for run in runs)
    assert (folder / "a.toml").read_bytes() == (folder / "b.toml").read_bytes()
    assert not booked(folder)[0].secure
