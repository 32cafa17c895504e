"""Points of three clusters in a box, and how near centers are to them."""

import numpy as np

TRUTH = np.array([[4.0, 0, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 4, 0, 0]])
BOX = (-2.0, 6.0)


def made_up(n=3000, dimension=5, seed=0):
    rng = np.random.default_rng(seed)
    return TRUTH[rng.integers(3, size=n), :dimension] + 0.2 * rng.standard_normal((n, dimension))


def near(centers, truth=TRUTH):
    return np.linalg.norm(truth[:, None] - centers[None], axis=2).min(axis=1).max()
