"""Choosing k, the odometer and manners, as a person meets them."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from feddp_kmeans.cli.budget import budget_dict, run_entries
from tests.cli.command import COMMAND, feddp, feddp_process


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    means = 6 * rng.standard_normal((4, 5))
    (tmp_path / "clients").mkdir()
    for index in range(6):
        np.save(tmp_path / "clients" / f"{index}.npy", means[rng.integers(4, size=500)] + 0.3 * rng.standard_normal((500, 5)))
    np.save(tmp_path / "server.npy", means[rng.integers(4, size=60)] + 0.3 * rng.standard_normal((60, 5)))
    return tmp_path


def test_k_is_chosen_and_the_fit_pays_nothing_twice(folder):
    given = ["clients", "--server", "server.npy", "--epsilon", 8, "--max-clusters", 8]
    looked = feddp("choose-k", *given, "--out", "look", cwd=folder)
    assert looked.returncode == 0, looked.stderr
    assert "<- picked" in looked.stdout
    made = json.loads((folder / "look" / "choose_k.json").read_text())
    picked = made["elbow"]["picked"]
    assert 2 <= picked <= 7  # Noise is secure here, so the pick may differ from run to run.
    assert (folder / "look" / "elbow.svg").read_text().startswith("<svg")
    paid = sum(row["times"] for row in made["ledger"])

    fitted = feddp("fit", *given, "-k", 5, "--resume", "look", "--out", "run", "--json", cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    result = json.loads(fitted.stdout)
    assert result["n_clusters"] == 5
    assert result["elbow"]["picked"] == picked
    assert sum(row["times"] for row in result["ledger"]) > paid
    assert "How the number of clusters was chosen" in (folder / "run" / "report.html").read_text()

    total = json.loads(feddp("budget", "clients", "--json", cwd=folder).stdout)
    assert len(total["runs"]) == 1
    assert 7.8 < total["totals"][0]["epsilon"] <= 8

    other = feddp("fit", "clients", "--server", "server.npy", "--epsilon", 4, "-k", 4, "--resume", "look", cwd=folder)
    assert other.returncode == 1
    assert "must be of this very plan and seed; they belong to another run" in other.stderr
    assert not list(folder.glob("feddp-*"))


def test_a_run_goes_on_only_where_it_is_booked(folder):
    given = ["--server", "server.npy", "--epsilon", 8, "--max-clusters", 8]
    assert feddp("choose-k", "clients", *given, "--out", "look", "--quiet", cwd=folder).returncode == 0
    (folder / "others").mkdir()
    for file in (folder / "clients").glob("*.npy"):
        (folder / "others" / file.name).write_bytes(file.read_bytes())
    elsewhere = feddp("fit", "others", *given, "-k", "auto", "--resume", "look", cwd=folder)
    assert elsewhere.returncode == 1
    assert "must be booked, with this very plan, on the odometer of its data" in elsewhere.stderr
    assert "release:" not in elsewhere.stderr
    (folder / "look" / "choose_k.json").unlink()  # as if the look had been interrupted
    look = feddp("choose-k", "others", *given, "--out", "look", cwd=folder)
    assert look.returncode == 1
    assert "must be booked, with this very plan, on the odometer of its data" in look.stderr
    assert "release:" not in look.stderr
    wish = feddp("fit", "clients", *given, "-k", "many", "--resume", "look", cwd=folder)
    assert wish.returncode == 1
    assert "n_clusters must be a whole number of at least 1 or 'auto', got 'many'" in wish.stderr


def test_auto_needs_no_server_data(folder):
    fitted = feddp("fit", "clients", "-k", "auto", "--epsilon", "inf", "--max-clusters", 8, "--box", "-40,40", "--json", cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    result = json.loads(fitted.stdout)
    assert result["n_clusters"] == result["elbow"]["picked"] == 4


def test_runs_add_up_and_a_limit_refuses_before_anything_is_released(folder):
    given = ["fit", "clients", "--server", "server.npy", "-k", 4, "--epsilon", 1, "--quiet"]
    for _ in range(2):
        assert feddp(*given, cwd=folder).returncode == 0
    shown = feddp("budget", "clients", cwd=folder)
    assert "over 2 runs" in shown.stdout
    assert "client: no bound, 2 of 2 runs protect points only" in shown.stdout
    refused = feddp(*given, "--limit", 1.6, "--out", "run", cwd=folder)
    assert refused.returncode == 1
    assert "must stay within epsilon 1.6; with this run it is point: epsilon 1.8" in refused.stderr
    assert "release:" not in refused.stderr
    assert not (folder / "run").exists()
    look = feddp("choose-k", *given[1:4], "--epsilon", 1, "--limit", 1.6, "--out", "look", cwd=folder)
    assert look.returncode == 1
    assert "must stay within epsilon 1.6; with this run it is point: epsilon 1.8" in look.stderr
    assert len((folder / "clients" / ".feddp-budget.jsonl").read_text().splitlines()) == 2
    simulated = feddp(*given, "--seed", 1, "--odometer", "other.jsonl", cwd=folder)
    assert simulated.returncode == 0
    assert "NOT PRIVATE" in feddp("budget", "other.jsonl", cwd=folder).stdout
    look = ["choose-k", *given[1:4], "--epsilon", 1, "--max-clusters", 4, "--out", "simulated", "--quiet"]
    assert feddp(*look, "--seed", 1, "--odometer", "look.jsonl", cwd=folder).returncode == 0
    assert "NOT PRIVATE" in feddp("budget", "look.jsonl", cwd=folder).stdout


@pytest.mark.parametrize("command", ["fit", "choose-k"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_spent(folder, command):
    given = ["clients", "--server", "server.npy", "--epsilon", 8, "--max-clusters", 8, "--out", "server.npy/run"]
    done = feddp(command, *given, *(["-k", 4] if command == "fit" else []), cwd=folder)
    assert done.returncode != 0
    assert done.stderr.startswith("feddp: --out must be a folder, got 'server.npy/run'")
    assert feddp("budget", "clients", cwd=folder).returncode != 0  # There is no odometer: nothing was booked.


def test_run_folders_add_up_too(folder):
    for name in ("a", "b"):
        given = ["clients", "--server", "server.npy", "-k", 4, "--epsilon", 1, "--odometer", f"{name}.jsonl"]
        assert feddp("fit", *given, "--out", name, "--quiet", cwd=folder).returncode == 0
    total = json.loads(feddp("budget", "a", "b", "--json", cwd=folder).stdout)["totals"][0]
    assert 1.3 < total["epsilon"] < 1.6
    nothing = feddp("budget", "nowhere", cwd=folder)
    assert nothing.returncode == 1
    assert "must be a data set with past runs" in nothing.stderr


@pytest.mark.parametrize(("secure", "epsilon"), [(True, 1.0), (False, 1.0), (True, "inf")])
def test_a_run_folder_that_is_not_private_is_not_counted_as_one(tmp_path, secure, epsilon):
    row = {"release": "r", "mechanism": "gaussian", "l2_sensitivity": 1.0, "noise_multiplier": 5.0, "times": 1, "values": 3}
    result = {"privacy_unit": "point", "epsilon": epsilon, "delta": 1e-6, "secure": secure, "plan": {"sampling_rate": 1.0}, "ledger": [row]}
    (tmp_path / "result.json").write_text(json.dumps(result))
    (entry,) = run_entries([tmp_path])
    assert entry.private is (secure and epsilon == 1.0)
    assert ("NOT PRIVATE" in feddp("budget", tmp_path).stdout) is not entry.private
    assert (budget_dict([entry], 1e-6)["totals"][0]["epsilon"] is None) is not entry.private


def test_quiet_is_quiet_and_no_colour_means_none(folder):
    given = ["fit", "clients", "--server", "server.npy", "-k", 4, "--epsilon", 1]
    quiet = feddp(*given, "--quiet", cwd=folder)
    assert (quiet.stdout, quiet.stderr, quiet.returncode) == ("", "", 0)
    plain = feddp_process(*given, cwd=folder, env=os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "", "TERM": "xterm"})
    assert "\x1b[3" not in plain.stdout
    assert plain.returncode == 0


def test_a_useless_result_is_written_in_full_and_loud(folder):
    given = ["fit", "clients", "--server", "server.npy", "-k", 4, "--epsilon", 0.001]
    shown = feddp(*given, "--out", "run", cwd=folder)
    assert shown.returncode == 3
    assert shown.stdout.startswith("This result is useless: it says nothing about the clusters.\nWarning: ")
    result = json.loads((folder / "run" / "result.json").read_text())
    assert result["useless"] == result["remarks"][0]
    assert {"report.html", "centers.parquet"} <= {path.name for path in (folder / "run").iterdir()}
    quiet = feddp(*given, "--quiet", cwd=folder)
    assert (quiet.returncode, quiet.stdout) == (3, "")
    assert quiet.stderr.startswith("feddp: finished and written, but useless: ")
    printed = feddp(*given, "--json", cwd=folder)
    assert printed.returncode == 3
    assert json.loads(printed.stdout)["useless"]


def test_a_result_says_what_all_runs_have_spent_and_which_columns_it_left_out(folder):
    table = np.concatenate([np.load(path) for path in sorted((folder / "clients").glob("*.npy"))])
    lines = ["a,b,c,d,e", *(",".join(f"{x:.3f}" for x in row) for row in table)]
    (folder / "all.csv").write_text("\n".join(lines))
    for runs in (1, 2):
        done = feddp("fit", "all.csv", "-k", 4, "--epsilon", 2, "--box", "-20,20", "--ignore", "e", "--json", cwd=folder)
        result = json.loads(done.stdout)
        assert result["spent"]["runs"] == len(result["spent"]["listed"]) == runs
    assert 2 < result["spent"]["epsilon"] < 4
    assert result["left_out"] == [{"name": "e", "reason": "asked for"}]


@pytest.mark.parametrize(("arguments", "status"), [(["fit"], 2), (["fit", "nowhere", "-k", "2", "--epsilon", "1"], 1), (["--help"], 0)])
def test_exit_statuses(arguments, status, tmp_path):
    done = feddp_process(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_help_has_examples():
    for command in ("fit", "choose-k", "plan", "budget", "reproduce"):
        assert "feddp " + command in feddp(command, "--help").stdout.split("Examples", 1)[1]


def test_ctrl_c_leaves_nothing_half_written(folder):
    rng = np.random.default_rng(1)
    np.save(folder / "clients" / "large.npy", rng.standard_normal((1_500_000, 5)))
    given = ["fit", "clients", "--server", "server.npy", "-k", "4", "--epsilon", "1", "--out", "run"]
    process = subprocess.Popen(
        [*COMMAND, *given],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A test runner in the background may have left the signal ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and "release:" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "feddp: stopped; what was released is kept. Continue with the same options and --resume run"
    assert [path.name for path in folder.glob("run/*")] == ["releases"]
    np.save(folder / "clients" / "large.npy", rng.standard_normal((10, 5)))  # to be fast
    assert feddp(*given[:-2], "--resume", "run", "--quiet", cwd=folder).returncode == 0
    assert (folder / "run" / "result.json").exists()
    assert len((folder / "clients" / ".feddp-budget.jsonl").read_text().splitlines()) == 1
