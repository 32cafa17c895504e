"""Three clients with points at three corners, and server points near them."""

import numpy as np

from feddp_kmeans import FedDPKMeans

RNG = np.random.default_rng(11)
TRUTH = np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4]])
CLIENTS = [TRUTH[RNG.integers(3, size=n)] + 0.1 * RNG.standard_normal((n, 3)) for n in (300, 500, 200)]
SERVER = np.vstack([np.repeat(TRUTH, 8, axis=0) + 0.3 * RNG.standard_normal((24, 3)), RNG.uniform(0, 4, (8, 3))])


def model(**more):
    return FedDPKMeans(3, epsilon=2.0, random_state=0, **more)


def near(centers):
    return np.linalg.norm(TRUTH[:, None] - centers[None], axis=2).min(axis=1).max()
