"""ServerLloyds: a full k-means clustering of the server data."""

from sklearn.cluster import KMeans

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import RESTARTS
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals.starts import lloyds_from

NAME = "server-lloyds"


def start(server_points: FloatArray, ball: Ball, k: int, seed: int) -> FloatArray:
    """Return the centers of the server data's own clusters, the best of many runs of plain k-means.

    Our own server step also merges points pairwise, which finds more clusters among few points: the paper's rival has no such help.
    """
    found: FloatArray = KMeans(k, n_init=RESTARTS, random_state=seed).fit(ball.clip(server_points)).cluster_centers_
    return found


cluster = lloyds_from(NAME, start)
