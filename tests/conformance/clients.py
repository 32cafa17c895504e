"""The clients that every federation holds: an empty one, one of one point, and a row that is missing."""

import numpy as np

RNG = np.random.default_rng(7)
CLIENTS = [RNG.standard_normal((n, 4)) + 3 * RNG.integers(0, 2, (n, 1)) for n in (50, 0, 1, 7, 300)]
CLIENTS[4][3] = np.nan
SERVER = RNG.standard_normal((40, 4)) + 3 * RNG.integers(0, 2, (40, 1))
