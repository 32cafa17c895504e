"""Exact passes over points compared with the fastest inexact ones, in one process on one core, as ratios: seconds depend on the machine.

Peers work in float32, and their sums depend on the order of the points. Ours are whole numbers, the same bits in any order, as a private
release needs them. The limit is what no pass can beat: reading the points once, or multiplying them with the centers.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from feddp_kmeans._typing import Array
from feddp_kmeans.silos.batches import batch_rows
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import Engine, available, using
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.nearest import nearest
from feddp_kmeans.statistics.query import Query

Work = Callable[[], Any]

LIMIT = "limit"


@dataclass(frozen=True)
class Pass:
    """A pass over n points of d coordinates with k centers; ``name`` is its letter in docs/scale.md."""

    name: str
    n: int
    d: int
    k: int

    @property
    def what(self) -> str:
        """Return the pass in words."""
        work = "Lloyd pass" if self.k < self.d else "nearest center"
        return f"{self.name}: {work}, {self.n:,} x {self.d}, k = {self.k:,}"


PASSES = (Pass("A", 10**6, 100, 10), Pass("B", 10**5, 819, 10), Pass("C", 10**6, 10, 1020))
QUICK_PASSES = (Pass("A", 10**5, 100, 10), Pass("B", 10**4, 819, 10), Pass("C", 10**5, 10, 1020))


def measure_passes(passes: Sequence[Pass], turns: int = 7) -> list[dict[str, Any]]:
    """Return a row for every pass and whoever makes it: CPU seconds, and times the fastest peer with its spread over the turns."""
    with threadpool_limits(1):
        return [row for one in passes for row in _rows(one.what, _lloyd(one) if one.k < one.d else _lookup(one), turns)]


def _rows(what: str, jobs: dict[str, Work], turns: int) -> list[dict[str, Any]]:
    """Time all jobs in turns, so that other work of the machine slows all of them alike."""
    for job in jobs.values():
        job()
    seconds = np.array([[_cpu_seconds(job) for job in jobs.values()] for _ in range(turns)])
    best = dict(zip(jobs, seconds.min(axis=0), strict=True))
    peer = min((name for name in jobs if not name.startswith(("ours", LIMIT))), key=lambda name: best[name])
    ratios = dict(zip(jobs, (seconds / seconds[:, [list(jobs).index(peer)]]).T, strict=True))
    return [
        {
            "what": what,
            "who": name,
            "is_peer": name == peer,
            "cpu_seconds": float(best[name]),
            "ratio": float(best[name] / best[peer]),
            "least": float(ratios[name].min()),
            "greatest": float(ratios[name].max()),
        }
        for name in jobs
    ]


def _cpu_seconds(job: Work) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


def _lloyd(one: Pass) -> dict[str, Work]:
    from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense

    rng = np.random.default_rng(0)
    points, centers = (rng.standard_normal((rows, one.d), dtype=np.float32) for rows in (one.n, one.k))
    radius = 1.25 * one.d**0.5
    public = {"center": np.zeros(one.d), "radius": radius, "centers": centers.astype(np.float64) * RESOLUTION / radius}
    weights, labels = np.ones(one.n, dtype=np.float32), np.zeros(one.n, dtype=np.int32)
    moved, counts, shifts = np.zeros_like(centers), np.zeros(one.k, dtype=np.float32), np.zeros(one.k, dtype=np.float32)

    query = Query(REGISTRY["cluster-sums"], public, one.d)

    def ours() -> None:
        rows = batch_rows(one.d)
        for start in range(0, one.n, rows):
            piece = points[start : start + rows]
            query(ClientBatch(piece, np.array([0, len(piece)])))

    jobs: dict[str, Work] = {
        f"{LIMIT}: one read of the points": points.sum,
        "scikit-learn's inner loop": lambda: lloyd_iter_chunked_dense(points, weights, centers, moved, counts, labels, shifts, 1),
        "numpy in chunks": lambda: _chunked_numpy(points, centers),
    }
    return jobs | _engines(ours)


def _lookup(one: Pass) -> dict[str, Work]:
    rng = np.random.default_rng(0)
    points, targets = (np.rint(15_000 * rng.standard_normal((rows, one.d))) for rows in (one.n, one.k))
    coarse, centers = points.astype(np.float32), targets.astype(np.float32)
    jobs: dict[str, Work] = {
        f"{LIMIT}: the matrix product": lambda: _products(coarse, centers),
        "numpy in chunks": lambda: _chunked_labels(coarse, centers),
    }
    try:
        import faiss
    except ImportError:
        pass
    else:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatL2(one.d)
        index.add(centers)
        jobs["faiss"] = lambda: index.search(coarse, 1)
    return jobs | _engines(lambda: nearest(points, targets))


def _engines(job: Work) -> dict[str, Work]:
    engines = [Engine.NUMPY, Engine.COMPILED] if available() else [Engine.NUMPY]
    return {f"ours, {engine.value}": partial(_with_engine, engine, job) for engine in engines}


def _with_engine(engine: Engine, job: Work) -> None:
    with using(engine):
        job()


def _products(points: Array, centers: Array) -> None:
    rows = max(1, (1 << 16) // len(centers))
    for start in range(0, len(points), rows):
        points[start : start + rows] @ centers.T


def _chunked_labels(points: Array, centers: Array) -> None:
    halves = np.square(centers).sum(axis=1) / 2
    rows = max(1, (1 << 16) // len(centers))
    for start in range(0, len(points), rows):
        (points[start : start + rows] @ centers.T - halves).argmax(axis=1)


def _chunked_numpy(points: Array, centers: Array) -> None:
    """Make the plainest fast pass: matrix products of chunks."""
    sums, halves = np.zeros(centers.shape), np.square(centers).sum(axis=1) / 2
    rows = max(1, (1 << 16) // points.shape[1])
    for start in range(0, len(points), rows):
        chunk = points[start : start + rows]
        chosen = np.zeros((len(chunk), len(centers)), dtype=np.float32)
        chosen[np.arange(len(chunk)), (chunk @ centers.T - halves).argmax(axis=1)] = 1
        sums += chosen.T @ chunk
