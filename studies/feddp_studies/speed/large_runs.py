"""Whole private runs with many clusters, and the memory that runs take beyond their points; each in a process of its own."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.speed.machine import peak_megabytes

_BLOCK, _OF_SERVER, _OF_CLIENT = 50_000, 600, 50


@dataclass(frozen=True)
class LargeCase:
    """A mixture in the unit cube that is made in memory, and what is run on it."""

    n_points: int
    dimension: int
    k: int = 10
    kind: str = "float64"
    unit: str = "point"
    method: str = "refined"
    server_per_cluster: int = 0
    """Server points, in multiples of k; 0: there are none."""

    def mixture(self) -> tuple[FloatArray, FloatArray]:
        """Return the points and the server's, made in blocks so that little else was ever in memory."""
        rng = np.random.default_rng(0)
        means = rng.random((self.k, self.dimension))
        spread = 0.25 * self.k ** (-1 / self.dimension) / max(1.0, (self.dimension / 4) ** 0.5)
        points = np.empty((self.n_points, self.dimension), dtype=self.kind)
        for start in range(0, self.n_points, _BLOCK):
            rows = len(points[start : start + _BLOCK])
            drawn = means[rng.integers(self.k, size=rows)] + spread * rng.standard_normal((rows, self.dimension))
            points[start : start + rows] = drawn.clip(0, 1)
        n_server = self.server_per_cluster and max(_OF_SERVER, self.server_per_cluster * self.k)
        server = means[rng.integers(self.k, size=n_server)] + spread * rng.standard_normal((n_server, self.dimension))
        return points, server.clip(0, 1)


MANY = tuple(
    LargeCase(100_000, dimension, k, server_per_cluster=server) for dimension in (2, 10) for server in (0, 10) for k in (10, 100, 300, 1000)
)
"""What grows is k."""

MEMORY = tuple(
    LargeCase(int(megabytes * 1e6 / 100 / np.dtype(kind).itemsize), 100, kind=kind, unit=unit, method=method, server_per_cluster=10)
    for megabytes in (130, 1000)
    for kind in ("float32", "float64")
    for unit in ("point", "client")
    for method in ("paper", "refined")
)
"""Points in memory, as one table; clients are fifty rows each. 130 MB of float32 are just few enough for a run to keep its batches."""


def measure_large(case: LargeCase) -> dict[str, Any]:
    """Return the CPU seconds of one whole private run, the peak of its memory above its start, and that in multiples of the points."""
    small = replace(case, n_points=2000, k=5, dimension=min(case.dimension, 10))
    _timed(small, *small.mixture())
    points, server = case.mixture()
    before = _reset_peak()
    seconds = _timed(case, points, server)
    above, held = peak_megabytes() - before, points.nbytes / 1e6
    return asdict(case) | {"cpu_seconds": seconds, "points_mb": held, "above_mb": above, "times_points": above / held}


def measure_larges(
    cases: Sequence[LargeCase], alone: Callable[..., Any], on_case: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Return a row for every case; ``alone`` runs a function in a process of its own."""
    rows = []
    for case in cases:
        on_case(f"{case.n_points:,} x {case.dimension} {case.kind}, k {case.k:,}, {case.unit}: {case.method}")
        rows.append(alone(measure_large, case))
    return rows


def _timed(case: LargeCase, points: FloatArray, server: FloatArray) -> float:
    """Return the CPU seconds of a run from the plan to the centers."""
    unit = PrivacyUnit(case.unit)
    size = _OF_CLIENT if unit is PrivacyUnit.CLIENT else None
    box = None if len(server) else (0.0, 1.0)
    settings = Settings(case.k, 1.0, method=MethodName(case.method), privacy_unit=unit, client_size=size, box=box)
    offsets = np.append(np.arange(0, len(points), _OF_CLIENT), len(points))
    federation = InMemoryFederation.from_offsets(points, offsets if unit is PrivacyUnit.CLIENT else np.array([0, len(points)]))
    start = time.process_time()
    run(federation, prepare(settings, server if len(server) else None, federation.n_clients, dimension=case.dimension))
    return time.process_time() - start


def _reset_peak() -> float:
    """Forget the process's peak so far where the system allows it (Linux), and return what is in memory now, in megabytes."""
    status = Path("/proc/self/status")
    try:
        Path("/proc/self/clear_refs").write_text("5")
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="utf-8"))
    except OSError:
        found = None
    return int(found[1]) / 1e3 if found else peak_megabytes()
