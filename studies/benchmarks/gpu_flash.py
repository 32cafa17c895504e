"""One Lloyd pass on a GPU beside flash-kmeans, a library of kernels in float32: the same points and centers, in the same run.

python studies/benchmarks/gpu_flash.py

Ours gives exact sums in whole numbers; theirs assigns points to centers and averages them, in float32. Needs flash-kmeans 0.3.1.
"""

import time
from functools import partial

import numpy as np
import torch
from flash_kmeans.assign_euclid_triton import euclid_assign_triton
from flash_kmeans.centroid_update_triton import triton_centroid_update_sorted_euclid

from feddp_kmeans.silos.gpu.torch_silo import total_of
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from feddp_kmeans.statistics.query import Query

SHAPES = {64: 10**7, 100: 10**7, 384: 4 * 10**6, 768: 2 * 10**6}
CENTERS = 10, 100, 1000


def milliseconds(work, repeats=5):
    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return float(np.median(times))


def theirs(points, squares, centers):
    return triton_centroid_update_sorted_euclid(points, euclid_assign_triton(points, centers, squares), centers)


def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for d, n in SHAPES.items():
        points = torch.randn((n, d), device="cuda")
        squares = torch.cat([part.square().sum(dim=1) for part in points.split(1 << 20)])
        radius = 1.6 * float(np.sqrt(d))
        for k in CENTERS:
            centers = points[torch.randperm(n, device="cuda")[:k]].clone()
            peer = milliseconds(partial(theirs, points[None], squares[None], centers[None]))
            whole = np.rint(centers.double().cpu().numpy() * RESOLUTION / radius)
            query = Query(CLUSTER_SUMS, {"center": np.zeros(d), "radius": radius, "centers": whole}, d)
            own = milliseconds(partial(total_of, query, points))
            print(f"{n:,} x {d}, k = {k}: flash-kmeans {peer:.2f} ms, ours {own:.2f} ms, {own / peer:.2f} times", flush=True)
        del points, squares
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
