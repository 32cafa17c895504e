"""A Lloyd pass on a GPU: its integers compared with numpy's, its time with that of a copy.

python studies/benchmarks/gpu_pass.py [points]
"""

import sys
from functools import partial

import numpy as np
import torch

from feddp_kmeans.silos.gpu.lloyd import fits, lloyd_pass
from feddp_kmeans.silos.gpu.torch_silo import STATISTICS, total_of
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from feddp_kmeans.statistics.query import Query

RNG = np.random.default_rng(0)


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


def ordinary(d, k, n=200_003):
    points, ball = RNG.standard_normal((n, d)), Ball(RNG.standard_normal(d) * 0.1, 4.0 * np.sqrt(d))
    points[:3] = 100.0
    return points, ball, np.rint(ball.encode(RNG.standard_normal((k, d))))


def whole(d, k, low, high, n=100_001):
    """Return a case in which points are their own integers."""
    return RNG.integers(low, high, (n, d)), Ball(np.zeros(d), float(RESOLUTION)), RNG.integers(low, high, (k, d)).astype(float)


def twins(d):
    points, ball, targets = ordinary(d, 16, 50_000)
    targets[9:] = targets[:7]
    return points, ball, targets


def halfway(d):
    points, ball, targets = whole(d, 16, -9000 // d, 9000 // d)
    pairs = RNG.integers(0, 16, (2, len(points)))
    return (targets[pairs[0]] + targets[pairs[1]]) / 2, ball, targets


def rounding(d):
    points, ball, targets = whole(d, 12, -4000 // d, 4000 // d)
    return points + RNG.choice([-0.5, 0.5], points.shape), ball, targets


def edge(d):
    points, ball, targets = ordinary(d, 10, 100_000)
    lengths = np.linalg.norm(points - ball.center, axis=1, keepdims=True)
    return ball.center + (points - ball.center) * ball.radius / lengths * RNG.uniform(0.98, 1.002, lengths.shape), ball, targets


def extreme(d):
    points, ball, targets = whole(d, 10, -3000 // d, 3000 // d)
    sizes = np.array([1.0, 1e-45, 1e-38, 2.0**16, 2.0**17, 2.0**24, 2.0**32, 2.0**33, 2.0**48, 2.0**63, 2.0**100, 3e38])
    places = RNG.integers(0, d, 20_000)
    points = points.astype(float)
    points[np.arange(20_000), places] = RNG.choice(sizes, 20_000) * RNG.choice([-1, 1], 20_000)
    return points, ball, targets


def far(d):
    points, ball, targets = ordinary(d, 10, 50_000)
    return points + 900.0, Ball(ball.center + 900.0, ball.radius), targets * 50


CASES = {
    "ordinary": [partial(ordinary, d, k) for d, k in ((100, 10), (128, 16), (64, 16), (50, 3), (33, 5), (7, 1), (3, 16), (2, 4), (1, 3))],
    "few rows": [partial(ordinary, 100, 10, n) for n in (3, 15, 16, 17, 63, 64, 65, 1000)],
    "equal centers": [partial(twins, d) for d in (100, 6)],
    "points halfway between two centers": [partial(halfway, d) for d in (100, 2, 1)],
    "points halfway between two integers": [partial(rounding, d) for d in (100, 5)],
    "points at the edge": [partial(edge, d) for d in (100, 3)],
    "points of any size": [partial(extreme, d) for d in (100, 1)],
    "a center far from zero, far centers": [partial(far, d) for d in (100, 9)],
}


def same(points, ball, targets):
    """Return whether the kernel's integers are numpy's, row by row of those that it does not leave; and how many it leaves."""
    points, k = points.astype(np.float32), len(targets)
    with np.errstate(over="ignore"):
        encoded = ball.encode(points)
    labels = (encoded @ (2 * targets.T) - np.square(targets).sum(axis=1)).argmax(axis=1)
    arguments = (
        torch.as_tensor(points, device="cuda"),
        torch.as_tensor(ball.center, device="cuda"),
        ball.radius,
        torch.as_tensor(targets, device="cuda"),
    )
    assert fits(*arguments)
    sums, counts, left = (tensor.cpu().numpy() for tensor in lloyd_pass(*arguments))
    expected = np.zeros(targets.shape, dtype=np.int64)
    np.add.at(expected, labels[~left], encoded[~left].astype(np.int64))
    return np.array_equal(sums, expected) and np.array_equal(counts, np.bincount(labels[~left], minlength=k)), int(left.sum())


def same_as_torch(n, d, spread):
    """Return whether many rows, whose sums are large, give the integers of the plain torch code."""
    points = torch.randn((n, d), device="cuda") * spread + (1 - 6 * spread)
    public = {
        "center": np.zeros(d),
        "radius": 1.02 * float(np.sqrt(d)),
        "centers": RNG.integers(30000 // np.sqrt(d), 65000 // np.sqrt(d), (16, d)).astype(float),
    }
    given = {name: torch.as_tensor(value, device="cuda") if name != "radius" else value for name, value in public.items()}
    plain = sum(STATISTICS["cluster-sums"](points[start : start + 10**6], **given) for start in range(0, n, 10**6))
    return bool((total_of(Query(CLUSTER_SUMS, public, d), points) == plain).all())


def check():
    for name, makers in CASES.items():
        equal, left = zip(*(same(*maker()) for maker in makers), strict=True)
        print(f"{name}: {'the same integers as numpy' if all(equal) else f'DIFFERENT {equal}'}; rows left {left}", flush=True)
        assert all(equal)
    assert same_as_torch(3 * 10**7, 4, 0.01)
    assert same_as_torch(10**7, 100, 0.1)
    print("sums of 10**7 rows: the same integers as plain torch")


def main():
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    check()
    points = torch.randn((n, 100), dtype=torch.float32, device="cuda")
    half = points[: n // 2]
    copied = seconds(partial(torch.empty_like(half).copy_, half))
    bandwidth = 2 * half.numel() * 4 / copied
    ball = Ball(np.zeros(100), 40.0)
    public = {"center": ball.center, "radius": ball.radius, "centers": np.rint(ball.encode(RNG.standard_normal((10, 100))))}
    on = {name: torch.as_tensor(value, device="cuda") for name, value in public.items() if name != "radius"}
    print(f"copy {np.median(bandwidth) / 1e12:.2f} TB/s ({bandwidth.min() / 1e12:.2f} to {bandwidth.max() / 1e12:.2f})")
    sweep = partial(lloyd_pass, points, on["center"], ball.radius, on["centers"])
    for what, work in {"one sweep": sweep, "the whole statistic": partial(total_of, Query(CLUSTER_SUMS, public, 100), points)}.items():
        time = np.median(seconds(work))
        ours = points.numel() * 4 / time
        share = ours / np.median(bandwidth)
        print(f"{what} over {n:,} x 100: {time * 1e3:.1f} ms, {ours / 1e12:.2f} TB/s, {share:.0%} of a copy's bandwidth")


if __name__ == "__main__":
    main()
