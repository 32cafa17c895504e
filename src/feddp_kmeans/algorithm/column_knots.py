"""Deciles of columns from noisy histograms, as the knots of quantile scales.

The first look has classes of powers of two, or a stated range in more classes. Each further look has classes that hold about equally many
values, as the look before shows. Knots are edges of the last look: their ranks are known up to its noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import isotonic_regression

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.algorithm.column_looks import ANY_EDGES, COLUMNS_RELEASE, trimmed
from feddp_kmeans.algorithm.column_units import COLUMNS
from feddp_kmeans.algorithm.looks import Looks, gaussian_releases
from feddp_kmeans.algorithm.typical_lengths import standing_out
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.threads import one_thread
from feddp_kmeans.statistics.norms import SHARE_STEPS

N_DECILES = 10
_LOOKS = (2, 1, 1, 4)
"""Releases that each look is the mean of: the last one decides, and has half of the budget."""
_CLASSES = 40
"""Classes of every look but the first: four per decile."""
_EVEN = 32
"""Even classes of a stated range in the first look, besides powers of two."""
_STDDEVS = 2.0
"""Stated rank errors are this many standard deviations of the noise: 95 %."""
_MOST_ERROR = 1 / N_DECILES
"""Knots that may be a whole decile off are not believed."""
_FAR_MORE, _DENSER, _SURE = 2.0, 10.0, 3.0
"""A class is taken for one value from this many times its share of all values, and this many times the density of its neighbours: of
what is in them for sure, beyond this many standard deviations of the noise."""
_TINY = 2.0**-20
"""Powers of two below this part of a stated range are left out of the first look."""
_LEAST = 1e-9
"""Least number of values in a class: ranks must ascend to be read backwards."""
_ROUNDED = 0.05
"""Part of a class by which an edge may be moved to be a round number."""

Range = tuple[float, float]
HIDDEN = "noise hides where its values lie; a larger epsilon would help, or a public range if it has none"
CONSTANT = "its values do not differ as far as noise lets us see"
REASON = "columns: knots of quantile scales come from noisy histograms, each with classes where the one before found values"


@dataclass(frozen=True)
class FoundKnots:
    """The knots of one column, and how far their ranks may be off; none, and why."""

    knots: tuple[float, ...]
    rank_error: float
    """Part of all values, with a chance of 95 % for each knot. For clients, every client counts the same."""
    why_none: str | None = None


def knots_plan(unit: PrivacyUnit, epsilon: float, delta: float, n_clients: int, ranges: Mapping[str, Range | None]) -> Plan:
    """Return the plan of the looks at these columns; a range is None where none is known."""
    n_columns = len(ranges)
    classes = max(2 * _CLASSES + 4, *(len(_first_edges(ends)) + 1 for ends in ranges.values()))
    row = (COLUMNS_RELEASE, math.sqrt(n_columns) * SHARE_STEPS, n_columns * classes, sum(_LOOKS))
    requests = gaussian_releases({COLUMNS_RELEASE: 1.0}, [row], **{COLUMNS_RELEASE: len(_LOOKS)})
    facts = {"n_clients": n_clients, "columns": {name: None if ends is None else list(ends) for name, ends in ranges.items()}}
    return calibrated_plan(unit, epsilon, delta, requests, facts=facts, reasons=(REASON,))


@one_thread()
def find_knots(run: Run, chosen: BoolArray, ranges: Mapping[str, Range | None]) -> dict[str, FoundKnots]:
    """Return the knots of the chosen coordinates, whose names and ranges are given in the same order."""
    looks = Looks(run, run.plan.unit)
    columns = [_Classes(ends, _first_edges(ends)) for ends in ranges.values()]
    for turn, times in enumerate(_LOOKS):
        columns = [column.closer() for column in columns] if turn else columns
        width = max(len(column.edges) for column in columns)
        edges = np.stack([np.append(column.edges, np.full(width - len(column.edges), column.edges[-1])) for column in columns])
        histograms, noise = looks.columns(chosen, edges, times)
        columns = [column.seen(histogram, noise) for column, histogram in zip(columns, histograms, strict=True)]
    return {name: column.found() for name, column in zip(ranges, columns, strict=True)}


def _first_edges(ends: Range | None) -> FloatArray:
    """Return powers of two on both sides of zero; of a stated range, those that are not tiny, and even classes besides."""
    if ends is None:
        return ANY_EDGES
    low, high = ends
    powers = ANY_EDGES[np.abs(ANY_EDGES) > _TINY * (high - low)]
    return np.unique(np.clip(np.concatenate([powers, np.linspace(low, high, _EVEN + 1)]), low, high))


@dataclass(frozen=True)
class _Classes:
    """One column over some edges, and the noisy number of values in each class: below the first edge, between two, above the last."""

    ends: Range | None
    """The stated range, whose ends are edges; None if there is none."""
    edges: FloatArray
    counts: FloatArray = field(default_factory=lambda: np.zeros(1))
    noise: float = 0.0

    def seen(self, histogram: FloatArray, noise: float) -> "_Classes":
        """Return the column after a look."""
        # Other columns may have more classes; nothing can be in these.
        return replace(self, counts=np.append(histogram[: len(self.edges)], histogram[-1]), noise=noise)

    def closer(self) -> "_Classes":
        """Return the column over the edges of the next look: between them are about equally many of the values that stand out."""
        span = self._span()
        inside = np.zeros(1) if span is None else self.counts[span.start + 1 : span.stop]
        if span is None or inside.sum() <= 0:
            return self
        edges, ranks = self.edges[span], isotonic_regression(np.cumsum(np.append(0.0, inside))).x
        even = np.interp(np.linspace(ranks[0], ranks[-1], _CLASSES + 1), ranks + _LEAST * np.arange(len(ranks)), edges)
        room = _ROUNDED * np.diff(even)
        low, high = np.append(even[0] - room[0], even[1:] - room), np.append(even[:-1] + room, even[-1] + room[-1])
        high[0], low[-1] = even[0], np.nextafter(even[-1], -np.inf)  # both ends go outwards only: nothing that stands out is beyond them
        shared = self._shared(float(self.counts.sum()))  # they keep their edges, or one of them would be on the far side of a gap
        edges = np.concatenate([[simplest(*around) for around in zip(low, high, strict=True)], self.edges[shared - 1], self.edges[shared]])
        if self.ends is not None:
            edges = np.clip(np.append(edges, self.ends), *self.ends)
        edges = np.unique(edges)
        return replace(self, edges=edges) if len(edges) > 1 else self

    def found(self) -> FoundKnots:
        """Return the knots that this look shows: for each decile the edge of the nearest rank, and the ends of the range.

        A value that many have is a knot too, which stands for all ranks of its class, and goes before edges that are nearer by noise only.
        The ends of a stated range stand for all values beyond them.
        """
        total, span = float(self.counts.sum()), self._span()
        if span is None or total <= 0:
            return FoundKnots((), math.inf, HIDDEN)
        below, n_classes = np.arange(1, len(self.counts)), len(self.counts)
        ranks = isotonic_regression(np.cumsum(self.counts)[:-1] / total).x
        noise = _STDDEVS * self.noise * np.sqrt(below * (n_classes - below) / n_classes) / total
        shared = self._shared(total)
        places = [*self.edges, *(simplest(self.edges[one - 1], self.edges[one]) for one in shared)]
        low, high = np.append(ranks, ranks[shared - 1]), np.append(ranks, ranks[shared])
        errors = np.append(noise, np.maximum(noise[shared - 1], noise[shared]))
        before = np.append(np.zeros(len(ranks)), errors[len(ranks) :])
        if self.ends is not None:
            low[0], high[len(ranks) - 1] = 0.0, 1.0

        def nearest(rank: float) -> tuple[int, float]:
            off = np.maximum(np.maximum(low - rank, rank - high), 0.0)
            place = int((off - before).argmin())
            return place, float(off[place] + errors[place])

        chosen = [nearest(decile / N_DECILES) for decile in range(1, N_DECILES)]
        worst = max(error for _, error in chosen)
        if worst > _MOST_ERROR:
            return FoundKnots((), worst, HIDDEN)
        knots = {float(places[place]) for place, _ in chosen}
        knots |= {float(places[nearest(ranks[end])[0]]) for end in (span.start, span.stop - 1)} if self.ends is None else {*self.ends}
        return FoundKnots(tuple(sorted(knots)), worst) if len(knots) > 1 else FoundKnots((), worst, CONSTANT)

    def _shared(self, total: float) -> IntArray:
        """Return which classes hold a value that many have, by the edge above: far more than their share, far denser than beside them."""
        sure = np.maximum(self.counts - _SURE * self.noise, 0.0)
        dense = sure / np.diff(self.edges, prepend=-np.inf, append=np.inf)
        many = sure[1:-1] > _FAR_MORE * total / _CLASSES
        return 1 + np.flatnonzero(many & (dense[1:-1] > _DENSER * np.maximum(dense[:-2], dense[2:])))

    def _span(self) -> slice | None:
        """Return which edges enclose the values that stand out from noise; None if nothing does."""
        runs = _runs(self.counts, self.noise)
        if not runs:
            return None
        span = trimmed(self.counts, self.noise, slice(runs[0].start, runs[-1].stop))
        assert span is not None
        start = min(max(span.start - 1, 0), len(self.edges) - 2)
        return slice(start, max(min(span.stop, len(self.edges)), start + 2))


def _runs(counts: FloatArray, noise: float) -> list[slice]:
    """Return all runs of classes that stand out from noise: the clearest, and those on both sides of it."""
    span = standing_out(counts, noise, level=COLUMNS.level) if len(counts) else None
    if span is None:
        return []
    right = [slice(span.stop + other.start, span.stop + other.stop) for other in _runs(counts[span.stop :], noise)]
    return [*_runs(counts[: span.start], noise), span, *right]


def simplest(low: float, high: float) -> float:
    """Return a number above ``low`` and up to ``high`` that has few digits.

    >>> simplest(-0.3, 7.0), simplest(49_998.7, 50_001.3), simplest(-0.0123, -0.0119)
    (0.0, 50000.0, -0.012)
    """
    if low < 0 <= high:
        return 0.0
    rounded = (float(f"{low / 2 + high / 2:.{digits}e}") for digits in range(17))
    return next((number for number in rounded if low < number <= high), float(high))
