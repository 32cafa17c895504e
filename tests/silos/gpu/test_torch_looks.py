"""Looks in torch: points that do not count, and where kernels cannot be used."""

# ruff: noqa: E402 - without torch nothing below can be imported

import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu.torch_looks import LOOKS, Look, quick_labels, swept


def test_points_with_the_label_k_do_not_count():
    labels = torch.tensor([0, 1, 2, 1])
    look = Look(labels, torch.tensor([1.0, 4.0, 9.0, 16.0], dtype=torch.float64), 2, lambda weights: weights[:2, None].to(torch.int64))
    assert look.added(None).tolist() == [1, 2]
    assert look.added(torch.tensor([5.0, 6.0, 7.0, 8.0], dtype=torch.float64)).tolist() == [5, 14]
    edges = torch.tensor([1.5, 3.5], dtype=torch.float64)
    assert LOOKS["point-residual-norms"](look, edges=edges, count_weight=0.0).tolist() == [1, 1, 1]


def test_on_a_cpu_there_are_no_kernels():
    points = torch.zeros((4, 2), dtype=torch.float32)
    assert swept("cluster-counts", points, None, {"center": points[0], "radius": 1.0, "centers": points}) is None
    assert quick_labels(points, center=points[0], radius=1.0, centers=points) is None
