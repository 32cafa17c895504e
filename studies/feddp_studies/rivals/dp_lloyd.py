"""DP-Lloyd (Su et al. 2016): noisy Lloyd steps from random centers, the textbook way and the one most libraries take."""

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals.starts import lloyds_from

NAME = "dp-lloyd"

STEPS = 7
"""Lloyd steps by default: a random start needs several, and each costs its part of the budget."""


def start(server_points: FloatArray, ball: Ball, k: int, seed: int) -> FloatArray:
    """Return k points drawn uniformly from the public box that the server data spans."""
    low, high = server_points.min(axis=0), server_points.max(axis=0)
    return ball.clip(np.random.default_rng(seed).uniform(low, high, (k, ball.dimension)))


cluster = lloyds_from(NAME, start, STEPS)
