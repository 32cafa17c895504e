"""A server and five hospitals on machines with addresses of their own: words in the tables, TLS, and what goes wrong in such places."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import read_kit
from feddp_kmeans.network.receipts import check_signature, read_receipt
from tests.end_to_end.namespaces import FAKETIME, Network, why_not

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("FEDDP_FEDERATION" not in os.environ, reason="minutes of processes: make federation runs it"),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]

SITES = ("aachen", "berlin", "celle", "dresden", "erfurt")
PORT = 9443
SCHEMA = """\
[columns.age]
range = [0, 120]

[columns.ward]
categories = ["heart", "lung"]

[columns.day]
date = ["2020-01-01", "2024-12-31"]
"""
RUN = ("--schema", "schema.toml", "-k", 2, "--epsilon", 4, "--round-timeout", 60)
HEADER = "age,ward,day\n"
HOLD = """
import socket, time
held = [socket.create_connection({address}) for _ in range(100)]
print("held", flush=True)
time.sleep(900)
"""


def table(rng, rows):
    """Return a table of old patients of one ward and young ones of another."""
    old = rng.random(rows) < 0.5
    ages = np.where(old, rng.normal(75, 4, rows), rng.normal(25, 4, rows)).clip(0, 120)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1800, rows)
    return HEADER + "".join(f"{age:.0f},{'heart' if one else 'lung'},{day}\n" for age, one, day in zip(ages, old, days, strict=True))


class Hospitals(Network):
    """Five sites, each with its table, its key and the kit."""

    def prepare(self):
        rng = np.random.default_rng(0)
        (self.folder / "schema.toml").write_text(SCHEMA)
        status, _ = self.feddp_on("server", "keys", "keys", "federation", "--host", self.addresses["server"], "--port", PORT)
        assert status == 0, self.logs()
        for name in SITES:
            (self.folder / name).mkdir()
            (self.folder / name / "patients.csv").write_text(table(rng, 3000))
            _, public = write_site_key(self.folder / name, name)
            shutil.copy(public, self.folder / "federation" / "public" / "sites")
        shutil.copytree(self.folder / "federation" / "public", self.folder / "kit")

    def site(self, name, *more, schema="schema.toml", kit="kit"):
        """Return the options of a site."""
        own = ("--key", f"{name}/{name}.key", "--data", f"{name}/patients.csv", "--schema", schema, "--limit", 10)
        return ("join", kit, *own, *more)

    def join(self, *names):
        for name in names:
            self.start_on(name, name, *self.site(name))

    def serve(self, *more, out="run"):
        self.start_on("server", "serve", "serve", "federation", *RUN, *more, "--out", out)

    def check(self, name, **options):
        """Return the last line that a site's check says."""
        clock = options.pop("clock", None)
        status, said = self.feddp_on(name, f"check-{name}", *self.site(name, "--check", **options), clock=clock)
        assert "Traceback" not in said
        return status, said

    def result(self, out="run"):
        return json.loads((self.folder / out / "result.json").read_text())

    def spent(self, name):
        return (self.folder / name / ".feddp-budget.jsonl").read_text().splitlines()


@pytest.fixture
def hospitals(tmp_path):
    with Hospitals(tmp_path, ("server", *SITES)) as made:
        made.prepare()
        yield made


def check_agreement(hospitals, result, out="run"):
    """Result and receipts of all sites agree on run, terms, spending and every answer."""
    for name in SITES:
        told = read_receipt(hospitals.folder / name / ".feddp-runs" / "receipts" / f"{result['run']}.json")
        check_signature(told, read_kit(hospitals.folder / "kit").sites()[name])
        assert (told["spent"]["epsilon"], told["spent"]["delta"]) == (result["epsilon"], result["delta"])
        there = {(row["release"], row["number"], row["query"]) for row in result["attendance"] if name not in row["missing"]}
        answered = {(row["release"], row["number"], row["query"]) for row in told["answered"]}
        assert there <= answered, (name, out)
        assert len(hospitals.spent(name)) == 1


def check_clusters(result):
    """Two clusters: old people of one ward, young ones of the other."""
    ages = sorted(profile[0]["value"] for profile in result["profiles"])
    assert ages == pytest.approx([25, 75], abs=3)


