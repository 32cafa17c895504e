"""Arithmetic in torch: the whole numbers of numpy."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.torch_arithmetic import assign, project, root, weighted_sums
from feddp_kmeans.statistics import arithmetic


def test_coordinates_labels_and_sums_are_those_of_numpy(rng):
    encoded, centers = np.rint(rng.standard_normal((500, 6)) * 9000), np.rint(rng.standard_normal((4, 3)) * 9000)
    centers[2] = centers[1]  # of equal ones the first
    projection = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    coordinates = project(torch.as_tensor(encoded), torch.as_tensor(projection))
    assert np.array_equal(coordinates.numpy(), arithmetic.project(encoded, projection))
    assert project(coordinates, None) is coordinates
    labels = assign(coordinates, torch.as_tensor(centers))
    assert np.array_equal(labels.numpy(), arithmetic.assign(coordinates.numpy(), centers))
    assert 2 not in labels
    weights = rng.integers(0, 9, 500).astype(float)
    expected = [(weights[labels == r, None] * encoded[labels == r]).sum(axis=0) for r in range(4)]
    assert np.array_equal(weighted_sums(torch.as_tensor(encoded), torch.as_tensor(weights), labels, 4).numpy(), expected)


def test_square_roots_are_rounded_like_those_of_numpy(rng):
    """A library that torch calls rounds one in a hundred of them otherwise."""
    numbers = rng.uniform(0, 1e12, 100_000)
    assert np.array_equal(root(torch.as_tensor(numbers)).numpy(), np.sqrt(numbers))
