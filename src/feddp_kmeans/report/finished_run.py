"""A finished run, read back from its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._json import RESULT_FORMAT, check_format, parse_json
from feddp_kmeans._text import finite
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.closing import Closing
from feddp_kmeans.algorithm.column_units import HIDDEN_UNIT, ColumnUnits
from feddp_kmeans.algorithm.last_run import LastRun, check_useful
from feddp_kmeans.algorithm.usefulness import stddevs
from feddp_kmeans.assignment import Labels
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.client_files import open_columns, open_table
from feddp_kmeans.tables.point_files import PointFile
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
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
    units: ColumnUnits | None = None
    """Units of the coordinates; None if they are taken as they are."""
    reading: Reading = AS_THE_HEADER_SAYS
    """How tables are read; not a fact of the run."""

    def open(self, path: Path) -> PointFile:
        """Return a table as points in the coordinates of the centers; columns that the run does not know are ignored."""
        if self.schema is None:
            return open_columns(path, self.columns, self.reading)
        return open_table(path, self.schema, reading=self.reading)

    def labels(self, points: FloatArray) -> IntArray:
        """Return the nearest center of each point; -1 for a point with a NaN or an infinity."""
        return Labels(self.centers, self.units)(points)

    def read(self, points: FloatArray) -> FloatArray:
        """Return points in the units in which distances are taken."""
        return points if self.units is None else self.units.read(points)


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


def read_run(where: Path, reading: Reading = AS_THE_HEADER_SAYS) -> FinishedRun:
    """Return the run in a folder or in a result.json; refuse anything else in one line. ``reading`` says how it reads tables."""
    return run_of(read_result(where, ("centers", "columns")), reading)


def run_of(data: dict[str, Any], reading: Reading = AS_THE_HEADER_SAYS) -> FinishedRun:
    """Return the run of a result."""
    name = "result.json"
    columns, centers = data["columns"], data["centers"]
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise InputError(f"columns of {name} must be a list of names, got {columns!r:.80}.")
    if not isinstance(centers, list) or not centers or not all(_is_center(center, len(columns)) for center in centers):
        raise InputError(f"centers of {name} must be rows of {len(columns)} finite numbers, got other rows.")
    schema = None if data.get("schema") is None else Schema.from_dict(data["schema"])
    if schema is not None and schema.columns != tuple(columns):
        raise InputError(f"columns of {name} must be those of its schema, got {columns!r:.80}.")
    return FinishedRun(np.array(centers, dtype=np.float64), tuple(columns), schema, _units(data, len(columns)), reading)


def read_last(where: Path) -> tuple[LastRun, dict[str, Any]]:
    """Return what a finished run leaves for the next one, and its result."""
    data = read_result(where, (*_NEEDED, "columns"))
    run = run_of(data)
    k, d = run.centers.shape
    check_useful(data.get("useless"))
    numbers = {"count_stddev": (), "inertia": (), "inertia_stddev": (), "reach": ()}
    place = next((name for name in ("place_stddev", "axis_stddev") if data.get(name) is not None), None)
    rows = {"noisy_counts": (k,), "center_stddev": (k,), "spread": (k,), "spread_stddev": (k,)} | ({place: (k, d)} if place else {})
    found = {name: _array(data, name, shape) for name, shape in (numbers | rows).items()}
    if not all(np.isfinite(found[name]).all() for name in (*numbers, "noisy_counts")):
        raise InputError("--from must be a run with finite sizes and distances, got others.")
    told = {name: float(found[name]) for name in numbers}
    closing = Closing(
        found["noisy_counts"],
        told["count_stddev"],
        told["inertia"],
        told["inertia_stddev"],
        found["spread"],
        found["spread_stddev"],
        told["reach"],
    )
    unit = PrivacyUnit.parse(data["privacy_unit"])
    errors = stddevs(run.centers, found["center_stddev"], found[place] if place else None)
    return LastRun(run.centers, errors, closing.counts, closing.count_stddev, closing, unit, run.units), data


def _array(data: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return numbers of a result, NaN for null; refuse other shapes."""
    try:
        found = np.array(data.get(name), dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if data.get(name) is None or found.shape != shape or np.isinf(found).any() or (found < 0).any() & (name != "noisy_counts"):
        raise InputError(f"--from must be a run of method 'refined', which states {name} of its clusters, got another {name}.")
    return found


def _units(data: dict[str, Any], dimension: int) -> ColumnUnits | None:
    scale, fill = data.get("scale"), data.get("fill")
    if scale is None and fill is None:
        return None
    for name, numbers in (("scale", scale), ("fill", fill)):
        if numbers is not None and not (isinstance(numbers, list) and len(numbers) == dimension):
            raise InputError(f"{name} of result.json must be a list of {dimension} numbers, got {numbers!r:.80}.")
    units = [HIDDEN_UNIT if unit is None else finite(unit) for unit in scale or [1.0] * dimension]
    places = [finite(value) for value in fill or [0.0] * dimension]
    if not all(unit and unit > 0 for unit in units) or None in places:
        raise InputError(f"scale and fill of result.json must be finite numbers, and scale positive, got {scale!r:.80} and {fill!r:.80}.")
    return ColumnUnits(np.array(units, dtype=np.float64), None if fill is None else np.array(places, dtype=np.float64))


def _is_center(center: Any, dimension: int) -> bool:
    return isinstance(center, list) and len(center) == dimension and all(finite(x) is not None for x in center)
