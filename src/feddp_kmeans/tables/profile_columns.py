"""Columns as a profile counts them: the public class of each cell and, of a number, its place in the public range."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.statistics.profile_sums import VALUE
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.cells import as_numbers, as_text, is_missing
from feddp_kmeans.tables.column import MISSING_NAME, OTHER_NAME, Column, compared
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.dates import as_dates, date_text, day_of

N_BINS = 10
"""Classes of a number."""


@dataclass(frozen=True)
class ProfileColumn(Column):
    """A column of a schema, of which the class of each cell is counted. The last class is that of missing cells."""

    of: Column
    kind: ClassVar[str] = "profile"

    def __post_init__(self) -> None:
        if not (isinstance(self.of, CategoryColumn | BooleanColumn | NumberColumn) or (isinstance(self.of, DateColumn) and self.of.low)):
            rule = "have categories or a public range"
            raise InputError(
                f"column {self.of.name!r:.80} must {rule} to be in a profile, got kind {self.of.kind!r}: --range, --categories."
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return the name of the column."""
        return self.of.name

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Return what its cells must do."""
        return self.of.rule

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data."""
        return {"name": self.name, "kind": self.kind, "of": self.of.to_dict()}

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Return the names of the classes."""
        if isinstance(self.of, CategoryColumn):
            return (*self.of.categories, OTHER_NAME, MISSING_NAME)
        if isinstance(self.of, BooleanColumn):
            return (self.of.yes[0], self.of.no[0], MISSING_NAME)
        ends = [self.shown(edge) for edge in self.edges]
        return (*(f"{low} to {high}" for low, high in pairwise(ends)), MISSING_NAME)

    @property
    def is_number(self) -> bool:
        """Return whether the mean is counted too."""
        return isinstance(self.of, NumberColumn | DateColumn)

    @property
    def range(self) -> tuple[float, float]:
        """Return the public range of a number; that of a date is in days."""
        if isinstance(self.of, DateColumn):
            return day_of(self.of.low or "") or 0.0, day_of(self.of.high or "") or 0.0
        assert isinstance(self.of, NumberColumn)
        return self.of.low, self.of.high

    @cached_property
    def edges(self) -> FloatArray:
        """Return the edges of the classes of a number, evenly spaced on the scale of its column."""
        low, high = self.range
        inner = np.arange(1, N_BINS) / N_BINS
        edges = [self.of.value_at(place) for place in inner] if isinstance(self.of, NumberColumn) else low + (high - low) * inner
        return np.array([low, *edges, high])

    def shown(self, value: float) -> str:
        """Return a value as text."""
        return date_text(value) if isinstance(self.of, DateColumn) else f"{value:.6g}"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates: the class, and the place of a number."""
        return (f"{self.name} (class)", f"{self.name} (place)") if self.is_number else (f"{self.name} (class)",)

    @property
    def kinds(self) -> tuple[float, ...]:
        """Return what each coordinate is to the statistic."""
        return (float(len(self.classes)), VALUE) if self.is_number else (float(len(self.classes)),)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates."""
        return float(len(self.classes)) ** 2 + 1

    @property
    def public(self) -> str:
        """Return the public values of the column in a few words."""
        return self.of.public

    def reads(self, kind: pa.DataType) -> bool:
        """Return whether a column of this Arrow type can be encoded."""
        return self.of.reads(kind)

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:
        """Return the number of cells that break the column's rule, and the number of cells that are not missing."""
        return self.of.strange(column, decimal)

    def encode(self, column: Any, decimal: str) -> FloatArray:
        """Return the class of each cell, and the place of a number from -1 to 1; the place of a missing one is 0."""
        absent = len(self.classes) - 1
        if self.is_number:
            values = as_numbers(column, decimal) if isinstance(self.of, NumberColumn) else self._days(column)
            low, high = self.range
            there = np.clip(np.where(np.isnan(values), low, values), low, high)
            found = np.minimum(np.searchsorted(self.edges[1:-1], there, side="right"), N_BINS - 1)
            places = np.where(np.isnan(values), 0.0, 2 * (there - low) / (high - low) - 1)
            return np.column_stack([np.where(np.isnan(values), absent, found), places])
        text = as_text(column)
        if isinstance(self.of, BooleanColumn):
            signs = BooleanColumn(self.name, self.of.yes, self.of.no).encode(column, decimal)[:, 0]
            return np.select([signs > 0, signs < 0], [0.0, 1.0], float(absent))[:, None]
        assert isinstance(self.of, CategoryColumn)
        places = pc.index_in(text, value_set=compared(self.of.categories)).fill_null(-1).to_numpy(zero_copy_only=False)
        other = np.where(is_missing(text).to_numpy(zero_copy_only=False), absent, absent - 1)
        return np.where(places >= 0, places, other).astype(np.float64)[:, None]

    def _days(self, column: Any) -> FloatArray:
        assert isinstance(self.of, DateColumn)
        days, _ = as_dates(column.cast(pa.large_string()) if pa.types.is_null(column.type) else column, self.of.order)
        return days
