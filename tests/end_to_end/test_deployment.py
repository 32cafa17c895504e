"""A federation of processes on this machine as hospitals would run it: TLS, keys, sites, strangers, and a crash."""

import json
import math
import shutil
import signal
import time

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.join import Connection
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation, read_kit
from feddp_kmeans.network.receipts import authority_fingerprint, check_signature, read_receipt
from tests.end_to_end.processes import Machines

SITES = ("aachen", "berlin", "celle", "dresden", "erfurt")


@pytest.fixture
def machines(tmp_path):
    with Machines(tmp_path) as made:
        yield made


def federation(machines, sites):
    """Make the keys and the data, every site's in a folder of its own; return the means of the clusters."""
    folder = machines.folder
    rng = np.random.default_rng(0)
    means = 6 * rng.standard_normal((3, 4))
    np.save(folder / "public.npy", means[rng.integers(3, size=60)] + 0.3 * rng.standard_normal((60, 4)))
    make_federation(folder / "federation", ["127.0.0.1"], free_port())
    for name in sites:
        (folder / name).mkdir()
        np.save(folder / name / "points.npy", means[rng.integers(3, size=1000)] + 0.3 * rng.standard_normal((1000, 4)))
        _, public = write_site_key(folder / name, name)
        shutil.copy(public, folder / "federation" / "public" / "sites")
    shutil.copytree(folder / "federation" / "public", folder / "kit")
    return means


def refusal(machines, key):
    """Return what a node with this key is told, at its first try."""
    kit = read_kit(machines.folder / "kit")
    with pytest.raises(FedDPError) as refused:
        Connection("somebody", kit.address, kit.authority, key).check()
    return str(refused.value)


@pytest.mark.parametrize(("n_sites", "colluders"), [pytest.param(*case, marks=pytest.mark.slow) for case in ((3, 0), (5, 1))])
def test_sites_cluster_together_while_strangers_are_refused_and_one_crashes(machines, n_sites, colluders):
    sites = SITES[:n_sites]
    means = federation(machines, sites)
    machines.start(
        "serve", "serve", "federation", "--server", "public.npy", "-k", 3, "--epsilon", 8, "--method", "paper", "--lloyd-steps", 0,
        "--colluders", colluders, "--round-timeout", 30, "--out", "run",
    )  # fmt: skip
    for name in sites:
        own = ("--key", f"{name}/{name}.key", "--data", f"{name}/points.npy")
        machines.start(name, "join", "kit", *own, "--limit", 10, "--colluders", colluders)
    machines.wait_for("serve", f"{n_sites} sites: {', '.join(sites)}")

    assert len(machines.processes()) == n_sites + 2  # One for each site, and two for the server.
    machines.wait_for(sites[-1], "agreed to run")
    machines.running[sites[-1]].kill()  # As a machine that loses its power.
    machines.running.pop(sites[-1]).wait()

    stranger, _ = write_site_key(machines.folder, "stranger")
    assert refusal(machines, stranger).startswith("the server does not know this site's key")
    assert refusal(machines, machines.folder / "aachen" / "aachen.key").startswith("another process takes part with this site's key")

    assert machines.running.pop("serve").wait(600) == 0, machines.logs()
    assert f"{sites[-1]} is missing" in machines.log("serve")
    for name in sites:
        assert "Traceback" not in machines.log(name)

    result = json.loads((machines.folder / "run" / "result.json").read_text())
    assert result["trust"] == "secure-sum"
    assert result["secure"]
    found = np.array(result["centers"])
    mixed = any("sums and counts of method 'paper' are then of different points" in remark for remark in result["remarks"])
    assert mixed or np.linalg.norm(found[:, None] - means[None], axis=2).min(axis=0).max() < 0.5

    machines.stop()
    assert machines.gone(), machines.processes()
    assert list(machines.temporary.iterdir()) == []
    assert {path.name for path in (machines.folder / "run").iterdir()} == {
        "result.json", "centers.parquet", "report.html", "job.json", "releases", "log.jsonl",
    }  # fmt: skip
    check_record(machines.folder, sites, result)
    assert f"{sites[-1]} was missing in " in " ".join(machines.log("serve").split())


