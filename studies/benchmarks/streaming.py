"""Private runs over one client whose file is larger than the memory they may use. Prints seconds and peak resident memory.

    python studies/benchmarks/streaming.py --gigabytes 10 --folder /tmp

Writes a NumPy file of float32 and a Parquet file of a fifth of it into the folder, runs each method on each in a process of its own, and
deletes them. The points are a mixture in 50 dimensions; what is measured is memory, so they repeat. Linux only: memory is read from /proc.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_studies.speed.machine import peak_megabytes

DIMENSION, BLOCK = 50, 200_000


def block_of_points():
    rng = np.random.default_rng(0)
    means = rng.random((10, DIMENSION))
    return (means[rng.integers(10, size=BLOCK)] + 0.5 * rng.standard_normal((BLOCK, DIMENSION))).astype(np.float32)


def write_npy(path, gigabytes):
    block = block_of_points()
    times = int(gigabytes * 1e9 / block.nbytes)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (times * BLOCK, DIMENSION)})
        for _ in range(times):
            block.tofile(file)


def write_parquet(path, gigabytes):
    block = block_of_points()
    table = pa.table({f"x{i}": block[:, i] for i in range(DIMENSION)})
    with pq.ParquetWriter(path, table.schema, use_dictionary=False) as writer:
        for _ in range(int(gigabytes * 1e9 / block.nbytes)):
            writer.write_table(table)


def run_once(path, method):
    """One run, in this process; what it took goes to stdout as JSON."""
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.federation.files import FileFederation
    from feddp_kmeans.tables.client_files import open_table

    federation = FileFederation([open_table(path)])
    start, cpu, before = time.perf_counter(), time.process_time(), peak_megabytes()
    prepared = prepare(Settings(10, 1.0, method=method), block_of_points()[:300].astype(np.float64), 1)
    run(federation, prepared, on_release=lambda name: print(f"  {time.perf_counter() - start:6.1f} s: {name}", file=sys.stderr, flush=True))
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(took | {"before_mb": before, "peak_mb": peak_megabytes()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_once(Path(given.child[0]), given.child[1])
        return
    print("| file | GB | method | seconds | CPU seconds | memory before, MB | peak, MB |")
    print("|---|---|---|---|---|---|---|")
    for suffix, write, gigabytes in (("npy", write_npy, given.gigabytes), ("parquet", write_parquet, given.gigabytes / 5)):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / f"client.{suffix}"
            write(path, gigabytes)
            for method in ("paper", "refined"):
                command = [sys.executable, __file__, "--child", str(path), method]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                numbers = " | ".join(f"{found[key]:.0f}" for key in ("seconds", "cpu_seconds", "before_mb", "peak_mb"))
                print(f"| {suffix} | {path.stat().st_size / 1e9:.1f} | {method} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
