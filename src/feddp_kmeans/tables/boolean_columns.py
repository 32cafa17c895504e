"""Columns of a schema that hold yes or no, in public words."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_text, is_line, is_missing
from feddp_kmeans.tables.column import MISSING_NAME, OTHER_NAME, Column, Described, check_common, compared, described_shares

YES, NO = ("yes", "true", "1", "y", "t"), ("no", "false", "0", "n", "f")
"""Words for yes and no, in any case, unless a schema names others."""


@dataclass(frozen=True)
class BooleanColumn(Column):
    """Yes or no, as public words: one coordinate, half the weight above or below zero. A missing value is zero."""

    name: str
    yes: tuple[str, ...] = YES
    no: tuple[str, ...] = NO
    weight: float = 1.0
    missing: str = "middle"
    """A missing value, or another word, stands between yes and no; with "indicator" it also has a coordinate of its own."""

    kind: ClassVar[str] = "boolean"
    rule: ClassVar[str] = "hold words for yes and no"

    def __post_init__(self) -> None:
        check_common(self)
        what = f"column {self.name!r:.80}"
        for side in ("yes", "no"):
            given = getattr(self, side)
            words = given if isinstance(given, list | tuple) else ()
            if not words or not all(is_line(word) and word.strip() and word not in {MISSING_NAME, OTHER_NAME} for word in words):
                raise InputError(f"{side} of {what} must be a list of words, got {given!r:.80}.")
            object.__setattr__(self, side, tuple(words))
        known = pc.utf8_lower(compared((*self.yes, *self.no))).to_pylist()
        if twice := [word for word in known if known.count(word) > 1]:
            raise InputError(f"words for yes and no of {what} must be distinct, got {twice[0]!r:.80} twice.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return (self.name, f"{self.name}={MISSING_NAME}") if self.missing == "indicator" else (self.name,)

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates: 1/4, since exactly one of them is 1/2 or -1/2 and the other is zero."""
        return (self.weight / 2) ** 2

    @property
    def public(self) -> str:
        """Return the first word for yes and for no."""
        return f"{self.yes[0]} or {self.no[0]}"

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002
        """Return the coordinates of each row."""
        text = pc.utf8_lower(as_text(column))
        sides = [pc.is_in(text, value_set=pc.utf8_lower(compared(words))).to_numpy(zero_copy_only=False) for words in (self.yes, self.no)]
        signs: FloatArray = sides[0].astype(np.float64) - sides[1]
        if self.missing == "middle":
            return self.weight / 2 * signs[:, None]
        return self.weight / 2 * np.column_stack([signs, signs == 0])

    def describe(self, center: FloatArray, stddev: FloatArray) -> list[Described]:
        """Return the more frequent answer and the share of each; without an indicator, half of the missing values count as yes."""
        absent = float(np.clip(2 * center[1] / self.weight, 0, 1)) if self.missing == "indicator" else 0.0
        agreed = float(np.clip(center[0] / self.weight + (1 - absent) / 2, 0, 1 - absent))
        words, shares = (self.yes[0], self.no[0], MISSING_NAME), np.array([agreed, 1 - absent - agreed, absent])
        n = 3 if self.missing == "indicator" else 2
        return [described_shares(self.name, words[:n], shares[:n], np.linalg.norm(stddev) / self.weight, words[n - 1])]

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:  # noqa: ARG002
        """Return the number of words that are neither yes nor no, and the number of cells that are not missing."""
        absent = is_missing(as_text(column)).to_numpy(zero_copy_only=False)
        other = self.encode(column, ".")[:, 0] == 0
        return int((other & ~absent).sum()), int((~absent).sum())
