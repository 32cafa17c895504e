"""``feddp profile`` as a person runs it."""

import json

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.privacy.odometer import Odometer
from tests.cli.command import feddp
from tests.cli.people import people_lines

STATED = ("--columns", "age,sex", "--range", "age=0:110", "--categories", "sex=f,m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    rows = [f"c{i // 4},{line}" for i, line in enumerate(people_lines())]
    (folder / "people.csv").write_text("who,income,age,sex\n" + "\n".join(rows) + "\n")
    more = ("--ignore", "who", "--ignore", "age", "--ignore", "sex", "--range", "income=0:100")
    done = feddp("fit", "people.csv", "-k", 2, "--epsilon", 4, *more, "--out", "run", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_profile_is_shown_written_and_booked(folder):
    done = feddp("profile", "run", "people.csv", *STATED, "--epsilon", 2, "--ignore", "who", cwd=folder)
    assert done.returncode == 0, done.stderr
    for told in (
        "cluster 0",
        "cluster 1",
        "age",
        "mean",
        "(missing)",
        "What was released",
        "e^2",
        "2 runs on these data so far",
        "profile.json",
    ):
        assert told in done.stdout, told
    found = json.loads((folder / "run" / "profile.json").read_text())
    age = next(column for column in found["columns"] if column["column"] == "age")
    assert sorted(round(mean, -1) for mean in age["means"][:2]) == [30, 50]
    assert not (folder / "run" / "profile.json.run").exists()
    assert [entry.plan.epsilon for entry in Odometer(folder / ".feddp-budget.jsonl").entries()] == [4.0, 2.0]
    again = feddp("profile", "run", "people.csv", *STATED, "--epsilon", 2, "--ignore", "who", cwd=folder)
    assert (again.returncode, "use --force" in again.stderr) == (1, True)


def test_noise_that_hides_every_cluster_has_an_exit_status_of_its_own(folder):
    more = ("--epsilon", 0.001, "--ignore", "who", "--out", "hidden.json", "--json")
    done = feddp("profile", "run", "people.csv", *STATED, *more, cwd=folder)
    assert done.returncode in {0, USELESS}
    made = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
    assert any(made["shown"]) == (done.returncode == 0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--columns", "age", "--epsilon", 1), "column 'age' must have"),
        (("--columns", "height", "--epsilon", 1), "column 'height' must have"),
        (("--columns", ",", "--epsilon", 1), "columns must be a list of names"),
        ((*STATED, "--epsilon", 0), "epsilon must be"),
        ((*STATED, "--epsilon", 1, "--limit", 0.5), "must stay within epsilon 0.5"),
    ],
)
def test_refusals_are_one_line_and_spend_nothing(folder, given, told):
    before = len(Odometer(folder / ".feddp-budget.jsonl").entries())
    done = feddp("profile", "run", "people.csv", *given, "--ignore", "who", "--out", "refused.json", cwd=folder)
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(Odometer(folder / ".feddp-budget.jsonl").entries()) == before


@pytest.mark.filterwarnings("ignore")
def test_an_engine_gives_the_same_profile(folder):
    pytest.importorskip("dask.dataframe")
    pq.write_table(csv.read_csv(folder / "people.csv"), folder / "people.parquet")
    found = []
    for number, more in enumerate(((), ("--silo", "dask"))):
        options = ("--epsilon", 2, "--ignore", "who", "--seed", 1, "--odometer", "engines.jsonl", "--out", f"engine{number}.json", "-q")
        done = feddp("profile", "run", "people.parquet", "--columns", "income,sex", "--categories", "sex=f,m", *options, *more, cwd=folder)
        assert done.returncode == 0, done.stderr
        found.append(json.loads((folder / f"engine{number}.json").read_text()))
    assert found[0]["columns"] == found[1]["columns"]
