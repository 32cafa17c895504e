"""Whole private runs over points on a GPU: seconds in all, and of each statistic.

python studies/benchmarks/gpu_run.py [points]

A mixture of ten Gaussians in 100 dimensions, float32, on the device before the clock starts; noise is Gaussian. Each method is run twice,
the first time with the kernels still to be compiled.
"""

import sys
import time
from collections import defaultdict

import numpy as np
import torch

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.merging import forget
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.gpu.torch_silo import TorchSilo

DIMENSION, K, CHUNK = 100, 10, 10**6


class Timed(TorchSilo):
    """Points on a GPU that keep the seconds of every sum."""

    def __init__(self, clients, device=None):
        super().__init__(clients, device)
        self.seconds = defaultdict(list)

    def exact_sum(self, query, cohort=None):
        torch.cuda.synchronize()
        began = time.perf_counter()
        total = super().exact_sum(query, cohort)
        centers = query.own.get("centers")
        shape = "" if centers is None else f", {len(centers)} centers in {centers.shape[1]} dimensions"
        self.seconds[query.statistic.name + shape].append(time.perf_counter() - began)
        return total


def mixture(n, means, generator):
    points = torch.empty((n, DIMENSION), device="cuda")
    for start in range(0, n, CHUNK):
        part = points[start : start + CHUNK]
        places = torch.randint(0, K, (len(part),), device="cuda", generator=generator)
        part.copy_(means[places] + 0.7 * torch.randn(part.shape, device="cuda", generator=generator))
    return points


def copied(points):
    """Return the seconds that the points would take from pinned memory to the device, at the rate of a hundredth of them."""
    part = points[: max(1, len(points) // 100)]
    pinned = torch.empty(part.shape, pin_memory=True).copy_(part)
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        part.copy_(pinned)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * len(points) / len(part)


def main():
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    print(torch.cuda.get_device_name(), "torch", torch.__version__, f"{n:,} points")
    generator = torch.Generator(device="cuda").manual_seed(0)
    means = torch.randn((K, DIMENSION), device="cuda", generator=generator)
    server = mixture(600, means, generator).cpu().numpy().astype(np.float64)
    points = mixture(n, means, generator)
    copy = copied(points)
    silo = Timed([points])
    for method in ("refined", "paper"):
        for which in ("kernels to be compiled", "kernels compiled"):
            silo.seconds.clear()
            forget()
            prepared = prepare(Settings(K, 1.0, method=method, scale="off", noise="gaussian"), server, 1)
            began = time.perf_counter()
            run(LocalFederation(silo), prepared, seed=0)
            whole = time.perf_counter() - began
            sums = sum(map(sum, silo.seconds.values()))
            print(f"{method}, {which}: {whole:.2f} s, of which sums {sums:.2f} s; with the copy {whole + copy:.2f} s", flush=True)
        for name, times in sorted(silo.seconds.items(), key=lambda row: -sum(row[1])):
            print(f"  {name}: {len(times)} x {1e3 * np.median(times):.0f} ms")


if __name__ == "__main__":
    main()
