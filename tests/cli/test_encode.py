"""``feddp encode``, and ``feddp fit`` on mixed tables."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.tables.schema import Schema
from tests.cli.command import feddp
from tests.cli.mixed import KINDS, mixed, write_mixed


@pytest.fixture
def folder(tmp_path):
    return write_mixed(tmp_path)


def fit(folder, *more):
    return feddp("fit", folder / "clients", "--server", folder / "server.csv", "-k", 3, "--epsilon", 2, *more)


def test_encode_writes_a_schema_and_says_what_it_did(folder):
    done = feddp("encode", folder / "server.csv", "--out", folder / "schema.json", "--categories", "âge", "--ignore", "income")
    assert done.returncode == 0, done.stderr
    schema = Schema.read(folder / "schema.json")
    assert [field.kind for field in schema.fields] == ["category", "category"]
    assert schema.ignored == (("income", "asked for"),)
    for word in ("âge", "Lyon", "ignored", "other"):
        assert word in done.stdout
    again = feddp("encode", folder / "server.csv", "--out", folder / "schema.json")
    assert (again.returncode, "use --force" in again.stderr) == (1, True)


def test_encode_shows_all_columns_with_reasons_and_the_command_that_works(folder):
    header = "name,x,same,gone,,when,ok,id\n"
    rows = "".join(f"n{i},{i % 7},1,,{i},2021-01-{1 + i % 28:02d},{'yes' if i % 3 else 'no'},{i}\n" for i in range(80))
    (folder / "public.csv").write_text(header + rows)
    shown = feddp("encode", "public.csv", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("public.csv must be public")
    assert shown.stdout.count("ignored") == 5
    for told in ("2021-01-01", "boolean", "distinct", "values"):
        assert told in shown.stdout
    assert not list(folder.glob("*.toml"))
    first, second = (line.split(": ", 1)[1].split() for line in shown.stdout.splitlines()[-2:])
    assert first == ["feddp", "encode", "public.csv", "--out", "schema.toml"]
    assert feddp(*first[1:], cwd=folder).returncode == 0
    assert Schema.read(folder / "schema.toml").names == ("x", "when", "ok")
    (folder / "people").mkdir()
    (folder / "people" / "0.csv").write_text(header + 50 * rows)
    assert second[3:] == ["--server", "public.csv", "--schema", "schema.toml", "-k", "5", "--epsilon", "1"]
    done = feddp(*["people" if word == "CLIENTS" else word for word in second[1:]], "--json", cwd=folder)
    assert done.returncode in {0, USELESS}, done.stderr  # 80 rows: noise may hide them


def test_encode_says_where_words_are_not_text(tmp_path):
    (tmp_path / "public.csv").write_bytes("city,x\nKöln,1\nBonn,2\nKöln,3\n".encode("latin-1"))
    for more, told in (([], True), (["--encoding", "latin-1"], False)):
        done = feddp("encode", tmp_path / "public.csv", *more)
        assert done.returncode == 0, done.stderr
        assert ("public.csv: some cells hold bytes that are not UTF-8 text; --encoding names another" in done.stderr) is told


def test_ranges_and_categories_are_enough(folder):
    stated = ("--range", "âge=0:100", "--range", "income=0:100:log", "--categories", "city=Paris,Lyon,Nice")
    made = feddp("encode", *stated, "--out", folder / "schema.toml")
    assert made.returncode == 0, made.stderr
    assert made.stdout.splitlines()[-1].endswith("--schema " + str(folder / "schema.toml") + " -k 5 --epsilon 1")
    more = (folder / "clients", "-k", 3, "--epsilon", 2, "--seed", 1, "--json")
    results = [json.loads(feddp("fit", *more, *how).stdout) for how in (stated, ("--schema", folder / "schema.toml"))]
    assert sorted(results[0]["columns"]) == sorted(results[1]["columns"])
    for result in results:
        told = sorted((profile for profile in result["profiles"]), key=lambda profile: min(part["error"] for part in profile))
        assert {part["value"] for profile in told for part in profile if part["column"] == "city"} == {"Paris", "Lyon", "Nice"}
    nothing = feddp("encode")
    assert (nothing.returncode, "must be given a public table, or --range" in nothing.stderr) == (1, True)
    typo = feddp("fit", *more, "--range", "incme=0:1")
    assert typo.stderr == "feddp: --range and --categories must name a column of the tables, got 'incme': did you mean income?\n"


def test_a_stated_range_replaces_the_learnt_one(folder):
    result = json.loads(fit(folder, "--range", "âge=0:120", "--json").stdout)
    age, city, _ = Schema.from_dict(result["schema"]).fields
    assert (age.low, age.high, city.kind) == (0, 120, "category")


def test_words_without_a_public_table_are_no_dead_end(folder):
    for path in (folder / "clients").glob("*.csv"):
        path.write_text("when,city,x\n" + "2020-01-01,Paris,1\n" * 5)
    done = feddp("fit", folder / "clients", "-k", 3, "--epsilon", 2)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("feddp: columns 'when', 'city' of 0.csv must hold numbers, got words in most cells")
    assert "--ignore when --ignore city" in line
    assert "--categories NAME=WORD,WORD" in line
    assert "Paris" not in line


def test_fit_learns_the_schema_from_the_server_table_and_tells_clusters_in_its_words(folder):
    done = fit(folder, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    assert "Values, and two standard deviations of their noise" in done.stdout
    result = json.loads((folder / "run" / "result.json").read_text())
    schema = Schema.from_dict(result["schema"])
    assert result["columns"] == list(schema.columns)
    assert pa.parquet.read_table(folder / "run" / "centers.parquet").column_names == list(schema.columns)
    told = sorted((profile for profile in result["profiles"]), key=lambda profile: profile[0]["value"])
    for (age, city, income), (true_age, true_city, true_income) in zip(told, KINDS, strict=True):
        assert age["column"] == "âge"
        assert age["value"] == pytest.approx(true_age, abs=3)
        assert age["error"] > 0
        assert (city["kind"], city["value"]) == ("category", true_city)
        assert sum(city["shares"].values()) == pytest.approx(1)
        assert income["value"] == pytest.approx(true_income, abs=2)


def test_a_schema_file_alone_decides_and_ignored_columns_are_left_out(folder):
    assert feddp("encode", folder / "server.csv", "--out", folder / "schema.json").returncode == 0
    from_file = fit(folder, "--schema", folder / "schema.json", "--json", "--seed", 1)
    learnt = fit(folder, "--json", "--seed", 1)
    first, second = (json.loads(run.stdout) | {"command": None, "spent": None} for run in (from_file, learnt))
    assert first == second
    less = json.loads(fit(folder, "--schema", folder / "schema.json", "--ignore", "city", "--json", "--seed", 1).stdout)
    assert less["columns"] == ["âge", "income"]
    plain = json.loads(fit(folder, "--ignore", "city", "--json", "--seed", 1).stdout)
    assert plain["schema"] is None
    assert plain["columns"] == ["âge", "income"]
    errors = [column["error"] for column in plain["profiles"][0]]  # each column has its own
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(plain["center_stddev"][0])
    assert plain["profiles"][0][0] == {
        "column": "âge",
        "kind": "number",
        "value": plain["centers"][0][0],
        "error": errors[0],
        "shares": None,
    }
    typo = fit(folder, "--ignore", "town")
    assert (typo.returncode, typo.stderr) == (1, "feddp: --ignore must name a column of the tables, got 'town'.\n")


def test_one_mixed_table_with_a_client_column(folder):
    table, _ = mixed(900, 5)
    table = table.append_column("who", pa.array([f"c{i % 30}" for i in range(900)]))
    pa.parquet.write_table(table, folder / "all.parquet")
    more = ("-k", 3, "--epsilon", 2, "--client-column", "who", "--json")
    done = feddp("fit", folder / "all.parquet", "--server", folder / "server.csv", *more)
    result = json.loads(done.stdout)
    assert result["plan"]["facts"]["n_clients"] == 30
    assert not any("who" in name for name in result["columns"])


def test_unseen_words_and_wild_numbers_are_no_error_and_a_lost_column_is(folder):
    (folder / "clients" / "9.csv").write_text("city,income,âge\nAtlantis,1e300,-5\n,oops,\n")
    done = fit(folder, "--json")
    assert done.returncode == 0, done.stderr
    assert np.isfinite(json.loads(done.stdout)["centers"]).all()
    (folder / "clients" / "9.csv").write_text("city,income\nParis,1\n")
    lost = fit(folder)
    assert (lost.returncode, lost.stderr) == (1, "feddp: column 'âge' must be in 9.csv, which has city, income.\n")


def test_a_line_that_is_broken_far_down_is_left_out_and_shown_on_the_terminal_only(folder):
    (folder / "clients" / "9.csv").write_text("city,income,âge\n" + "Paris,20,25\n" * 150_000 + "Paris,20\n")
    done = fit(folder)
    assert done.returncode == 0
    told = "9.csv: 1 of 150,001 rows do not parse; they are left out."
    assert told in done.stderr.splitlines()
    assert "150,001" not in done.stdout
    assert not any(b"they are left out" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_plan_takes_a_mixed_server_table(folder):
    done = feddp("plan", "--server", folder / "server.csv", "-k", 3, "--json")
    assert json.loads(done.stdout)["facts"]["dimension"] == 6


def test_svmlight_clients_with_and_without_a_schema(tmp_path):
    (tmp_path / "clients").mkdir()
    rows = "".join(f"1 {1 + i % 2}:{5 + i % 3} 4:1\n" for i in range(60))
    for path in (tmp_path / "server.svm", tmp_path / "clients" / "0.svm"):
        path.write_text(rows)
    more = ("--server", tmp_path / "server.svm", "-k", 2, "--epsilon", "inf", "--json")
    plain = json.loads(feddp("fit", tmp_path / "clients", *more).stdout)
    assert plain["columns"] == ["x1", "x2", "x3", "x4"]
    assert feddp("encode", tmp_path / "server.svm", "--out", tmp_path / "schema.json").returncode == 0
    scaled = json.loads(feddp("fit", tmp_path / "clients", *more, "--schema", tmp_path / "schema.json").stdout)
    assert scaled["columns"] == ["x1", "x2"]
    assert np.array(scaled["centers"]).max() <= 1
