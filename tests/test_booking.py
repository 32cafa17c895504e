"""Who books, when, what and at which delta: one entry for each run, before its first release, whichever command makes it."""

import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.estimator import FedDPKMeans
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.simulate import _site
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batched import SourceSilo
from tests.cli.command import feddp
from tests.network.loopback import Loopback

RNG = np.random.default_rng(0)
POINTS = [RNG.standard_normal((40, 2)) + 4 * (index % 2) for index in range(4)]
SERVER = RNG.standard_normal((20, 2)) + 2
DEFAULTS = {"epsilon": 1.0, "client_size": 40, "lloyd_steps": 0}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clients").mkdir()
    for index, points in enumerate(POINTS):
        np.save(tmp_path / "clients" / f"{index}.npy", points)
    np.save(tmp_path / "server.npy", SERVER)
    return tmp_path


class World:
    """One way to make runs with an odometer. ``error`` is what a refused one says, ``latest`` its folder."""

    def __init__(self, folder):
        self.folder = folder
        self.books = Odometer(folder / "books.jsonl")
        self.numbers = count()

    def go_to(self, *, resume):
        if not resume:
            self.latest = self.folder / f"run{next(self.numbers)}"


class Command(World):
    name = "fit"

    def run(self, *, seed=None, limit=None, limit_delta=None, resume=False, **settings):
        given = {"privacy_unit": "point", "delta": 1e-6} | DEFAULTS | settings
        options = ["--epsilon", given["epsilon"], "--unit", given["privacy_unit"], "--delta", given["delta"], *self.more(resume=resume)]
        for option, value in (("--seed", seed), ("--limit", limit), ("--limit-delta", limit_delta)):
            options += [] if value is None else [option, value]
        asked = [
            "clients",
            "--server",
            "server.npy",
            "--client-size",
            40,
            "--lloyd-steps",
            0,
            "--odometer",
            self.books.path,
            "-q",
            *options,
        ]
        done = feddp(self.name, *asked, cwd=self.folder)
        self.error = done.stderr
        assert done.returncode in {0, USELESS} or (done.returncode, bool(done.stderr)) == (1, True), done.stderr
        return done.returncode != 1

    def more(self, *, resume):
        self.go_to(resume=resume)
        return ["-k", 2, "--resume" if resume else "--out", self.latest]

    def plan(self):
        return json.loads((self.latest / "result.json").read_text())["plan"]

    def run_id(self):
        return json.loads((self.latest / "releases" / "releases.json").read_text())["run"]


class Look(Command):
    name = "choose-k"

    def more(self, *, resume):
        self.go_to(resume=resume)
        (self.latest / "choose_k.json").unlink(missing_ok=True)
        return ["--max-clusters", 3, "--out", self.latest]

    def plan(self):
        return json.loads((self.latest / "choose_k.json").read_text())["plan"]


class Knots(World):
    """Runs that learn knots; the odometer is all that is left of them."""

    def run(self, *, seed=None, limit=None, limit_delta=None, epsilon=1.0, privacy_unit="point", delta=1e-6):
        self.go_to(resume=False)
        options = ["--epsilon", epsilon, "--unit", privacy_unit, "--delta", delta, "--odometer", self.books.path]
        for option, value in (("--seed", seed), ("--limit", limit), ("--limit-delta", limit_delta)):
            options += [] if value is None else [option, value]
        done = feddp("knots", "clients", "x0,x1", *options, "--out", self.latest.with_suffix(".json"), "--json", cwd=self.folder)
        self.error, self.made = done.stderr, done.stdout
        assert done.returncode in {0, 1, USELESS}, done.stderr
        return done.returncode != 1

    def plan(self):
        return json.loads(self.made)["plan"]

    def run_id(self):
        return self.books.entries()[-1].run


