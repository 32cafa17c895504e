"""Points that are streamed to a GPU, and whole clients there: seconds, and bytes per second.

python studies/benchmarks/gpu_stream.py [points] [clients]

With 0 clients there are no whole runs.

First a plain copy of float32 points in 100 dimensions from pinned host memory; then the same bytes streamed through one Lloyd pass, from
pinned memory, from an ordinary array and from Parquet files (of a quarter of the points); then whole runs of both methods, streamed. Last
whole runs that protect clients, with as many points on the device. A run is made twice where kernels are to be compiled.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from gpu_run import DIMENSION, K, Timed, mixture

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.merging import forget
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.gpu.streams import ParquetPoints
from feddp_kmeans.silos.gpu.torch_silo import TorchSilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query


def seconds(act):
    """Return the median of three times, after one that does not count."""
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        began = time.perf_counter()
        act()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))


def in_files(points, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for index, part in enumerate(np.array_split(points, 4)):
        columns = {f"x{j}": np.ascontiguousarray(part[:, j]) for j in range(DIMENSION)}
        pq.write_table(
            pa.table(columns), Path(folder) / f"{index}.parquet", compression="none", use_dictionary=False, row_group_size=1 << 16
        )
    return ParquetPoints(folder)


def streamed_passes(pinned, means):
    """Print how long a Lloyd pass takes that streams the points."""
    size = pinned.nbytes
    there = torch.empty(pinned.shape, device="cuda")
    plain = seconds(lambda: there.copy_(pinned))
    print(f"plain copy of {size / 1e9:.1f} GB from pinned memory: {plain:.3f} s, {size / plain / 1e9:.1f} GB/s", flush=True)
    radius = 20.0
    public = {"center": np.zeros(DIMENSION), "radius": radius, "centers": means / radius * 65536}
    query = Query(REGISTRY["cluster-sums"], public, DIMENSION)
    expected = TorchSilo([there]).exact_sum(query)
    array = pinned.numpy().copy()
    for name, points in (("pinned memory", pinned), ("an array", array), ("a tensor that is not pinned", torch.from_numpy(array.copy()))):
        began = time.perf_counter()
        silo = TorchSilo([points], "cuda")
        print(f"made the silo of {name} in {time.perf_counter() - began:.2f} s")
        assert np.array_equal(silo.exact_sum(query), expected)
        taken = seconds(lambda silo=silo: silo.exact_sum(query))
        print(f"Lloyd pass streamed from {name}: {taken:.3f} s, {size / taken / 1e9:.1f} GB/s, {taken / plain:.2f} of the copy", flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            part = array[: len(array) // 4]
            silo = TorchSilo([in_files(part, folder)], "cuda")
            assert np.array_equal(silo.exact_sum(query), TorchSilo([part], "cuda").exact_sum(query))
            taken = seconds(lambda: silo.exact_sum(query))
            print(
                f"Lloyd pass streamed from Parquet files of {part.nbytes / 1e9:.1f} GB: {taken:.3f} s, {part.nbytes / taken / 1e9:.1f} GB/s"
            )
            pieces = seconds(lambda: sum(len(piece) for piece in ParquetPoints(folder).pieces(1 << 18)))
            print(f"reading these files alone: {pieces:.3f} s, {part.nbytes / pieces / 1e9:.1f} GB/s", flush=True)
    except ImportError:
        print("no pyarrow here", flush=True)


def whole_runs(silo, server, unit, what, methods=("refined", "paper"), *, twice=False):
    for method in methods:
        for which in ["kernels to be compiled"] * twice + ["kernels compiled"]:
            silo.seconds.clear()
            forget()
            prepared = prepare(Settings(K, 1.0, method=method, scale="off", noise="gaussian", privacy_unit=unit), server, silo.n_clients)
            began = time.perf_counter()
            run(LocalFederation(silo), prepared, seed=0)
            whole = time.perf_counter() - began
            print(f"{method}, {what}, {which}: {whole:.2f} s, of which sums {sum(map(sum, silo.seconds.values())):.2f} s", flush=True)
        for name, times in sorted(silo.seconds.items(), key=lambda row: -sum(row[1])):
            print(f"  {name}: {len(times)} x {1e3 * np.median(times):.0f} ms", flush=True)


def main():
    n, clients = (int(float(given)) for given in (*sys.argv[1:3], *("2e7", "1e5")[len(sys.argv) - 1 :]))
    print(torch.cuda.get_device_name(), "torch", torch.__version__, f"{n:,} points", flush=True)
    generator = torch.Generator(device="cuda").manual_seed(0)
    means = torch.randn((K, DIMENSION), device="cuda", generator=generator)
    server = mixture(600, means, generator).cpu().numpy().astype(np.float64)
    points = mixture(n, means, generator)
    began = time.perf_counter()
    pinned = torch.empty(points.shape, pin_memory=True).copy_(points)
    print(f"pinned in {time.perf_counter() - began:.1f} s", flush=True)
    held = points[: 100 * clients].clone()
    del points
    streamed_passes(pinned, means.cpu().numpy().astype(np.float64))
    if not clients:
        return
    whole_runs(Timed([pinned], "cuda"), server, "point", "streamed from pinned memory", twice=True)
    del pinned
    offsets = np.linspace(0, len(held), clients + 1).astype(np.int64)
    whole_runs(Timed.from_offsets(held, offsets), server, "client", f"{clients:,} clients, {len(held):,} points on the device", twice=True)
    sizes = np.random.default_rng(0).integers(50, 151, clients)
    ragged = np.minimum(np.concatenate([[0], np.cumsum(sizes)]), len(held))
    ragged[-1] = len(held)
    whole_runs(Timed.from_offsets(held, ragged), server, "client", f"{clients:,} clients of 50 to 150 points on the device", ["refined"])


if __name__ == "__main__":
    main()
