"""The kernel of a Lloyd pass: what is prepared for it, its bit arithmetic in numpy, and on a GPU its integers."""

# ruff: noqa: E402 - without torch nothing below can be imported

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu import lloyd
from feddp_kmeans.silos.gpu.cuda import source
from feddp_kmeans.silos.gpu.torch_silo import total_of
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.query import Query
from tests.silos.gpu.beside_numpy import tied_points
from tests.strategies import one_client

SOURCE = source("tiles.cu", "lloyd.cu")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def wide_centers(rng, largest, d=100):
    wide = np.zeros((16, -(-d // 16) * 16))
    wide[:, :d] = rng.integers(-largest, largest + 1, (16, d))
    return wide


def high_and_low(z):
    """Return the parts of whole numbers as the kernel finds them, in float16."""
    bias = float(re.search(r"BIAS = (\d+\.0) \+ 0x64660080", SOURCE)[1]) + 0x64660080
    low_bytes = (z + bias).view(np.uint64).astype(np.uint32)[:, None].view(np.uint8)
    halves = np.ascontiguousarray(low_bytes[:, [1, 2, 0, 3]]).view(np.float16)
    return halves[:, 0] * np.float16(16) - np.float16(24576), halves[:, 1] / np.float16(16) - np.float16(72)


def test_bytes_of_a_biased_number_are_its_parts():
    z = np.arange(-(2**17) + 128, 2**17 - 128, dtype=np.float64)
    high, low = high_and_low(z)
    assert np.array_equal(16 * (high.astype(np.float64) + low.astype(np.float64)), z)
    assert np.abs(low).max() <= 8
    assert np.abs(high[np.abs(z) < RESOLUTION]).max() <= 4096


def test_a_center_is_the_sum_of_two_halves(rng):
    wide = wide_centers(rng, 2**22 - 1)
    large, small = lloyd.halves(wide).astype(np.float64)
    assert np.array_equal(128 * (large + small), wide)
    assert not np.array_equal(128 * large, wide)


@pytest.mark.parametrize("largest", [3, 5000, 2**22 - 1])
def test_scores_miss_by_less_than_half_the_slack(largest, rng):
    wide = wide_centers(rng, largest)
    both = lloyd.halves(wide)
    worst = 127 * np.sign(both[1])  # for the product that is left out
    z = np.concatenate([np.rint(rng.standard_normal((50, 112)) * rng.choice([1, 300, 6000], (50, 1))), worst])
    high, low = (part.reshape(z.shape).astype(np.float32) for part in high_and_low(z.ravel()))
    large, small = both.astype(np.float32)
    found = high @ large.T + (high @ small.T + low @ large.T) - np.float32(np.square(wide).sum(axis=1) / 4096)
    exact = (z @ wide.T - np.square(wide).sum(axis=1) / 2) / 2048
    fixed, of_length = lloyd.slack(wide, both)
    assert (np.abs(found - exact) < (fixed + of_length * np.linalg.norm(z, axis=1, keepdims=True)) / 2).all()


@pytest.mark.parametrize("d", [1, 7, 16, 100, 128])
def test_what_the_kernel_is_given_has_the_size_of_its_struct(d, rng):
    given = lloyd._public(np.zeros(d), 2.0, rng.integers(-9, 9, (3, d)).astype(float))
    width = -(-d // 16) * 16
    assert given.size == 64 * width + 8 * (1 + 16 + width + 16 * width) + 4 * (4 + 16 + width)
    assert given[64 * width :][:8].view(np.float64) == 2.0


def test_points_off_a_gpu_do_not_fit():
    center = torch.zeros(2, dtype=torch.float64)
    assert not lloyd.fits(torch.zeros((4, 2)), center, 1.0, torch.zeros((1, 2), dtype=torch.float64))


@needs_gpu
@pytest.mark.parametrize("d", [1, 6, 33, 100, 128])
def test_ties_edges_and_extremes_give_the_integers_of_numpy(d, rng):
    points, targets = tied_points(d, 16, rng)
    public = {"center": np.zeros(d), "radius": float(RESOLUTION), "centers": targets}
    tensor = torch.as_tensor(points, device="cuda")
    assert lloyd.fits(
        tensor, torch.zeros(d, dtype=torch.float64, device="cuda"), float(RESOLUTION), torch.as_tensor(targets, device="cuda")
    )
    for name in ("cluster-sums", "cluster-counts"):
        expected = REGISTRY[name](one_client(points.astype(np.float64)), **public)
        assert np.array_equal(total_of(Query(REGISTRY[name], public, d), tensor).cpu().numpy(), expected)


@needs_gpu
def test_only_rows_at_the_edge_are_left(rng):
    ball = Ball(np.zeros(20), 1.0)
    directions = rng.standard_normal((1000, 20))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.linspace(0.9, 1.1, 1000)
    on = [
        torch.as_tensor(array, device="cuda")
        for array in ((directions * lengths[:, None]).astype(np.float32), ball.center, np.zeros((1, 20)))
    ]
    _, counts, left = lloyd.lloyd_pass(on[0], on[1], ball.radius, on[2])
    assert np.array_equal(left.cpu().numpy(), lengths > lengths[~left.cpu().numpy()].max())
    assert 0.99 < lengths[~left.cpu().numpy()].max() < 1
    assert int(counts.sum()) == int((~left).sum())
