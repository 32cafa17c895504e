"""Metrics: a text that Prometheus reads, kept at a fixed pace, and nothing in it that depends on a single site."""

import math
import re
import time

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment.metrics import Metric, MetricsFile, ServerFacts, SiteFacts, State, text
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.privacy.totals import Limit
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network.loopback import Loopback

SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<label>[a-z]+)="(?P<word>[^"\\\n]*)"\})? (?P<value>\S+)')


def parsed(content):
    """Read the text format strictly: every sample follows the help and the type of its own name, and no name comes twice."""
    found, kinds = {}, {}
    assert content.endswith("\n")
    lines = iter(content.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in kinds
            kind = next(lines)
            assert re.fullmatch(rf"# TYPE {name} (gauge|counter)", kind)
            kinds[name] = kind.split()[-1]
            assert (kinds[name] == "counter") == name.endswith("_total")
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert list(kinds)[-1] == sample["name"]
        key = sample["name"] if sample["word"] is None else (sample["name"], sample["word"])
        assert key not in found
        found[key] = float(sample["value"])
    return found


def sites(folder, n):
    rng = np.random.default_rng(0)
    for number in range(n):
        np.save(folder / f"s{number}.npy", rng.random((3000, 3)) / 10 + rng.integers(2, size=(3000, 1)) / 2)
        yield Site(f"s{number}", str(folder / f"s{number}.npy"), 20.0, str(folder / f"{number}"), str(folder / f"{number}.jsonl"))


def test_a_server_tells_how_far_its_run_is_and_names_no_site(tmp_path):
    facts, seen = ServerFacts(), []
    made = [site.participant() for site in sites(tmp_path, 3)]
    before = parsed(text(facts.metrics()))
    assert before["feddp_run_state", "waiting"] == 1
    assert "feddp_epsilon_spent" not in before

    class Spied(Loopback):
        def exchange(self, *asked):
            seen.append(parsed(text(facts.metrics())))
            return super().exchange(*asked)

    asked = RunRequest("run1", Settings(2, 10.0, box=(0, 1)), str(tmp_path / "run"), "feddp serve", min_sites=3)
    carry_out(Spied(made), opened(asked), facts)
    assert {tuple(state for state in State if seen[i]["feddp_run_state", state]) for i in range(len(seen))} == {("running",)}
    assert seen[0]["feddp_sites_connected"] == seen[0]["feddp_sites_expected"] == 3
    spent = [now["feddp_epsilon_spent"] for now in seen if "feddp_epsilon_spent" in now]
    assert spent == sorted(spent)
    after = text(facts.metrics())
    found = parsed(after)
    assert found["feddp_run_state", "finished"] == 1
    assert 0 < found["feddp_releases_made"] <= found["feddp_releases_planned"]
    assert 0 < found["feddp_epsilon_spent"] <= found["feddp_epsilon_planned"] * (1 + 1e-9) == 10 * (1 + 1e-9)
    assert found["feddp_exchanges_total"] == len(seen)
    assert not [name for name in ("s0", "s1", "s2", "seconds{", "duration") if name in after]
    # A dozen numbers whatever the number of sites: none can be about one of them.
    assert len(found) == 13


def test_a_site_tells_what_its_odometer_says(tmp_path):
    (one, *others) = sites(tmp_path, 3)
    facts = SiteFacts(one.participant().handle, tmp_path / "0.jsonl", PrivacyUnit.POINT, Limit(20.0, 1e-6))
    assert parsed(text(facts.metrics()))["feddp_epsilon_spent"] == 0
    with facts.connected():
        assert parsed(text(facts.metrics()))["feddp_connected"] == 1
    assert parsed(text(facts.metrics()))["feddp_connected"] == 0

    class Counted:
        name, handle = "s0", staticmethod(facts.handle)

    asked = RunRequest("run1", Settings(2, 10.0, box=(0, 1)), str(tmp_path / "run"), "feddp serve", min_sites=3)
    carry_out(Loopback([Counted(), *(site.participant() for site in others)]), opened(asked))
    found = parsed(text(facts.metrics()))
    assert found["feddp_runs_booked"] == 1
    assert found["feddp_epsilon_spent"] == pytest.approx(10, rel=0.05)
    assert found["feddp_epsilon_limit"] == 20
    assert found["feddp_requests_answered_total"] > 10
    (tmp_path / "0.jsonl").write_text("not an odometer\n")
    assert "feddp_epsilon_spent" not in parsed(text(facts.metrics()))


def test_the_file_is_kept_at_its_pace_and_written_at_the_end(tmp_path):
    values = iter(range(1000))
    path = tmp_path / "feddp.prom"
    with MetricsFile(path, lambda: [Metric("feddp_number", "A number.", next(values))], pace=0.01):
        end = time.monotonic() + 60
        while not (path.exists() and parsed(path.read_text())["feddp_number"] > 2):
            assert time.monotonic() < end
        last = parsed(path.read_text())["feddp_number"]
    assert parsed(path.read_text())["feddp_number"] > last
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["feddp.prom"]


def test_what_cannot_be_written_is_said_once_and_ends_nothing(tmp_path, caplog):
    (tmp_path / "folder.prom").mkdir()
    with MetricsFile(tmp_path / "folder.prom", list, pace=0.01):
        time.sleep(0.1)
    assert [record.message for record in caplog.records] == ["the metrics cannot be written: Is a directory."]


@pytest.mark.parametrize("name", ["nowhere/feddp.prom", "feddp.txt", "feddp"])
def test_a_place_where_no_collector_looks_is_refused(tmp_path, name):
    with pytest.raises(FedDPError, match=r"--metrics must be a file NAME\.prom in a folder that exists, got "):
        MetricsFile(tmp_path / name, list)


def test_numbers_without_end_are_numbers_too():
    said = text([Metric("feddp_epsilon_spent", "No noise.", math.inf)])
    assert "\nfeddp_epsilon_spent +Inf\n" in said
    assert parsed(said)["feddp_epsilon_spent"] == math.inf
