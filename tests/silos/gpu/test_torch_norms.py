"""Lengths in torch: numpy's bits."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.silos.gpu import torch_norms
from feddp_kmeans.statistics import arithmetic
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import row_norms

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_any_length_have_the_norms_of_numpy(device, rng, monkeypatch):
    monkeypatch.setattr(torch_norms, "_AT_ONCE", 4000)
    for width in [*range(300), 1000, 1029, 4096, 9999, 22601]:
        rows = rng.standard_normal((9, width)) * rng.choice([1e-5, 1.0, 1e8], (9, 1))
        found = torch_norms.row_norms(torch.as_tensor(rows, device=device)).cpu().numpy()
        assert np.array_equal(found, row_norms(rows)), width
        assert np.array_equal(found**2, row_norms(rows) ** 2)
    assert torch_norms.row_norms(torch.zeros((0, 3), dtype=torch.float64, device=device)).tolist() == []


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("together", [20, 1 << 12])
def test_outer_products_have_the_norms_of_numpy(together, device, rng, monkeypatch):
    monkeypatch.setattr(torch_norms, "_AT_ONCE", 2000)
    monkeypatch.setattr(torch_norms, "EXACT_ROWS", 16)
    monkeypatch.setattr(arithmetic, "EXACT_ROWS", 16)
    for module in (torch_norms, arithmetic):
        monkeypatch.setattr(module, "LARGEST_TOGETHER", together)
    sizes = np.array([3, 0, 1, 21, 7, 3, 50, 1, 7, 7, 300])
    encoded = np.rint(rng.standard_normal((sizes.sum(), 7)) * 9000)
    expected = arithmetic.outer_product_norms(encoded, ClientBatch(encoded, np.concatenate([[0], np.cumsum(sizes)])))
    found = torch_norms.outer_product_norms(torch.as_tensor(encoded, device=device), sizes)
    assert np.array_equal(found.cpu().numpy(), expected)
