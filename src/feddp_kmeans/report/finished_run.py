"""A finished run, read back from its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._json import RESULT_FORMAT, check_format, parse_json
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.estimator import nearest_centers
from feddp_kmeans.report.text import finite
from feddp_kmeans.tables.client_files import open_columns, open_table
from feddp_kmeans.tables.point_files import PointFile
from feddp_kmeans.tables.schema import Schema

_PRIVACY = ("epsilon", "delta", "privacy_unit", "guarantee", "secure", "ledger", "plan")
_NEEDED = ("version", "method", "n_clusters", "centers", "noisy_counts", *_PRIVACY)
"""Fields that a page and a budget need; older results may lack the others."""


@dataclass(frozen=True)
class FinishedRun:
    """The centers of a run and how a table becomes points in their coordinates."""

    centers: FloatArray
    columns: tuple[str, ...]
    schema: Schema | None

    def open(self, path: Path) -> PointFile:
        """Return a table as points in the coordinates of the centers; columns that the run does not know are ignored."""
        return open_columns(path, self.columns) if self.schema is None else open_table(path, self.schema)

    def labels(self, points: FloatArray) -> IntArray:
        """Return the nearest center of each point; -1 for a point with a NaN or an infinity."""
        return nearest_centers(points, self.centers)


def read_result(where: Path, needed: Sequence[str] = _NEEDED) -> dict[str, Any]:
    """Return the result in a folder with a result.json, or in that file; refuse one that lacks a key that is needed."""
    path = where / "result.json" if where.is_dir() else where
    try:
        result = parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"run must be a folder with a result.json, or that file, got {str(where)!r}: {error.strerror}.") from None
    except FedDPError as error:
        raise InputError(f"{str(path)!r} must hold a result of feddp fit: {error}") from None
    if not isinstance(result, dict):
        raise InputError(f"{str(path)!r} must hold a result of feddp fit, got a {type(result).__name__}.")
    check_format(result, RESULT_FORMAT, path.name)
    if missing := [key for key in needed if key not in result]:
        raise InputError(f"{str(path)!r} must hold a result of feddp fit, got one without {missing[0]!r}.")
    return result


def read_run(where: Path) -> FinishedRun:
    """Return the run in a folder or in a result.json; refuse anything else in one line."""
    data, name = read_result(where, ("centers", "columns")), "result.json"
    columns, centers = data["columns"], data["centers"]
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise InputError(f"columns of {name} must be a list of names, got {columns!r:.80}.")
    if not isinstance(centers, list) or not centers or not all(_is_center(center, len(columns)) for center in centers):
        raise InputError(f"centers of {name} must be rows of {len(columns)} finite numbers, got other rows.")
    schema = None if data.get("schema") is None else Schema.from_dict(data["schema"])
    if schema is not None and schema.columns != tuple(columns):
        raise InputError(f"columns of {name} must be those of its schema, got {columns!r:.80}.")
    return FinishedRun(np.array(centers, dtype=np.float64), tuple(columns), schema)


def _is_center(center: Any, dimension: int) -> bool:
    return isinstance(center, list) and len(center) == dimension and all(finite(x) is not None for x in center)
