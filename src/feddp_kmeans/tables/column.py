"""What every column of a schema has: coordinates that depend on one row only, a bound on them, and a way to show a center in its terms."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from feddp_kmeans._json import field_of
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_text, count_words, is_line, is_readable

MISSING_NAME, OTHER_NAME = "(missing)", "(other)"
ONE_HOT = math.sqrt(0.5)
"""Value of a one in a one-hot block: two categories are then as far apart as the two ends of a number's range."""
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6


@dataclass(frozen=True)
class Described:
    """One column of a center in the user's terms, computed from released numbers and public facts."""

    column: str
    kind: str
    """number: the value is a number; category: a word, with shares; date: text, such as 2021-05-03 or 14:30."""
    value: float | str
    """Mean of a number in its own unit; the most frequent category; a mean date or time."""
    error: float | None
    """Standard deviation of the noise in the value, or in a share for a category."""
    shares: dict[str, float] | None = None
    """Share of each category; for a number, the share of missing values if they have a coordinate."""
    meaning: str | None = None
    """What the value is, where it is not the mean or the most frequent category."""
    unit: str | None = None
    """Unit of the error, where it is not that of the value."""

    def to_dict(self) -> dict[str, Any]:
        """Return this as plain data; a meaning and a unit only where they are stated."""
        return {key: value for key, value in asdict(self).items() if value is not None or key not in {"meaning", "unit"}}


class Column:
    """One column of a table. All its fields are public."""

    name: str
    weight: float
    missing: str
    kind: ClassVar[str]
    ways: ClassVar[tuple[str, ...]] = ("middle", "indicator")
    """What ``missing`` may be."""
    rule: ClassVar[str] = "hold numbers"
    """What the cells of the column must do."""
    is_open: ClassVar[bool] = False
    """Whether the coordinates have no public bound: the run finds their scale privately."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        raise NotImplementedError

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates of a row."""
        raise NotImplementedError

    def encode(self, column: Any, decimal: str) -> FloatArray:
        """Return the coordinates of each row; those of a row depend on its cell only."""
        raise NotImplementedError

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return a center in the user's terms; ``stddev`` is that of the noise in each coordinate."""
        raise NotImplementedError

    @property
    def public(self) -> str:
        """Return the public values of the column in a few words."""
        raise NotImplementedError

    def reads(self, kind: pa.DataType) -> bool:
        """Return whether a column of this Arrow type can be encoded."""
        return is_readable(kind)

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:
        """Return the number of cells that break the column's rule, and the number of cells that are not missing. Not private."""
        return count_words(column, decimal)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data; fields that have their usual value are left out."""
        stated = {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) != field.default}  # type: ignore[arg-type]
        return {"name": self.name, "kind": self.kind} | {key: list(x) if isinstance(x, tuple) else x for key, x in stated.items()}


def check_common(column: Column) -> None:
    """Refuse a column without a name, or with a weight or a way to treat missing values that there is not."""
    if not is_line(column.name) or not column.name:
        raise InputError(f"name of a column must be one line of text, got {column.name!r:.80}.")
    set_numbers(column, "weight")
    if not LEAST_WEIGHT <= column.weight <= MOST_WEIGHT:
        raise InputError(f"weight of column {column.name!r:.80} must be between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}, got {column.weight}.")
    if column.missing not in column.ways:
        raise InputError(f"missing of column {column.name!r:.80} must be one of {list(column.ways)}, got {column.missing!r:.80}.")


def set_numbers(column: Column, *names: str) -> None:
    """Make these fields of a column numbers; refuse anything else."""
    for name in names:
        object.__setattr__(column, name, float(field_of(vars(column), name, float, f"column {column.name!r:.80}")))


def compared(words: Sequence[str]) -> Any:
    """Return words as cells are compared with them."""
    return as_text(pa.array(words, pa.large_string()))


def described_shares(name: str, words: Sequence[str], shares: FloatArray, stddev: Any, rest: str) -> Described:
    """Return the most frequent word and the share of each, clipped to [0, 1] and scaled down to a sum of 1; the rest is named ``rest``."""
    clipped = np.clip(shares, 0, 1)
    clipped = clipped / max(1.0, float(clipped.sum()))
    told = dict(zip(words, map(float, clipped), strict=True))
    told[rest] = told.get(rest, 0.0) + max(0.0, 1 - sum(told.values()))
    return Described(name, "category", max(told, key=lambda word: told[word]), finite(float(np.max(stddev))), told)


def finite(value: float) -> float | None:
    """Return the value, None if it is infinite or NaN."""
    return value if math.isfinite(value) else None
