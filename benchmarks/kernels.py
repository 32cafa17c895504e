"""Exact kernels beside the fastest inexact ones: CPU seconds of one core, and ratios to a peer in the same run. Prints a table.

    OMP_NUM_THREADS=1 python benchmarks/kernels.py

Needs numba (extra "fast") and faiss-cpu. Peers are timed in turn with ours, several times; ratios are of the best times, and the spread is
that of the ratios of single turns. Peers work in float32 and their sums depend on the order of the points; ours are exact.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import faiss
import numpy as np
from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense

from feddp_kmeans.algorithm.statistics import REGISTRY
from feddp_kmeans.algorithm.statistics.nearest import nearest
from feddp_kmeans.federation.base import ClientBatch
from feddp_kmeans.federation.batches import batch_rows
from feddp_kmeans.privacy.engine import Engine, using
from feddp_kmeans.privacy.fixed_point import RESOLUTION

TURNS = 7
LLOYD = {"A: Lloyd pass, 1e6 x 100, k = 10": (10**6, 100, 10), "B: Lloyd pass, 1e5 x 819, k = 10": (10**5, 819, 10)}


def cpu_seconds(job):
    start = time.process_time()
    job()
    return time.process_time() - start


def with_engine(engine, job):
    def run():
        with using(engine):
            job()

    return run


def show(case, peer, jobs):
    """A row a job: its best time, the ratio to the peer's best, and the least and greatest ratio of a turn."""
    for job in jobs.values():
        job()
    seconds = np.array([[cpu_seconds(job) for job in jobs.values()] for _ in range(TURNS)])
    peers = seconds[:, list(jobs).index(peer)]
    for name, own in zip(jobs, seconds.T, strict=True):
        turns = own / peers
        print(f"| {case} | {name} | {own.min():.3f} | {own.min() / peers.min():.2f} | {turns.min():.2f} to {turns.max():.2f} |", flush=True)


def chunked_numpy(points, centers):
    """The plainest fast pass: matrix products of chunks, in float32."""
    sums, halves = np.zeros(centers.shape), np.square(centers).sum(axis=1) / 2
    rows = max(1, (1 << 16) // points.shape[1])
    for start in range(0, len(points), rows):
        chunk = points[start : start + rows]
        chosen = np.zeros((len(chunk), len(centers)), dtype=np.float32)
        chosen[np.arange(len(chunk)), (chunk @ centers.T - halves).argmax(axis=1)] = 1
        sums += chosen.T @ chunk
    return sums


def lloyd(case, n, d, k):
    rng = np.random.default_rng(0)
    points, centers = rng.standard_normal((n, d), dtype=np.float32), rng.standard_normal((k, d), dtype=np.float32)
    radius = 1.25 * d**0.5
    public = {"center": np.zeros(d), "radius": radius, "centers": centers * RESOLUTION / radius}
    weights, labels, rows = np.ones(n, dtype=np.float32), np.zeros(n, dtype=np.int32), batch_rows(d)
    moved, counts, shifts = np.zeros_like(centers), np.zeros(k, dtype=np.float32), np.zeros(k, dtype=np.float32)

    def ours():
        for start in range(0, n, rows):
            piece = points[start : start + rows]
            REGISTRY["cluster-sums"](ClientBatch(piece, np.array([0, len(piece)])), **public)

    show(
        case,
        "scikit-learn's inner loop",
        {
            "scikit-learn's inner loop": lambda: lloyd_iter_chunked_dense(points, weights, centers, moved, counts, labels, shifts, 1),
            "numpy in chunks, float32": lambda: chunked_numpy(points, centers),
            "ours, numba": with_engine(Engine.NUMBA, ours),
            "ours, numpy": with_engine(Engine.NUMPY, ours),
        },
    )


def lookup():
    rng = np.random.default_rng(0)
    points, targets = (np.rint(15_000 * rng.standard_normal((n, 10))) for n in (10**6, 1020))
    index = faiss.IndexFlatL2(10)
    index.add(targets.astype(np.float32))
    coarse = points.astype(np.float32)
    show(
        "C: nearest of 1,020, 1e6 x 10",
        "faiss IndexFlatL2",
        {
            "faiss IndexFlatL2": lambda: index.search(coarse, 1),
            "ours, numba": with_engine(Engine.NUMBA, lambda: nearest(points, targets)),
            "ours, numpy": with_engine(Engine.NUMPY, lambda: nearest(points, targets)),
        },
    )


def main():
    faiss.omp_set_num_threads(1)
    print("| case | who | CPU s, best | times the peer | spread of that |\n|---|---|---|---|---|")
    for case, sizes in LLOYD.items():
        lloyd(case, *sizes)
    lookup()


if __name__ == "__main__":
    main()
