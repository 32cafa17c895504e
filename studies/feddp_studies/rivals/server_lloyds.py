"""ServerLloyds: a full k-means clustering of the server data."""

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals.starts import lloyds_from

NAME = "server-lloyds"


def start(server_points: FloatArray, ball: Ball, k: int, seed: int) -> FloatArray:
    """Return the centers of the server data's own clusters, the best of many restarts."""
    return weighted_kmeans(ball.clip(server_points), np.ones(len(server_points)), k, seed)


cluster = lloyds_from(NAME, start)
