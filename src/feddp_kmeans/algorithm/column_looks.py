"""How far each column spreads, where nothing public says so: noisy histograms of the columns, and the units that are read off them.

The first look has classes of powers of two, from 2**-40 to 2**40 on both sides of zero: it needs no range. Each further look has even
classes where the one before found values: where they fell into few classes it is finer, otherwise it is averaged with it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.column_units import COLUMNS, HIDDEN_UNIT, beside_ranges, units_of
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.tuning import BOUNDS
from feddp_kmeans.algorithm.typical_lengths import explained, standing_out
from feddp_kmeans.statistics.norms import SHARE_STEPS

_POWERS: FloatArray = np.exp2(np.arange(-40.0, 41.0))
ANY_EDGES: FloatArray = np.concatenate([-_POWERS[::-1], _POWERS])
"""Edges of the first look."""
_AT_ZERO = 64 * float(_POWERS[0])
"""Width of a column whose values are zero, as far as they are seen."""
_SIZES: FloatArray = np.concatenate([[0.0], _POWERS, [2 * _POWERS[-1]]])
"""The same without a sign: class i holds sizes from ``_SIZES[i]`` to ``_SIZES[i + 1]``."""

REASON = "columns: where their values lie and how far they spread comes from noisy histograms, from 2**-40 to 2**40 on both sides of zero"
"""Why the plan has looks at columns."""

UNSEEN = "noise hides how far the columns spread, so they were taken as they are: if their scales differ, give a range for each"
"""The remark if no units were found."""

ROUGH = "columns were divided by their spreads, which noise leaves rough: a range for each column would be better, and cost nothing"
"""The remark if units were found, but may be far off."""

COLUMNS_RELEASE = "columns"
"""Name of the release."""


def with_columns(parts: Mapping[str, float]) -> dict[str, float]:
    """Return these parts of the budget mu**2, less the same share of each for the looks at columns."""
    return {name: (1 - COLUMNS.share) * part / sum(parts.values()) for name, part in parts.items()} | {COLUMNS_RELEASE: COLUMNS.share}


def column_row(columns: int) -> tuple[str, float, int, int]:
    """Return name, integer steps, values and times of the release: its unit is what one unit can add, sqrt(columns) points."""
    return COLUMNS_RELEASE, float(np.sqrt(columns)) * SHARE_STEPS, columns * (len(ANY_EDGES) + 1), COLUMNS.looks


def find_units(looks: Looks, chosen: BoolArray) -> None:
    """Have rows read in units that noisy histograms of the chosen columns show; a missing cell then counts as the middle of its column.

    Columns whose ranges are alike keep one common unit. If values do not stand out clearly, rows are read as they are; but if only some
    columns are chosen, beside others of a public range of about 1, these do not count then.
    """
    columns = [_Column(ANY_EDGES) for _ in range(np.count_nonzero(chosen))]
    spreads: list[list[Spread]] = [[] for _ in columns]
    seen: list[tuple[float, int]] = []
    for turn in range(COLUMNS.looks):
        if turn:
            columns = [column.closer() for column in columns]
        width = max(len(column.edges) for column in columns)
        edges = np.stack([np.append(column.edges, np.full(width - len(column.edges), column.edges[-1])) for column in columns])
        histograms, noise = looks.columns(chosen, edges)
        own = [column.own(histogram) for column, histogram in zip(columns, histograms, strict=True)]
        seen += [(float(counts.sum()), len(counts)) for counts in own]
        columns = [column.seen(counts, noise) for column, counts in zip(columns, own, strict=True)]
        spreads = [[*shown, *filter(None, [column.spread()])] for shown, column in zip(spreads, columns, strict=True)]
    totals, classes = np.array(seen).T
    n = float(np.average(totals, weights=1 / classes))  # a total has the noise of all its classes
    is_clear, is_scaled = n >= COLUMNS.clear * noise, False
    if n >= COLUMNS.signal * noise and any(spreads):
        units, fill = _found(spreads, chosen, n, is_clear=is_clear)
        looks.read_as(units, fill)
        is_scaled = bool((units != 1).any())
    elif not chosen.all():
        looks.read_as(np.where(chosen, HIDDEN_UNIT, 1.0), np.zeros(len(chosen)))
    if not is_clear and chosen.all() and len(chosen) > 1:
        looks.doubt(ROUGH if is_scaled else UNSEEN)


@dataclass(frozen=True)
class _Told:
    """What all looks together tell of one column."""

    middle: float
    stddev: float
    least: float
    """How wide its values lie at least; zero if it looks constant."""
    most: float
    """How wide at most; infinity if it was never seen whole."""


@dataclass(frozen=True)
class Spread:
    """Where the values of a column lie, as far as they stand out from noise."""

    middle: float
    stddev: float
    width: float
    """How wide the range is."""
    held: float
    """How many values are in it."""
    classes: float = np.inf
    """Over how many classes they are spread; infinity if only the first look shows it: then it may seem much too wide."""

    @property
    def detail(self) -> float:
        """Return how wide the classes are, or would be in the next look."""
        return self.width / (self.classes if self.classes < np.inf else COLUMNS.least)

    def among(self, whole: "Spread") -> "Spread":
        """Return this as the spread of all values, where these are a part of them and the whole is known roughly."""
        part = self.held / whole.held
        between = part * (1 - part) * (self.middle - whole.middle) ** 2
        return replace(self, stddev=math.sqrt(part * self.stddev**2 + (1 - part) * whole.stddev**2 + between))

    def constant(self) -> _Told:
        """Return what is told of a column that looks constant: it has the value in the middle, or zero if that is as likely."""
        return _Told(0.0 if abs(self.middle) <= self.width / 2 else self.middle, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Column:
    """What is known of one column: a noisy histogram and its noise."""

    edges: FloatArray
    counts: FloatArray | None = None
    noise: float = 0.0
    looks: int = 0
    held: float = 0.0
    """What stood out in the look before, and lies between the edges; zero before anything stood out."""
    first: FloatArray | None = None
    """The histogram of the first look; None before anything stood out."""

    def own(self, histogram: FloatArray) -> FloatArray:
        """Return the counts of its own classes: other columns may have more; nothing can be in these."""
        return np.append(histogram[: len(self.edges)], histogram[-1])

    def seen(self, own: FloatArray, noise: float) -> "_Column":
        """Return what is known after this look, which is averaged with those over the same edges."""
        n = self.looks
        counts = own if self.counts is None else (n * self.counts + own) / (n + 1)
        return _Column(self.edges, counts, noise / np.sqrt(n + 1), n + 1, self.held, self.first)

    def closer(self) -> "_Column":
        """Return the column with the edges of the next look: wider if values lie outside, finer if they lie in few classes."""
        if self.counts is None:
            return self
        if not self.held:
            return self._first_range()
        if (self.counts[[0, -1]] > COLUMNS.single * self.noise).any():
            return self._wider()
        span = self._run()
        if span is None or span.stop - span.start >= max(COLUMNS.least // 2, len(self.edges) // COLUMNS.enough):
            return self
        return self._over(self._borders[span.start], self._borders[span.stop], float(self.counts[span].sum()))

    def spread(self) -> Spread | None:
        """Return where the values lie; None if nothing stands out."""
        if not self.held:
            found = self._first_range()
            return found.spread() if found.held else None
        span = self._run()
        closed = slice(0, 0) if span is None else slice(max(span.start, 1), min(span.stop, len(self.edges)))  # both ends are open
        held = 0.0 if self.counts is None else float(self.counts[closed].sum())
        if self.counts is None or held <= 0:
            low, high = float(self.edges[0]), float(self.edges[-1])
            return Spread((low + high) / 2, (high - low) / math.sqrt(12), high - low, self.held)
        counts, borders = np.zeros_like(self.counts), self._borders
        counts[closed] = np.maximum(self.counts[closed], 0.0)
        middles, shares = (borders[1:] + borders[:-1]) / 2, counts / counts.sum()
        middle = float(middles[int(np.searchsorted(np.cumsum(shares), 0.5))])
        variance = float(shares @ (np.square(middles - shares @ middles) + np.square(np.diff(borders)) / 12))
        width = float(borders[closed.stop] - borders[closed.start])
        return Spread(middle, float(np.sqrt(variance)), width, held, closed.stop - closed.start)

    def _first_range(self) -> "_Column":
        """Return the column over the range that the first look shows: on both sides of zero, if values on both sides stand out.

        Values near zero lie on both sides of many tiny classes, so a span of classes is sought among those of both sides together.
        """
        assert self.counts is not None
        side = len(_POWERS)
        negative, positive = self.counts[:side][::-1], self.counts[side + 1 :]
        zero = self.counts[side]
        both = np.concatenate([[zero], negative + positive])
        span = trimmed(both, math.sqrt(2) * self.noise, standing_out(both, math.sqrt(2) * self.noise, level=COLUMNS.level), COLUMNS.first)
        if span is None:
            return self
        inner = slice(max(span.start - 1, 0), span.stop - 1)
        clear = BOUNDS.stands_out * self.noise * math.sqrt(max(inner.stop - inner.start, 1))
        is_negative, is_positive = (float(half[inner].sum()) > clear for half in (negative, positive))
        small, large = _SIZES[span.start], _SIZES[span.stop]
        low = -large if is_negative else small
        high = large if is_positive else -small
        if not (is_negative or is_positive):
            low, high = -large, large
        return self._over(low, high, float(both[span].sum()))

    def _wider(self) -> "_Column":
        """Return the column over a wider range, on each side where values lie outside."""
        assert self.counts is not None
        assert self.first is not None
        clear = COLUMNS.beyond * self.noise * math.sqrt(self.looks)
        low = -_reached(-self.edges[::-1], -ANY_EDGES[::-1], self.first[::-1], clear)
        high = _reached(self.edges, ANY_EDGES, self.first, clear)
        below, above = self.counts[[0, -1]] > COLUMNS.single * self.noise
        return self._over(low if below else self.edges[0], high if above else self.edges[-1], self.held)

    def _over(self, low: float, high: float, held: float) -> "_Column":
        """Return the column over even classes, as many as stand out together from their noise.

        There is one more below them: a value at the lower end belongs to the class below.
        """
        noise = COLUMNS.level * self.noise * math.sqrt(max(self.looks, 1))
        classes = int(np.clip((held / noise) ** 2 if noise > 0 else COLUMNS.classes, COLUMNS.least, COLUMNS.classes))
        edges = np.linspace(low, high, classes + 1)
        edges = np.append(2 * edges[0] - edges[1], edges)
        return _Column(edges, held=held, first=self.counts if self.first is None else self.first)

    @property
    def _borders(self) -> FloatArray:
        """Return the edges, with one more at each end: as far out as its neighbour is from the next."""
        ends = 2 * self.edges[[0, -1]] - self.edges[[1, -2]]
        return np.concatenate([ends[:1], self.edges, ends[1:]])

    def _run(self) -> slice | None:
        """Return the classes that hold what stands out from noise; None if nothing does, or much less than in the look before."""
        if self.counts is None:
            return None
        span = trimmed(self.counts, self.noise, standing_out(self.counts, self.noise, level=COLUMNS.level))
        if span is None or self.counts[span].sum() < COLUMNS.kept * self.held - self.noise * math.sqrt(span.stop - span.start):
            return None
        return span


def _reached(edges: FloatArray, first_edges: FloatArray, first: FloatArray, clear: float) -> float:
    """Return how far a range should reach up: to the nearest class of the first look beyond it that holds something, else twice as far."""
    width = float(edges[-1] - edges[0])
    there = np.flatnonzero((first_edges > edges[-1] + width / len(edges)) & (first[:-1] > clear))
    return float(first_edges[there[0]]) if len(there) else float(edges[-1]) + width


def trimmed(counts: FloatArray, noise: float, span: slice | None, level: float = COLUMNS.single) -> slice | None:
    """Return the span without what noise explains at its ends, and with single classes beside it that stand out."""
    if span is None:
        return None
    first = span.start + explained(counts[span], noise, COLUMNS.end)
    end = span.stop - explained(counts[span][::-1], noise, COLUMNS.end)
    single = np.flatnonzero(counts > level * noise)
    return slice(int(min([first, *single])), int(max([end, first + 1, *(single + 1)])))


def _told(shown: list[Spread], n: float, *, is_clear: bool) -> _Told:
    """Return what these looks tell of a column of about n values: its place and spread from the last that shows most of it in detail.

    Unless they are clear of noise, a column that seemed to have one value is not known to be narrow: others of its values may be hidden.
    """
    believed = [spread.detail if spread.held >= COLUMNS.seen * n else math.inf for spread in shown]
    finest = accumulate(believed, min)
    # Coarser classes than before, few of which hold the values, tell nothing.
    shown = [spread for spread, before in zip(shown, finest, strict=True) if spread.classes > COLUMNS.constant or spread.detail <= before]
    if not shown:
        return _Told(0.0, 0.0, 0.0, 0.0)
    whole = [spread for spread in shown if spread.held >= COLUMNS.whole * n]
    fine = [spread for spread in shown if COLUMNS.constant < spread.classes < np.inf and spread.held >= COLUMNS.part * n]
    best, last = (fine or whole or sorted(shown, key=lambda spread: spread.held))[-1], shown[-1]
    if best.held < COLUMNS.seen * n or best.width <= _AT_ZERO:
        return best.constant()
    if last in whole and last.classes <= COLUMNS.constant:
        return last.constant()
    most = min((spread.width for spread in whole if spread.classes > COLUMNS.constant), default=math.inf)
    if not is_clear and any(spread.classes <= COLUMNS.constant or spread.width <= _AT_ZERO for spread in shown):
        most = math.inf
    if best.held < COLUMNS.whole * n and whole:
        best = best.among(min(whole, key=lambda spread: spread.width))
    return _Told(best.middle, best.stddev, best.width / (1 if best.classes < np.inf else COLUMNS.rough), most)


def _found(spreads: list[list[Spread]], chosen: BoolArray, n: float, *, is_clear: bool) -> tuple[FloatArray, FloatArray]:
    """Return units and fillings of all columns of about n values each; columns that are not seen, or look constant, are hidden."""
    middles, stddevs, least, most = np.array([tuple(vars(_told(shown, n, is_clear=is_clear)).values()) for shown in spreads]).T
    units, fill = np.ones(len(chosen)), np.zeros(len(chosen))
    ratio = COLUMNS.ratio if is_clear else COLUMNS.rough_ratio
    units[chosen] = units_of(stddevs, least, most, ratio) if chosen.all() else beside_ranges(stddevs, least)
    fill[chosen] = middles
    return units, fill
