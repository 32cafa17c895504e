"""SpherePacking (Su et al. 2016): centers that know nothing but the data's radius, as far apart as random tries can put them."""

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_studies.rivals.starts import lloyds_from

NAME = "sphere-packing"

ATTEMPTS = 1000
"""Tries for each center, as in the paper."""

_HALVINGS = 20


def start(server_points: FloatArray, ball: Ball, k: int, seed: int) -> FloatArray:
    """Return centers of the largest feasible a, found by bisection: ``a`` from the cube's corners, ``2 a`` from one another."""
    del server_points  # They gave the radius.
    infeasible, feasible = ball.radius * np.sqrt(ball.dimension), 0.0
    best = None
    for _ in range(_HALVINGS):
        a = (infeasible + feasible) / 2
        found = _pack(a, ball, k, np.random.default_rng(seed))
        if found is None:
            infeasible = a
        else:
            feasible, best = a, found
    packed = best if best is not None else _pack(0.0, ball, k, np.random.default_rng(seed))
    assert packed is not None, "a distance of zero is always feasible"
    return ball.center + packed


def _pack(a: float, ball: Ball, k: int, rng: np.random.Generator) -> FloatArray | None:
    centers = np.empty((0, ball.dimension))
    for _ in range(k):
        tries = rng.uniform(-ball.radius, ball.radius, (ATTEMPTS, ball.dimension))
        allowed = np.linalg.norm(ball.radius - np.abs(tries), axis=1) >= a
        for center in centers:
            allowed &= np.linalg.norm(tries - center, axis=1) >= 2 * a
        if not allowed.any():
            return None
        centers = np.vstack([centers, tries[np.argmax(allowed)]])
    return centers


cluster = lloyds_from(NAME, start)
