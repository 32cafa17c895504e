"""A million clients on one machine: whole private runs at 10^4, 10^5 and 10^6 clients of 50 points in 20 dimensions.

    python studies/benchmarks/many_clients.py --folder /tmp

The points are float32 in one memory-mapped file (4 GB at a million clients) that all runs share; offsets say where each client starts.
Every run is a process of its own and shows its releases as they are made. Prints seconds and peak memory. Linux only: memory is read
from /proc.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from feddp_studies.speed.machine import peak_megabytes

SIZE, DIMENSION, K, BLOCK = 50, 20, 10, 10_000


def mixture(rng, n, means):
    return (means[rng.integers(K, size=n)] + 0.2 * rng.standard_normal((n, DIMENSION))).astype(np.float32)


def write_points(path, n_clients):
    rng = np.random.default_rng(0)
    means = rng.random((K, DIMENSION))
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n_clients * SIZE, DIMENSION)})
        for _ in range(n_clients // BLOCK):
            mixture(rng, BLOCK * SIZE, means).tofile(file)


def run_once(path, n_clients, unit, method):
    """One run on the first clients of the file, in this process; what it took goes to stdout as JSON."""
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.federation.in_memory import InMemoryFederation

    points = np.load(path, mmap_mode="r")[: n_clients * SIZE]
    federation = InMemoryFederation.from_offsets(points, np.arange(0, n_clients * SIZE + 1, SIZE))
    rng = np.random.default_rng(0)
    server = mixture(rng, 300, rng.random((K, DIMENSION))).astype(np.float64)
    start, cpu = time.perf_counter(), time.process_time()
    # What is compared is the work on clients: planning is switched off, and how often clients are asked is the same for all.
    prepared = prepare(Settings(K, 1.0, method=method, privacy_unit=unit, lloyd_steps=1, client_size=SIZE), server, n_clients)

    def on_release(name):
        print(f"  {n_clients:,} clients, {time.perf_counter() - start:6.1f} s: {name}", file=sys.stderr, flush=True)

    run(federation, prepared, on_release=on_release)
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "peak_mb": peak_megabytes()}
    print(json.dumps(took))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        path, n_clients, unit, method = given.child
        run_once(Path(path), int(n_clients), unit, method)
        return
    print("| unit | method | clients | seconds | CPU seconds | CPU ms a thousand clients | peak, MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "points.npy"
        write_points(path, max(given.clients))
        for unit in ("point", "client"):
            for method in ("paper", "refined"):
                for n_clients in given.clients:
                    command = [sys.executable, __file__, "--child", str(path), str(n_clients), unit, method]
                    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                    each = 1e6 * found["cpu_seconds"] / n_clients
                    times = f"{found['seconds']:.1f} | {found['cpu_seconds']:.1f} | {each:.1f} | {found['peak_mb']:.0f}"
                    print(f"| {unit} | {method} | {n_clients:,} | {times} |", flush=True)


if __name__ == "__main__":
    main()
