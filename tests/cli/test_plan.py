"""``feddp plan``: with the options of a fit, the plan of that fit, without its clients."""

import json

import pytest

from feddp_kmeans.cli.show import USELESS
from tests.cli.command import feddp
from tests.cli.mixed import write_mixed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_mixed(tmp_path_factory.mktemp("plan"))
    feddp("encode", "server.csv", "--out", "schema.json", cwd=folder)
    (folder / "caret.csv").write_text("größe^b^w\n" + "".join(f"{i % 7}^{i % 5}^x\n" for i in range(60)), encoding="latin-1")
    return folder


@pytest.mark.parametrize(
    "more",
    [
        ("--server", "server.csv"),
        ("--server", "server.csv", "--schema", "schema.json"),
        ("--schema", "schema.json"),
        ("--schema", "schema.json", "--ignore", "city", "--unit", "client", "--client-size", 9),
        ("--server", "caret.csv", "--ignore", "w", "--delimiter", "^", "--encoding", "latin-1"),
    ],
)
def test_the_plan_is_that_of_the_fit_with_the_same_options(folder, more):
    clients = "caret.csv" if "caret.csv" in more else "clients"
    n_clients = 1 if clients == "caret.csv" else len(list((folder / "clients").iterdir()))
    options = ("-k", 3, "--epsilon", 1, "--lloyd-steps", 1, *more)
    done = feddp("fit", clients, *options, "--json", "--odometer", folder / "budget.jsonl", "--out", folder / "run", "--force", cwd=folder)
    assert done.returncode in {0, USELESS}, done.stderr
    planned = feddp("plan", *options, "--clients", n_clients, "--json", cwd=folder)
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout) == json.loads(done.stdout)["plan"]


def test_a_plan_without_any_facts_is_refused(folder):
    assert (
        "--server, --schema, --range or a --dimension of at least 1 must be given, got None." in feddp("plan", "-k", 3, cwd=folder).stderr
    )


def test_ranges_and_categories_are_planned_without_any_file():
    done = feddp("plan", "-k", 3, "--range", "age=0:120", "--categories", "sex=female,male", "--json")
    facts = json.loads(done.stdout)["facts"]
    assert (facts["dimension"], facts["radius"]) == (3, pytest.approx(1.5**0.5))
