"""The pool of small equal releases: how many of them make a look as sharp as it has to be."""

from dataclasses import dataclass

import numpy as np

from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.server import SMALLEST
from feddp_kmeans.algorithm.tracking import POOL
from feddp_kmeans.algorithm.tuning import REFINED, Rounds


@dataclass(frozen=True)
class Pool:
    """The pool of one run."""

    looks: Looks
    size: int
    """How many releases there are."""

    def noise(self, dimension: int, n_points: float, lengths: tuple[float, float] = (0.0, 0.0)) -> float:
        """Return the noise of the mean of all points, in typical residuals, if the whole pool were one look.

        ``lengths`` are those of counts and squared residuals relative to a typical residual.
        """
        vector = np.sqrt(dimension * (1 + lengths[0] ** 2 + lengths[1] ** 2))
        scale = self.looks.plan[POOL].scale / np.sqrt(self.size)
        return max(float(vector * np.sqrt(self.looks.per_unit(n_points)) * scale / max(n_points, 1.0)), SMALLEST)

    def is_sharp(self, dimension: int, n_points: float, k: int) -> bool:
        """Return whether looks in full space are so sharp that they find k centers without a good subspace."""
        return self.noise(dimension, n_points) * k < REFINED.sharp

    def times(self, share: float) -> int:
        """Return how many releases make this share of the pool."""
        return max(1, round(share * self.size))

    def times_of(self, rounds: Rounds, n_cells: int, noise: float) -> int:
        """Return how many releases make each of these looks at this many cells."""
        return self.times(float(np.clip((rounds.level * n_cells * noise) ** 2, rounds.least, rounds.most)))
