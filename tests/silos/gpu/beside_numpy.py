"""Points that are hard to label and to encode, and whether a GPU gives the integers of numpy for them."""

import numpy as np
import torch

from feddp_kmeans.silos.gpu.torch_silo import total_of
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.query import Query


def tied_points(d, k, rng):
    """Return points that are their own integers, and centers: ties, equal centers, the edge of the ball and any size."""
    targets = rng.integers(-3000 // d, 3000 // d + 1, (k, d)).astype(float)
    targets[k // 2 :] = targets[: k - k // 2]
    pairs = rng.integers(0, k, (2, 4001))
    points = (targets[pairs[0]] + targets[pairs[1]]) / 2
    points[:500] *= RESOLUTION / np.maximum(np.linalg.norm(points[:500], axis=1, keepdims=True), 1)
    points[500:900, 0] = rng.choice([1e-45, 2.0**17, 2.0**32, 2.0**33 + 2**12, 2.0**63, -3e38], 400)
    return points.astype(np.float32), targets


def same(name, points, public):
    """Return whether the sum of a statistic on the GPU is numpy's."""
    query = Query(REGISTRY[name], public, points.shape[1])
    found = total_of(query, torch.as_tensor(points, device="cuda")).cpu().numpy()
    return np.array_equal(found, ArraySilo([points.astype(np.float64)]).exact_sum(query))