class Simulation(World):
    """A job as ``feddp simulate`` makes it, on nodes in this process."""

    def run(self, *, seed=None, limit=None, limit_delta=LIMIT_DELTA, resume=False, **settings):
        self.go_to(resume=resume)
        (self.latest / "result.json").unlink(missing_ok=True)
        job = RunRequest(
            f"id{next(self.numbers)}",
            Settings(2, **DEFAULTS | settings),
            str(self.latest),
            "feddp simulate",
            str(self.folder / "server.npy"),
            min_sites=1,
            seed=seed,
            odometer=str(self.books.path),
            limit=limit,
            limit_delta=limit_delta,
        )
        job = opened(job)
        site = _site(job, self.folder / "clients" / "0.npy", self.folder / f"site{next(self.numbers)}")
        self.error = ""
        try:
            carry_out(Loopback([site.participant()]), job)
        except FedDPError as error:
            self.error = str(error)
        return not self.error

    def plan(self):
        return json.loads((self.latest / "result.json").read_text())["plan"]

    def run_id(self):
        return json.loads((self.latest / "job.json").read_text())["run"]


class Estimator(World):
    def run(self, *, seed=None, limit=None, limit_delta=LIMIT_DELTA, **settings):
        books = {"odometer": self.books.path, "limit": limit, "limit_delta": limit_delta}
        self.model = FedDPKMeans(2, random_state=seed, **books, **DEFAULTS | settings)
        try:
            self.model.fit(POINTS, server_data=SERVER)
        except (BudgetError, FedDPError) as error:
            self.error = str(error)
            return False
        return True

    def plan(self):
        return self.model.plan_.to_dict()

    def run_id(self):
        return self.books.entries()[-1].run


WORLDS = [Command, Look, Simulation, Knots, Estimator]
every_world = pytest.mark.parametrize("world", WORLDS)


@pytest.fixture
def booked_before(monkeypatch):
    """Notes, whenever clients are asked for a sum, how many runs are on the odometer."""
    seen = []

    def watched(owner, name):
        made = getattr(owner, name)

        def noted(*given, **more):
            seen.append(len(Odometer(noted.path).entries()))
            return made(*given, **more)

        monkeypatch.setattr(owner, name, noted)
        return noted

    watches = [watched(ExactAdder, "noisy_sum"), watched(SourceSilo, "exact_sum")]

    def of(path):
        for watch in watches:
            watch.path = path
        return seen

    return of


@every_world
def test_a_run_is_booked_once_as_what_it_is_before_its_first_release(folder, booked_before, world):
    made = world(folder)
    seen = booked_before(made.books.path)
    for number, settings in enumerate(({}, {"privacy_unit": "client", "epsilon": 2.0, "delta": 1e-7}), 1):
        assert made.run(**settings), made.error
        assert set(seen) == {number}
        seen.clear()
        assert len(made.books.entries()) == number
        entry, plan = made.books.entries()[-1], made.plan()
        stated, names = entry.to_dict(), ("privacy_unit", "epsilon", "delta", "sampling_rate", "releases")
        assert [stated[name] for name in names] == [plan[name] for name in names]
        assert (plan["epsilon"], plan["delta"]) == (settings.get("epsilon", 1.0), settings.get("delta", 1e-6))
        assert entry.secure
        assert entry.run == made.run_id()
    assert len({entry.run for entry in made.books.entries()}) == 2


@every_world
def test_a_simulation_is_booked_as_not_private(folder, world):
    made = world(folder)
    assert made.run(seed=3), made.error
    (entry,) = made.books.entries()
    assert not entry.secure
    assert not made.run(limit=100.0)
    assert "no bound, 1 of 2 runs had no noise or a known seed" in made.error


@pytest.mark.parametrize("world", WORLDS[:3])
def test_a_run_that_goes_on_is_booked_already(folder, world):
    made = world(folder)
    assert made.run(limit=1.0), made.error
    assert made.run(limit=1.0, resume=True), made.error
    assert len(made.books.entries()) == 1


@every_world
def test_a_run_beyond_the_limit_is_not_booked_and_asks_nobody(folder, booked_before, world):
    made = world(folder)
    seen = booked_before(made.books.path)
    assert not made.run(limit=0.9)
    assert "must stay within epsilon 0.9; with this run it is point: epsilon 0.99" in made.error
    assert (seen, made.books.entries()) == ([], [])
    assert made.run(limit=1.0), made.error


@every_world
def test_limits_add_up_at_one_delta(folder, world):
    made = world(folder)
    assert made.run(limit=1.0), made.error
    assert not made.run(limit=1.0, epsilon=0.85, delta=1e-2)
    assert "within epsilon 1; with this run it is point: epsilon 2.39" in made.error
    assert "at delta 1e-06 over 2 runs" in made.error
    assert made.run(limit=1.0, limit_delta=1e-2, epsilon=0.5, delta=1e-2), made.error


