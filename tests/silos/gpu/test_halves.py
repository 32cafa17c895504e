"""Nearest centers by products of float16 numbers: the bound on their error, and on a GPU the labels of numpy."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.halves import exact_labels, halves, labels
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from tests.silos.gpu.beside_numpy import same, tied_points

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def whole(rng, size, k, d):
    return torch.as_tensor(rng.integers(-size, size + 1, (k, d)).astype(float))


def scores_and_slack(z, there):
    """Return the scores of whole rows in float32 as the kernel finds them, and its slack."""
    a = ((z - there.shift.numpy()) / 16).astype(np.float32)
    half = a.astype(np.float16).astype(np.float32)
    length, rest = np.linalg.norm(a, axis=1), np.linalg.norm(a - half, axis=1)
    fixed, of_length, of_rest = there.slack.numpy()
    parts = there.centers.to(torch.float32).numpy().reshape(len(there.centers), -1, z.shape[1])
    return sum(
        half @ parts[:, part].T for part in range(parts.shape[1])
    ) - there.offsets.numpy(), fixed + of_length * length + of_rest * rest


def hardest(there, d):
    """Return rows whose rounding errors all point along a center, or against it: the coordinates just off the middle of two halves."""
    centers = there.centers[:8, :d].to(torch.float64).numpy()
    sizes = 2.0 ** np.array([4, 8, 12, 15])[:, None, None]
    middle = sizes * (1 + 2.0**-11)
    return np.rint((np.sign(centers) * middle).reshape(-1, d) + there.shift.numpy()[:d])


@pytest.mark.parametrize("offset", [0, 9000, 2**20])
@pytest.mark.parametrize("size", [3, 5000, 2**20 - 1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("d", [1, 60, 300])
def test_how_far_a_score_is_ahead_is_known_up_to_the_slack(d, parts, size, offset, rng):
    targets = whole(rng, size, 20, d) + offset
    there = halves(targets, 320, 32, parts)
    rows = np.rint(rng.standard_normal((200, d)) * rng.choice([1, 300, 6000, 30000], (200, 1)))
    z = np.zeros((200 + 32, 320))
    z[:200, :d], z[200:, :d] = rows, hardest(there, d)
    found, slack = scores_and_slack(z, there)
    shift = there.shift.numpy()[:d]
    apart = targets.numpy() - shift
    exact = ((z[:, :d] - shift) @ apart.T - np.square(apart).sum(axis=1) / 2) / 2048
    errors = np.ptp(found[:, :20] - exact, axis=1)  # of the difference of two scores
    assert (errors < slack).all()
    if size > 2**11 and d > 1:
        assert (errors / slack).max() > 0.02  # The bound is no wild one.


def test_two_parts_of_a_center_are_exact(rng):
    targets = whole(rng, 2**20, 20, 9)
    there = halves(targets, 64, 32, 2)
    apart = (targets - there.shift[:9]) / 128
    assert torch.equal(there.centers[:20].to(torch.float64).reshape(20, 2, 64).sum(dim=1)[:, :9], apart)
    assert there.slack[1] < 1e-4 * apart.norm(dim=1).max()


def test_pairs_of_many_centers_are_bounded_by_their_lengths(rng, monkeypatch):
    targets = whole(rng, 5000, 20, 9)
    paired = halves(targets, 64, 32).slack
    monkeypatch.setattr("feddp_kmeans.silos.gpu.halves._MOST_PAIRED", 19)
    longest = halves(targets, 64, 32).slack
    assert (paired <= longest).all()
    assert paired[2] < 0.95 * longest[2]
    apart = targets.numpy()[:, None] - targets.numpy()
    assert paired[2] * 128 > np.linalg.norm(apart, axis=2).max()


def test_centers_are_halves_of_what_is_left_without_their_mean(rng):
    targets = whole(rng, 900, 40, 5) + 70_000
    there = halves(targets, 64, 32)
    assert there.centers.shape == (64, 64)
    assert there.shift[:5].abs().max() == RESOLUTION
    assert torch.equal(there.shift[5:], torch.zeros(59, dtype=torch.int32))
    assert (there.offsets[40:] == np.float32(3e38)).all()
    near = halves(targets - 70_000, 64, 32)
    assert torch.equal(near.centers[:40, :5].to(torch.float64) * 128 + near.shift[:5], targets - 70_000)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_exact_labels_are_those_of_the_first_of_equal_centers(d, rng):
    targets = rng.integers(-3, 4, (30, d)).astype(float) * 1000
    points = (rng.standard_normal((500, d + 1)) * 3).astype(np.float32)
    points[100:] = np.rint(points[100:])
    encoded = np.rint(points[:, :d].astype(float) * 1000.0)
    found = exact_labels(torch.as_tensor(points), torch.zeros(d + 1, dtype=torch.float64), 1000.0, torch.as_tensor(targets))
    assert np.array_equal(found.numpy(), (encoded @ (2 * targets.T) - np.square(targets).sum(axis=1)).argmax(axis=1))


def ordinary(d, k, rng):
    """Return points whose nearest center is mostly plain, and centers that no point is near."""
    points = (rng.standard_normal((4001, d)) * 6000 + 4000).astype(np.float32)
    targets = np.rint(points[rng.integers(0, 4001, k)].astype(float))
    targets[: k // 3] += min(2.0**19, 2.0**23 // d**0.5)
    return points, targets


@needs_gpu
@pytest.mark.parametrize("make", [tied_points, ordinary])
@pytest.mark.parametrize(
    ("d", "k"),
    [(1, 1), (3, 10), (64, 100), (100, 1000), (129, 64), (192, 7), (384, 10), (384, 1024), (768, 1000), (1000, 33), (40, 5000), (4096, 3)],
)
def test_labels_are_those_of_numpy(make, d, k, rng):
    points, targets = make(d, k, rng)
    with np.errstate(invalid="ignore"):
        encoded = np.rint(points.astype(float))
    longer = ~(np.square(encoded).sum(axis=1) <= RESOLUTION**2)
    expected = np.where(longer, k, (encoded @ (2 * targets.T) - np.square(targets).sum(axis=1)).argmax(axis=1))
    middle, there = (torch.as_tensor(array, device="cuda") for array in (np.zeros(d), targets))
    for n in (1, 127, 128, 4001):
        found = labels(torch.as_tensor(points[:n], device="cuda"), middle, float(RESOLUTION), float(RESOLUTION**2), there)
        assert np.array_equal(found.cpu().numpy(), expected[:n])


@needs_gpu
@pytest.mark.parametrize("make", [tied_points, ordinary])
@pytest.mark.parametrize(("d", "k"), [(129, 1), (200, 1024), (384, 100), (768, 10), (1000, 1000), (4096, 20)])
def test_wide_points_give_the_integers_of_numpy(make, d, k, rng):
    points, targets = make(d, k, rng)
    where = {"center": np.zeros(d), "radius": float(RESOLUTION), "centers": targets}
    look = where | {"origins": targets, "count_weight": 3e3}
    asked = [("cluster-counts", where), ("cluster-sums", where), ("point-spreads", where | {"reach": 3e4})]
    asked += [("point-residual-norms", look | {"edges": np.array([1e3, 3e3, 3e4])})]
    asked += [("point-residuals", look | {"bound": bound}) for bound in (0.5, 3e4)]
    asked += [("point-residuals", look | {"bound": 3e4, "square_weight": 1e-3})]
    for name, public in asked:
        assert same(name, points, public), name


@needs_gpu
def test_a_ball_elsewhere_gives_the_integers_of_numpy(rng):
    points = (rng.standard_normal((3000, 150)) * 0.3 + 900).astype(np.float32)
    points[:50] += 9
    center = 900 + rng.standard_normal(150) * 0.05
    for targets in (np.rint(rng.standard_normal((60, 150)) * 900) + 2000, np.zeros((3, 150)), np.full((2, 150), 2.0**20)):
        assert same("cluster-sums", points, {"center": center, "radius": 4.5, "centers": targets})
