"""Google's DP clustering (locality-sensitive hash tree, central), if it is installed: for comparison only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_studies.rivals.outside import central_points, outside_result, rival_plan

NAME = "google-lsh"


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,  # noqa: ARG001
) -> Clustering:
    """Return Google's centers of the pooled points, centred on the server data's mean; fewer than k if it finds fewer."""
    clustering_algorithm, clustering_params = library()
    points, ball = central_points(federation, settings, server_points)
    if seed is not None:
        np.random.seed(seed % 2**32)  # noqa: NPY002 - the library draws from numpy's global state
    data = clustering_params.Data(points - ball.center, ball.radius)
    budget = clustering_params.DifferentialPrivacyParam(settings.epsilon, settings.delta)
    centers = ball.center + clustering_algorithm.private_lsh_clustering(settings.fixed_k, data, budget).centers
    caveat = (
        f"Outside this ledger: Google's library states epsilon = {settings.epsilon:g}, delta = {settings.delta:g} for a point, "
        "with floating-point noise; one place holds all points."
    )
    plan = rival_plan(NAME, settings, federation)
    counts = np.full(len(centers), np.nan)
    return outside_result(NAME, caveat, federation, plan, centers, counts, trust="one place holds all points", epsilon=settings.epsilon)


def library() -> tuple[Any, Any]:
    """Return the library's two modules, or say how to get it."""
    try:
        from clustering import clustering_algorithm, clustering_params
    except ImportError as error:
        raise InputError(
            "google-lsh must be installed by hand (folder learning/ of google/differential-privacy; it is on no package index), "
            f"got {error}."
        ) from None
    return clustering_algorithm, clustering_params
