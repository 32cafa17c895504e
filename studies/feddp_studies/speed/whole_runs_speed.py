"""How long whole private runs take, and how that grows: both methods, with cryptographic noise, each run in a process of its own."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import Any

from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.algorithm.clustering import Clustering, run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.mixture import gaussian_mixture
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.speed.machine import machine_facts, peak_megabytes
from feddp_studies.speed.pass_speed import Pass, measure_passes

METHODS = (MethodName.PAPER.value, MethodName.REFINED.value)

RECORDED_ELSEWHERE = "recorded on another machine: an order of magnitude, not a comparison"


@dataclass(frozen=True)
class SpeedCase:
    """One mixture, and what is protected in it."""

    what: str
    """The group of cases that this one is in."""
    n_clients: int
    client_size: int
    dimension: int = 100
    k: int = 10
    unit: str = "point"
    recorded: float | None = None
    """CPU seconds of the paper's published code on this problem, recorded on another machine."""

    @property
    def n_points(self) -> int:
        """Return the number of points of all clients."""
        return self.n_clients * self.client_size

    @property
    def name(self) -> str:
        """Return the problem in words."""
        return f"{self.n_clients:,} x {self.client_size:,} x {self.dimension}, k {self.k}, {self.unit}"


PAPER = (
    SpeedCase("paper", 100, 1000, recorded=6.4),
    SpeedCase("paper", 1000, 50, unit="client", recorded=8.9),
    SpeedCase("paper", 2000, 50, unit="client", recorded=14.9),
    SpeedCase("paper", 5000, 50, unit="client", recorded=35.4),
)
"""The paper's mixtures."""

GROWS = {"n": "n_points", "d": "dimension", "k": "k", "m": "n_clients"}
"""What grows in a group of cases: points, dimensions, clusters, clients."""

_MIDDLE = SpeedCase("", 100, 500, 50)
GROWTH = (
    *(replace(_MIDDLE, what="n", client_size=size) for size in (500, 2000, 8000)),
    *(replace(_MIDDLE, what="d", dimension=dimension) for dimension in (50, 100, 200, 400)),
    *(replace(_MIDDLE, what="k", k=k) for k in (5, 10, 20, 40)),
    *(replace(_MIDDLE, what="m", n_clients=clients, client_size=20, unit="client") for clients in (1000, 5000, 25_000)),
)
"""One fact grows at a time."""

QUICK = tuple(case for case in PAPER if case.n_clients <= 1000)


def measure_all(cases: Sequence[SpeedCase], passes: Sequence[Pass], on_case: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Return the machine's facts, a row for every case and method, and the passes next to their peers."""
    rows = []
    for case in cases:
        for method in METHODS:
            on_case(f"{case.name}: {method}")
            rows.append(alone(measure, case, method))
    compared = []
    for one in passes:
        on_case(one.what)
        compared += alone(measure_passes, [one])
    return {"machine": machine_facts(), "recorded": RECORDED_ELSEWHERE, "runs": rows, "growth": growth(rows), "passes": compared}


def alone(job: Callable[..., Any], *arguments: Any) -> Any:
    """Return what the job returns, in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(job, *arguments).result()


def measure(case: SpeedCase, method: str) -> dict[str, Any]:
    """Return the seconds of one whole private run, from the plan to the centers, and the memory that it took in addition to the data."""
    warm_up(case, method)
    data = gaussian_mixture(0, n_clients=case.n_clients, client_size=case.client_size, k=case.k, dimension=case.dimension)
    data_megabytes = peak_megabytes()
    _, seconds = timed_run(_settings(case, method), data.clients, data.server_points)
    facts = asdict(case) | {"name": case.name, "n_points": case.n_points, "method": method}
    return facts | seconds | {"data_mb": data_megabytes, "peak_mb": peak_megabytes()}


def warm_up(case: SpeedCase, method: str) -> None:
    """Make a small run, so that no import is timed afterwards."""
    small = replace(case, n_clients=20, client_size=20, dimension=10)
    data = gaussian_mixture(0, n_clients=20, client_size=20, k=case.k, dimension=10)
    timed_run(_settings(small, method), data.clients, data.server_points)


def timed_run(settings: Settings, clients: Sequence[Points], server_points: FloatArray) -> tuple[Clustering, dict[str, float]]:
    """Return the result of one whole private run, and its seconds from the plan to the centers."""
    wall, cpu = time.perf_counter(), time.process_time()
    prepared = prepare(settings, server_points, len(clients))
    planned = time.process_time()
    found = run(InMemoryFederation(clients), prepared)
    done = time.process_time()
    return found, {"seconds": time.perf_counter() - wall, "cpu_seconds": done - cpu, "plan_cpu_seconds": planned - cpu}


def growth(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for everything that grows, the power of it that CPU seconds grow with, from the two largest cases."""
    found = []
    for what, fact in GROWS.items():
        for method in METHODS:
            largest = sorted((r for r in rows if r["what"] == what and r["method"] == method), key=lambda row: row[fact])[-2:]
            if len(largest) == 2:
                before, after = largest
                power = math.log(after["cpu_seconds"] / before["cpu_seconds"]) / math.log(after[fact] / before[fact])
                found.append({"what": what, "method": method, "power": power, "from": before[fact], "to": after[fact]})
    return found


def _settings(case: SpeedCase, method: str) -> Settings:
    unit = PrivacyUnit(case.unit)
    size = case.client_size if unit is PrivacyUnit.CLIENT else None
    return Settings(case.k, 1.0, method=MethodName(method), privacy_unit=unit, client_size=size)
