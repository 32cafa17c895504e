"""Where noise is high: the cells of the subspace are gathered step by step, with a look at each number of them.

Gathered into k at once, noisy cells often leave a cluster without a center. But without clear clusters that is the better optimum, so one
release shows which of the two costs less.
"""

from collections.abc import Callable
from dataclasses import dataclass

from feddp_kmeans.algorithm.bounds import SimulatedBounds
from feddp_kmeans.algorithm.contest import CONTEST, costs
from feddp_kmeans.algorithm.grown_cells import Cells, gathered
from feddp_kmeans.algorithm.pool import Pool
from feddp_kmeans.algorithm.tracking import Tracker
from feddp_kmeans.algorithm.tuning import Rounds

_LOOK = Rounds(1, 8.0, 0.03)  # with at most 0.012 of the pool mixture-k20 at 0.1 has 1.93 x floor, not 1.61 (12 runs)
_PLAIN = Rounds(3, 8.0, 0.012)


@dataclass(frozen=True)
class GatheringTuning:
    """The numbers of this gathering."""

    numbers: tuple[float, ...] = (2.0, 1.5, 1.25, 1.0, 1.0)
    """Numbers of cells, in multiples of k. All into k at once: mixture-k20 at 0.1 has 2.3 x floor, not 1.8 (8 runs), and mixture-overlap at
    0.1 an excess of 2.1 %, not 1.3 % (10 runs)."""
    look: Rounds = _LOOK
    plain: Rounds = _PLAIN
    """Looks at cells gathered at once, where looks in full space are not sharp either: step by step clients-unbalanced and clients-1000
    at 0.25 have 4.4 and 5.2 % excess, not 3.9 and 4.7 % (10 runs)."""
    lengths: tuple[float, float] = (0.4, 0.0)  # weights of counts and squared residuals, relative to a typical residual
    steps: int = 2  # looks at cells that were gathered at once, if these cost less, as in tables of categories


GATHERING = GatheringTuning()

MOST_LOOKS = len(GATHERING.numbers) + 1 + GATHERING.steps
"""How many looks are made here, at most."""

Step = Callable[[Cells], Cells]


def gathered_by_looks(
    tracker: Tracker, bounds: SimulatedBounds, both: tuple[Cells, Cells], seed: int, look: Step, lifted: Step, pool: Pool
) -> tuple[Cells, int]:
    """Return k cells in the subspace, and how many looks they took: gathered step by step, or at once if that costs less.

    ``both`` are all cells, and those that are gathered at once. ``look`` returns cells after a look at them in the subspace, ``lifted``
    returns them in full space.
    """
    (cells, at_once), k, looks = both, tracker.block, len(GATHERING.numbers)
    for many in GATHERING.numbers:
        cells = look(gathered(cells, round(many * k), seed))
    (own, other), noise = costs(tracker, bounds, [lifted(cells), lifted(at_once)], pool.times(CONTEST.share))
    if other < own - noise:
        return looked_at(at_once, look, GATHERING.steps), looks + GATHERING.steps
    return cells, looks


def looked_at(cells: Cells, look: Step, looks: int) -> Cells:
    """Return the cells after this many looks."""
    for _ in range(looks):
        cells = look(cells)
    return cells