def check_record(folder, sites, result):
    """The result, the kept log and the signed receipts of the sites tell the same story of a run that lost its last site."""
    assert set(sites[:-1]) <= set(result["participants"]) <= set(sites)
    rows = result["attendance"]
    assert {name for row in rows for name in row["missing"]} == {sites[-1]}
    assert {why for row in rows for why in row["missing"].values()} <= {"timed out", "not connected"}
    shares = result["threshold"] - result["colluders"]
    assert [row["noise_factor"] for row in rows] == [math.sqrt(row["sites"] / shares) for row in rows]
    log = [json.loads(line) for line in (folder / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["sites"] for row in log if row["event"] == "release"] == [row["sites"] for row in rows]
    assert log[-1]["event"] == "finished"
    kit = read_kit(folder / "kit")
    for name in sites:
        there = {(row["release"], row["number"], row["query"]) for row in rows if name not in row["missing"]}
        receipt = folder / name / ".feddp-runs" / "receipts" / f"{result['run']}.json"
        if name == sites[-1] and not receipt.exists():  # It was killed before its first answer.
            assert not there
            continue
        told = read_receipt(receipt)
        check_signature(told, kit.sites()[name])
        assert (told["spent"]["epsilon"], told["spent"]["delta"]) == (result["epsilon"], result["delta"])
        assert (told["server"], told["roster"]) == (authority_fingerprint(kit.authority), kit.roster_fingerprint)
        answered = {(row["release"], row["number"], row["query"]) for row in told["answered"]}
        assert there == answered if name != sites[-1] else there <= answered
        own = [json.loads(line)["event"] for line in (folder / name / ".feddp-runs" / "log.jsonl").read_text().splitlines()]
        assert own.count("agreed") == 1
        assert name == sites[-1] or own.count("answered") == len(answered)


@pytest.mark.slow  # a deployment of processes
@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_ended_in_mid_run_leaves_nothing_running(machines, ended_by):
    machines.start("serve", "serve", "--insecure", "--port", free_port(), "--box", "0,1", "-k", 3, "--epsilon", 1, "--out", "run")
    machines.wait_for("serve", "0 of ")  # So the server's half of the run is at work.
    assert len(machines.processes()) == 2
    machines.running["serve"].send_signal(ended_by)
    assert machines.running.pop("serve").wait(120) != 0
    assert machines.processes() == []
    assert list(machines.temporary.iterdir()) == []


@pytest.mark.slow  # A second federation of processes: a minute more.
def test_a_server_that_is_killed_leaves_nothing_running_and_goes_on_without_paying_twice(machines):
    federation(machines, SITES)
    serve = ["serve", "federation", "--server", "public.npy", "-k", 3, "--epsilon", 4, "--out", "run"]
    machines.start("serve", *serve)
    for name in SITES:
        machines.start(name, "join", "kit", "--key", f"{name}/{name}.key", "--data", f"{name}/points.npy", "--limit", 5)
    machines.wait_for("serve", "1 of ")
    machines.wait_for("serve", "releases made")
    joined = {process.pid for name, process in machines.running.items() if name != "serve"}
    machines.running["serve"].kill()
    machines.running.pop("serve").wait()
    end = time.monotonic() + 120
    while set(machines.processes()) - joined:
        assert time.monotonic() < end
        time.sleep(0.2)

    machines.start("again", *serve)
    assert machines.running.pop("again").wait(600) == 0, machines.logs()
    assert (machines.folder / "run" / "result.json").exists()
    for name in SITES:
        assert len((machines.folder / name / ".feddp-budget.jsonl").read_text().splitlines()) == 1
    machines.stop()
    assert machines.gone(), machines.processes()
    assert list(machines.temporary.iterdir()) == []
