"""A finished run, read back from its folder."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import pairwise_distances_argmin

from feddp_kmeans._json import RESULT_FORMAT, check_format, parse_json
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.cells import as_numbers, decimal_of
from feddp_kmeans.tables.schema import Schema


@dataclass(frozen=True)
class Run:
    """The centers of a run and how a table becomes points in their coordinates."""

    centers: FloatArray
    columns: tuple[str, ...]
    schema: Schema | None

    @property
    def needed(self) -> tuple[str, ...]:
        """Return the columns that a table must have."""
        return self.columns if self.schema is None else self.schema.names

    def points(self, table: pa.Table) -> FloatArray:
        """Return the rows of a table in the coordinates of the centers; NaN where a plain number is missing."""
        if self.schema is not None:
            return self.schema.encode(table)
        return np.column_stack([as_numbers(table[name], decimal_of(table)) for name in self.columns])

    def labels(self, points: FloatArray) -> IntArray:
        """Return the nearest center of each point; -1 for a point with a NaN or an infinity."""
        finite = np.isfinite(points).all(axis=1)
        labels = np.full(len(points), -1, dtype=np.int64)
        if finite.any():
            labels[finite] = pairwise_distances_argmin(points[finite], self.centers)
        return labels


def read_run(where: Path) -> Run:
    """Return the run in a folder, or in a result.json; anything else is refused in one line."""
    path = where / "result.json" if where.is_dir() else where
    try:
        data = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise FedDPError(f"run must be a folder with a readable result.json, got {str(where)!r}: {first}") from None
    if not isinstance(data, dict) or not {"centers", "columns"} <= data.keys():
        raise FedDPError(f"{path.name} must hold centers and columns, got something else.")
    check_format(data, RESULT_FORMAT, path.name)
    columns, centers = data["columns"], data["centers"]
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise FedDPError(f"columns of {path.name} must be a list of names, got {columns!r:.80}.")
    if not isinstance(centers, list) or not centers or not all(_is_center(center, len(columns)) for center in centers):
        raise FedDPError(f"centers of {path.name} must be rows of {len(columns)} finite numbers, got something else.")
    schema = None if data.get("schema") is None else Schema.from_dict(data["schema"])
    if schema is not None and schema.columns != tuple(columns):
        raise FedDPError(f"columns of {path.name} must be those of its schema, got {columns!r:.80}.")
    return Run(np.array(centers, dtype=np.float64), tuple(columns), schema)


def _is_center(center: Any, dimension: int) -> bool:
    return isinstance(center, list) and len(center) == dimension and all(_is_finite(x) for x in center)


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