def test_a_cable_is_pulled_and_strangers_hold_connections_open(hospitals):
    hospitals.serve()
    hospitals.wait_for("serve", "listening")
    idle = hospitals.on("erfurt", sys.executable, "-c", HOLD.format(address=(hospitals.addresses["server"], PORT)))
    with subprocess.Popen(idle, stdout=subprocess.PIPE, env=hospitals.environment) as stranger:
        try:
            assert stranger.stdout.readline() == b"held\n"
            hospitals.join(*SITES)
            hospitals.wait_for("serve", "releases made", seconds=600)
            hospitals.cable("celle", "down")
            hospitals.wait_for("serve", "celle is missing", seconds=600)
            hospitals.cable("celle", "up")
            assert hospitals.running.pop("serve").wait(900) == 0, hospitals.logs()
        finally:
            stranger.kill()
    result = hospitals.result()
    assert set(result["participants"]) == set(SITES)
    assert {name for row in result["attendance"] for name in row["missing"]} == {"celle"}
    check_clusters(result)
    check_agreement(hospitals, result)
    hospitals.stop()
    assert hospitals.gone(), hospitals.processes()


def test_what_is_in_a_sites_way_is_said_in_one_true_sentence(hospitals):
    folder = hospitals.folder
    status, said = hospitals.check("aachen")
    assert status == 1
    assert "nothing listens at" in said
    hospitals.cable("berlin", "down")
    status, said = hospitals.check("berlin")
    assert status == 1
    assert "no answer from" in said or "unreachable" in said
    hospitals.cable("berlin", "up")
    hospitals.serve()
    hospitals.wait_for("serve", "listening")
    assert hospitals.check("aachen")[0] == 0, hospitals.logs()
    if Path(FAKETIME).exists():
        status, said = hospitals.check("aachen", clock=3600)
        assert (status, "this machine's clock is 36" in said) == (1, True), said
    full = (folder / "dresden" / "patients.csv").read_text()
    (folder / "dresden" / "patients.csv").write_text(HEADER)
    status, said = hospitals.check("dresden")
    assert status == 0, said  # It may take part; that it has nothing to give is its own secret.
    assert "No row of these data can be used: they add noise to a result, and nothing else." in said
    (folder / "dresden" / "patients.csv").write_text(full)
    status, said = hospitals.feddp_on("server", "second", "serve", "federation", *RUN, "--out", "run2")
    assert status == 1
    assert "something listens on 9443 already" in said
    (folder / "other.toml").write_text(SCHEMA.replace("[0, 120]", "[0, 100]"))
    hospitals.join("aachen", "berlin", "celle", "dresden")
    hospitals.start_on("erfurt", "erfurt", *hospitals.site("erfurt", schema="other.toml"))
    assert hospitals.running.pop("serve").wait(600) == 1
    said = hospitals.log("serve").splitlines()[-1]
    assert "erfurt is left out: its schema states other kinds, ranges, categories or weights of 'age'." in said
    status, said = hospitals.feddp_on("erfurt", "twice", *hospitals.site("erfurt"))
    assert status == 1
    assert "one feddp join at a time" in said
    assert not any((folder / name / ".feddp-budget.jsonl").exists() for name in SITES)


def test_a_server_whose_disk_is_full_goes_on_when_there_is_room(hospitals):
    disk = hospitals.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        (disk / "filler").write_bytes(b"x" * 48_000)
        hospitals.join(*SITES)
        hospitals.serve(out="disk/run")
        assert hospitals.running.pop("serve").wait(900) == 1, hospitals.logs()
        said = hospitals.log("serve")
        assert "Traceback" not in said
        assert said.endswith(
            "feddp: the run must be able to read its data and to write its folder, got [Errno 28] No space left on device.\n"
        )
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        hospitals.serve(out="disk/run")
        assert hospitals.running.pop("serve").wait(900) == 0, hospitals.logs()
        result = hospitals.result("disk/run")
        check_clusters(result)
        check_agreement(hospitals, result)
        hospitals.stop()
        assert hospitals.gone(), hospitals.processes()
    finally:
        hospitals.__exit__()
        subprocess.run(["umount", disk], check=True)
