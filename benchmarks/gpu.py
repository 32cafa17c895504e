"""A Lloyd pass on a GPU beside the bandwidth of a copy, in one run. Usage: python benchmarks/gpu.py [points]"""

import sys
from functools import partial

import numpy as np
import torch

from feddp_kmeans.gpu.lloyd import lloyd_pass
from feddp_kmeans.privacy.fixed_point import Ball


def seconds(work, repeats=8):
    work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return np.array(times)


def check(d, k, n=200_000):
    rng = np.random.default_rng(d)
    points = rng.standard_normal((n, d)).astype(np.float32)
    points[:3] = 100.0
    ball = Ball(rng.standard_normal(d) * 0.1, 4.0 * np.sqrt(d))
    targets = np.rint(ball.encode(rng.standard_normal((k, d))))
    encoded = ball.encode(points.astype(np.float64))
    labels = (encoded @ (2 * targets.T) - np.square(targets).sum(axis=1)).argmax(axis=1)
    on = lambda array: torch.as_tensor(array, device="cuda")  # noqa: E731
    sums, counts, left = lloyd_pass(on(points), on(ball.center), ball.radius, on(targets))
    kept = ~left.cpu().numpy()
    expected = np.zeros((k, d), dtype=np.int64)
    np.add.at(expected, labels[kept], encoded[kept].astype(np.int64))
    same = np.array_equal(sums.cpu().numpy(), expected) and np.array_equal(counts.cpu().numpy(), np.bincount(labels[kept], minlength=k))
    print(f"d = {d}, k = {k}: {'the same integers as numpy' if same else 'DIFFERENT'}; {int((~kept).sum())} rows left to be clipped")
    return same


def main():
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    assert all([check(100, 10), check(128, 16), check(7, 1), check(33, 5)])
    points = torch.randn((n, 100), dtype=torch.float32, device="cuda")
    half = points[: n // 2]
    copied = seconds(partial(torch.empty_like(half).copy_, half))
    bandwidth = 2 * half.numel() * 4 / copied
    ball = Ball(np.zeros(100), 40.0)
    targets = torch.as_tensor(np.rint(ball.encode(np.random.default_rng(0).standard_normal((10, 100)))), device="cuda")
    center = torch.zeros(100, dtype=torch.float64, device="cuda")
    passed = seconds(lambda: lloyd_pass(points, center, 40.0, targets))
    ours = points.numel() * 4 / passed
    print(f"copy {np.median(bandwidth) / 1e12:.2f} TB/s ({bandwidth.min() / 1e12:.2f} to {bandwidth.max() / 1e12:.2f})")
    print(f"Lloyd pass over {n:,} x 100: {np.median(passed) * 1e3:.1f} ms, {np.median(ours) / 1e12:.2f} TB/s")
    print(f"{np.median(ours) / np.median(bandwidth):.0%} of the copy's bandwidth")


if __name__ == "__main__":
    main()