@pytest.mark.parametrize("world", [Command, Look, Knots, Estimator])
@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_what_is_no_limit_is_refused_by_name(folder, world, limit):
    made = world(folder)
    assert not made.run(limit=limit)
    assert f"limit must be a positive epsilon, got {limit}." in made.error
    assert not made.run(limit=1.0, limit_delta=limit)
    assert f"limit_delta must be between 0 and 1, got {limit}." in made.error
    assert made.books.entries() == []


@pytest.mark.parametrize("limit", [0, -1, "nan"])
def test_the_commands_of_a_federation_refuse_what_is_no_limit(folder, limit):
    given = ["clients", "--server", "server.npy", "-k", 2, "--epsilon", 1, "--out", "run"]
    for asked in (("simulate", *given), ("join", "--insecure", "127.0.0.1:1", "--data", "clients/0.npy")):
        done = feddp(*asked, "--limit", limit, cwd=folder)
        assert (done.returncode, "limit must be a positive epsilon, got" in done.stderr) == (1, True), done.stderr
    assert not (folder / "run").exists()


def test_a_simulated_federation_is_booked_beside_its_data_with_its_limit(folder, monkeypatch):
    jobs = []

    def made(job, *_, **__):
        jobs.append(job)
        raise FedDPError("far enough")

    monkeypatch.setattr("feddp_kmeans.network.deployment.simulate.simulate", made)
    given = ["simulate", "clients", "--server", "server.npy", "-k", 2, "--epsilon", 1, "--out", "run"]
    for more in ([], ["--limit", 3, "--limit-delta", 1e-7, "--odometer", "books.jsonl", "--seed", 4]):
        assert "far enough" in feddp(*given, *more, cwd=folder).stderr
    assert [(job.limit, job.limit_delta, job.seed) for job in jobs] == [(None, 1e-6, None), (3.0, 1e-7, 4)]
    assert [Path(job.odometer).relative_to(folder.resolve()).as_posix() for job in jobs] == ["clients/.feddp-budget.jsonl", "books.jsonl"]
    assert len({job.run for job in jobs}) == 2


def test_every_default_adds_up_at_one_delta(folder):
    site = Site("s", str(folder / "clients" / "0.npy"), 1.0, str(folder / "state"), str(folder / "books.jsonl"))
    job = RunRequest("id", Settings(2, 1.0), str(folder / "run"), "feddp simulate")
    assert {site.delta, job.limit_delta, FedDPKMeans().limit_delta, Policy(PrivacyUnit.POINT, 1.0).delta, LIMIT_DELTA} == {1e-6}
    for command, option in (
        ("fit", "--limit-delta"),
        ("choose-k", "--limit-delta"),
        ("knots", "--limit-delta"),
        ("simulate", "--limit-delta"),
        ("join", "--delta"),
    ):
        shown = " ".join(feddp(command, "--help").stdout.replace("│", " ").split())
        assert "1e-06" in shown.split(option, 1)[1][:200], command
    made = Command(folder)
    assert made.run()
    assert "at delta 1e-06 over 1 run" in feddp("budget", made.books.path, cwd=folder).stdout


def test_a_budget_says_what_a_limit_would_count(folder):
    made = Estimator(folder)
    assert made.run()
    assert "A limit counts" not in feddp("budget", made.books.path, cwd=folder).stdout
    assert made.run(method="paper")
    shown = feddp("budget", made.books.path, cwd=folder).stdout
    assert shown.count("A limit counts 2.") == 1
    found = json.loads(feddp("budget", made.books.path, "--json", cwd=folder).stdout)["totals"][0]
    assert found["epsilon"] < 1.6
    assert found["limit_epsilon"] > 2
    assert made.books.entries()[0].run[:8] in shown
    assert feddp("budget", made.books.path, "--delta", "nan", cwd=folder).returncode == 1


def test_a_sampled_run_is_booked_with_its_rate_and_limited_without_it(folder):
    made = Estimator(folder)
    assert made.run(limit=1.0, **(settings := {"privacy_unit": "client", "sampling_rate": 0.5})), made.error
    assert made.books.entries()[0].plan.sampling_rate == 0.5
    assert not made.run(limit=1.5, **settings | {"epsilon": 0.01})
