"""ServerKMeans++: k server points picked by k-means++."""

from sklearn.cluster import kmeans_plusplus

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals.starts import lloyds_from

NAME = "server-kmeans++"


def start(server_points: FloatArray, ball: Ball, k: int, seed: int) -> FloatArray:
    """Return k server points, spread out by k-means++."""
    centers, _ = kmeans_plusplus(ball.clip(server_points), k, random_state=seed)
    picked: FloatArray = centers
    return picked


cluster = lloyds_from(NAME, start)
