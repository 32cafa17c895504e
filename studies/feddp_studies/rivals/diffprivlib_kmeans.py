"""diffprivlib's KMeans (Laplace noise, central), if it is installed: for comparison only.

Version 0.6.6 swaps the two parts of its budget, so that it spends ``(1 + d c) / (d + c)`` times what it is asked for, with
``c = (4 d rho^2)^(1/3)`` and rho = 0.225: 2.66 times in 100 dimensions. It is asked for less, so that the *real* epsilon is the one given.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_studies.rivals.outside import central_points, outside_result, rival_plan

NAME = "diffprivlib"

_RHO = 0.225


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,  # noqa: ARG001
) -> Clustering:
    """Return diffprivlib's centers of the pooled points, in the public box that the server data spans."""
    models = library()
    points, _ = central_points(federation, settings, server_points)
    box = (server_points.min(axis=0), server_points.max(axis=0))
    model = models.KMeans(
        settings.fixed_k,
        epsilon=settings.epsilon / overspending(points.shape[1]),
        bounds=box,
        random_state=StreamFactory(seed).integer_seed(NAME) % 2**31,
    ).fit(np.clip(points, *box))
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    caveat = (
        f"Outside this ledger: diffprivlib, asked for so little that its real epsilon is {settings.epsilon:g} for a point (it skips empty "
        "clusters without noise); one place holds all points."
    )
    plan = rival_plan(NAME, settings, federation)
    counts = np.full(len(centers), np.nan)
    return outside_result(NAME, caveat, federation, plan, centers, counts, trust="one place holds all points", epsilon=settings.epsilon)


def overspending(dimension: int) -> float:
    """Return how many times the epsilon it is asked for diffprivlib 0.6.6 spends (below 1 for fewer than 5 dimensions)."""
    c = (4 * dimension * _RHO**2) ** (1 / 3)
    return float((1 + dimension * c) / (dimension + c))


def library() -> Any:
    """Return the library's models, or say how to get it."""
    try:
        from diffprivlib import models
    except ImportError as error:
        raise InputError(f"diffprivlib must be installed, with a scikit-learn that it works with (1.8 or older), got {error}.") from None
    return models
