"""The command as a person runs it: its output, its exit status, its files."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest

from feddp_kmeans import mixture
from feddp_kmeans.tables.advice import words_advice
from tests.cli.command import feddp, feddp_process

RNG = np.random.default_rng(2)
TRUTH = np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4]])


def points(n):
    return TRUTH[RNG.integers(3, size=n)] + 0.1 * RNG.standard_normal((n, 3))


def write_csv(path, rows, header="a,b,c"):
    np.savetxt(path, rows, delimiter=",", header=header, comments="")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clients").mkdir()
    for index, n in enumerate((400, 0, 1, 600)):
        write_csv(tmp_path / "clients" / f"{index}.csv", points(n))
    write_csv(tmp_path / "server.csv", points(40))
    return tmp_path


def fit(folder, *more, clients="clients", server="server.csv", run=feddp):
    return run("fit", folder / clients, "--server", folder / server, "-k", 3, "--epsilon", 2, *more)


def test_fit_writes_a_result_a_table_and_a_page(folder):
    done = fit(folder, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    assert "Adding or removing any one data point" in " ".join(done.stdout.split())
    assert "release: " in done.stderr
    result = json.loads((folder / "run" / "result.json").read_text())
    contract = {
        "centers",
        "noisy_counts",
        "center_stddev",
        "epsilon",
        "delta",
        "privacy_unit",
        "method",
        "ledger",
        "plan",
        "n_clusters",
        "seed",
        "secure",
        "trust",
        "version",
    }
    assert contract <= set(result)
    assert result["secure"] is True
    assert result["ledger"] == result["plan"]["releases"]
    assert result["columns"] == ["a", "b", "c"]
    centers = np.array(result["centers"])
    assert np.linalg.norm(TRUTH[:, None] - centers[None], axis=2).min(axis=1).max() < 0.5
    table = pq.read_table(folder / "run" / "centers.parquet")
    assert table.column_names == ["a", "b", "c"]
    assert np.array_equal(np.column_stack([c.to_numpy() for c in table.itercolumns()]), centers)
    page = (folder / "run" / "report.html").read_text()
    assert "Where the budget went" in page
    assert "://" not in page


def test_json_prints_the_result_and_nothing_else_and_a_seed_repeats_it(folder):
    first, second = (fit(folder, "--json", "--seed", 7, run=run) for run in (feddp_process, feddp))
    assert "Traceback" not in first.stderr
    result = json.loads(first.stdout)
    assert result["seed"] == 7
    assert result["secure"] is False
    assert result["guarantee"].startswith("SIMULATION, NOT PRIVATE")
    again = json.loads(second.stdout)
    assert (result.pop("spent")["runs"], again.pop("spent")["runs"]) == (1, 2)
    assert result == again


def test_one_table_with_a_client_column_and_client_level(folder):
    rows = points(900)
    write_csv(folder / "all.csv", np.column_stack([np.arange(900) % 90, rows]), header="who,a,b,c")
    done = fit(folder, "--client-column", "who", "--unit", "client", "--client-size", 10, "--json", clients="all.csv")
    result = json.loads(done.stdout)
    assert result["privacy_unit"] == "client"
    assert result["plan"]["facts"]["n_clients"] == 90


def test_an_epsilon_that_protects_nobody_is_said_loudly(folder):
    for epsilon, weak in ((8, False), (50, True)):
        done = feddp("fit", folder / "clients", "--server", folder / "server.csv", "-k", 3, "--epsilon", epsilon, "--json")
        told = "epsilon 50 protects hardly anyone: whoever knows all other data may guess right who took part in 100.00 % of cases"
        assert (f"WARNING: {told}; 1 is a strong promise, 4 a weak one.\n" in done.stderr) is weak
        assert (told in json.loads(done.stdout)["remarks"]) is weak


def test_infinite_epsilon_says_that_it_is_not_private(folder):
    done = feddp("fit", folder / "clients", "--server", folder / "server.csv", "-k", 3, "--epsilon", "inf", "--json")
    result = json.loads(done.stdout)
    assert result["epsilon"] == "inf"
    assert result["guarantee"].startswith("NOT PRIVATE")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--epsilon", -1), "epsilon must be positive, got -1.0."),
        (("--delta", 2), "delta must be between 0 and 1, got 2.0."),
        (("-k", 41), "n_clusters must be at most the number of server points, 40, got 41."),
        (("--unit", "row"), "privacy_unit must be 'point' or 'client', got 'row'."),
        (("--lloyd-steps", "many"), "lloyd_steps must be a whole number of at least 0 or 'auto', got 'many'."),
    ],
)
def test_bad_values_get_one_line_and_exit_status_1(folder, more, message):
    done = fit(folder, *more)
    assert done.returncode == 1
    assert done.stderr == f"feddp: {message}\n"
    assert done.stdout == ""


def test_files_that_a_shell_names_are_the_clients_of_their_folder(folder):
    more = ("-k", 3, "--epsilon", 2, "--server", folder / "server.csv", "--seed", 1)
    several = feddp("fit", *sorted((folder / "clients").glob("*.csv")), *more, "--json")
    assert several.returncode == 0, several.stderr
    whole = feddp("fit", folder / "clients", *more, "--json")
    assert json.loads(several.stdout)["centers"] == json.loads(whole.stdout)["centers"]
    assert len(json.loads(feddp("budget", folder / "clients", "--json").stdout)["runs"]) == 2


def test_bad_files_get_one_line_that_names_them(folder):
    (folder / "clients" / "4.csv").write_text("a,b,c\n1,2,x\n")
    done = fit(folder)
    advice = words_advice(["c"])
    told = f"feddp: column 'c' of 4.csv must hold numbers, got words in most cells: {advice}.\n"
    assert (done.returncode, done.stderr) == (1, told)
    (folder / "clients" / "4.csv").write_text("a,b\n1,2\n")
    assert "4.csv must have the columns of the other tables, a, b, c, got no 'c': add what is missing to the file, or" in fit(folder).stderr
    (folder / "clients" / "4.csv").unlink()
    write_csv(folder / "other.csv", points(40), header="a,b,z")
    assert "0.csv must have the columns of the other tables, a, b, z, got no 'z', but" in fit(folder, server="other.csv").stderr
    assert "file must exist" in fit(folder, server="none.csv").stderr


def test_a_result_is_not_replaced_unless_asked(folder):
    assert fit(folder, "--out", folder / "run").returncode == 0
    again = fit(folder, "--out", folder / "run")
    assert again.returncode == 1
    assert "use --force" in again.stderr
    assert fit(folder, "--out", folder / "run", "--force").returncode == 0


def test_usage_errors_have_exit_status_2():
    assert feddp("fit").returncode == 2
    assert feddp("nonsense").returncode == 2


def test_plan_reads_no_client_data(folder):
    done = feddp("plan", "--server", folder / "server.csv", "-k", 3, "--epsilon", 1, "--method", "paper")
    assert done.returncode == 0
    assert "outer product" in done.stdout
    bare = feddp("plan", "-k", 10, "--dimension", 100, "--epsilon", 1, "--radius", 11, "--method", "paper", "--json")
    assert json.loads(bare.stdout)["releases"][0]["l2_sensitivity"] == 121
    assert "--server, --schema, --range or a --dimension" in feddp("plan", "-k", 3).stderr
    plan = json.loads(feddp("plan", "--server", folder / "server.csv", "-k", 3, "--json").stdout)
    assert plan["epsilon_spent"] <= 1


@pytest.mark.parametrize("more", [{"n_clients": 20, "client_size": 200, "dimension": 20}, pytest.param({}, marks=pytest.mark.slow)])
def test_demo_runs_end_to_end(tmp_path, monkeypatch, more):
    monkeypatch.setattr(mixture, "gaussian_mixture", partial(mixture.gaussian_mixture, **more))
    done = feddp("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "above optimal" in done.stdout
    assert (tmp_path / "out" / "report.html").exists()


def test_version_and_help():
    assert feddp("--version").stdout.startswith("feddp 0.")
    for command in ("demo", "plan", "fit", "report"):
        assert feddp(command, "--help").returncode == 0


def test_fit_without_server_data(folder):
    done = feddp("fit", folder / "clients", "-k", 3, "--epsilon", 2, "--box", "-1,5", "--seed", 0, "--json")
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert np.linalg.norm(TRUTH[:, None] - np.array(result["centers"])[None], axis=2).min(axis=1).max() < 0.5
    assert result["plan"]["facts"]["n_server_points"] == 0
    refused = feddp("fit", folder / "clients", "-k", 3, "--epsilon", 2, "--box", "1")
    assert (refused.returncode, "--box must be two numbers LOW,HIGH" in refused.stderr) == (1, True)
    planned = json.loads(feddp("plan", "-k", 3, "--dimension", 5, "--epsilon", 1, "--json").stdout)
    assert [row["release"] for row in planned["releases"]][:3] == ["columns", "distances", "mean"]


def test_a_command_ends_at_once():
    """Without a last search for garbage: fifty sites that are told to end at once on two cores would take more than ten seconds."""
    check = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1000)); import feddp_kmeans.cli.main"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
