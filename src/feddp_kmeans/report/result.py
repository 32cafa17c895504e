"""The result of a run, as plain data and as files."""

import json
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import RESULT_FORMAT, finite_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.closing import Closing
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.algorithm.usefulness import stddevs
from feddp_kmeans.errors import InputError
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.server_map import server_map
from feddp_kmeans.tables.column import Described
from feddp_kmeans.tables.schema import Schema

_LIBRARIES = ("cryptography", "dp-accounting", "numpy", "scikit-learn", "scipy")
"""Libraries on which the numbers depend."""


def result_dict(
    clustering: Clustering,
    *,
    columns: Sequence[str],
    seed: int | None,
    server_points: FloatArray | None = None,
    command: str | None = None,
    schema: Schema | None = None,
    left_out: Mapping[str, str] | None = None,
    spent: dict[str, Any] | None = None,
    attendance: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return result.json: the private output, the plan and ledger, and public facts. Nothing in it is un-noised.

    ``server_points`` are public and drawn on the map; ``command`` is the command that made the result. Centers are in the coordinates of
    ``columns``; profiles show them in the original units of each column. ``left_out`` names columns that were not used, and why; ``spent``
    is what all runs on the same data have spent (``spent_so_far``); ``attendance`` says which sites took part (``network.attendance``).
    """
    from feddp_kmeans import __version__

    plan, privacy = clustering.plan, clustering.privacy
    made: dict[str, Any] = finite_json(
        {
            "format": RESULT_FORMAT,
            "version": __version__,
            "method": plan.facts["method"],
            "n_clusters": len(clustering.centers),
            "centers": clustering.centers.tolist(),
            "noisy_counts": clustering.counts.tolist(),
            "center_stddev": clustering.center_stddev.tolist(),
            "axis_stddev": None if clustering.axis_stddev is None else clustering.axis_stddev.tolist(),
            "place_stddev": None if clustering.place_stddev is None else clustering.place_stddev.tolist(),
            "count_stddev": clustering.count_stddev,
            **_units(clustering.units),
            **_closing(clustering.closing),
            "useless": clustering.useless,
            "remarks": clustering.all_remarks(columns),
            "notes": list(clustering.notes),
            "elbow": clustering.elbow.to_dict() if clustering.elbow else None,
            "columns": list(columns),
            "schema": None if schema is None else schema.to_dict(),
            "left_out": [{"name": name, "reason": reason} for name, reason in (left_out or {}).items()],
            "profiles": _profiles(clustering, columns, schema),
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "privacy_unit": plan.unit.value,
            "relation": privacy.relation,
            "guarantee": privacy.sentence(),
            "caveat": privacy.caveat,
            "secure": privacy.secure,
            "trust": privacy.trust,
            **dict.fromkeys(("run", "participants", "threshold", "colluders", "confirmed", "attendance")),
            **(attendance or {}),
            "seed": seed,
            "ledger": list(privacy.ledger),
            "not_made": privacy.not_made,
            "spent": spent,
            "plan": plan.to_dict(),
            "server_map": server_map(clustering, server_points),
            "command": command,
            "versions": {"python": platform.python_version()} | {name: metadata.version(name) for name in _LIBRARIES},
        }
    )
    return made


def _units(units: ColumnUnits | None) -> dict[str, Any]:
    """Return the units of the columns, null for a column that noise hides, and what missing cells were taken for."""
    scale, fill = (None, None) if units is None else (units.scale, units.fill)
    return {"scale": None if scale is None else scale.tolist(), "fill": None if fill is None else fill.tolist()}


def _closing(closing: Closing | None) -> dict[str, Any]:
    """Return what the closing look says; null where there was none."""
    if closing is None:
        return dict.fromkeys(("inertia", "inertia_stddev", "spread", "spread_stddev", "reach"))
    return {
        "inertia": closing.inertia,
        "inertia_stddev": closing.inertia_stddev,
        "spread": closing.spread.tolist(),
        "spread_stddev": closing.spread_stddev.tolist(),
        "reach": closing.reach,
    }


def _profiles(clustering: Clustering, columns: Sequence[str], schema: Schema | None) -> list[list[dict[str, Any]]]:
    """Return what each cluster is like, column by column; without a schema, the numbers of its center."""
    errors = stddevs(clustering.centers, clustering.center_stddev, clustering.axis_stddev)

    def profile(center: FloatArray, error: FloatArray) -> Iterable[Described]:
        if schema is not None:
            return schema.describe(center, error)
        return [
            Described(name, "number", float(value), float(stddev) if math.isfinite(stddev) else None)
            for name, value, stddev in zip(columns, center, error, strict=True)
        ]

    return [[told.to_dict() for told in profile(center, error)] for center, error in zip(clustering.centers, errors, strict=True)]


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse, before anything is spent, a folder that cannot be written or that holds a result which may not be replaced."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise InputError(f"--out must be a folder, got {str(folder)!r}, where {str(there)!r} is not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"--out must be a folder that can be written, got {str(folder)!r}.")
    if (folder / "result.json").exists() and not force:
        raise InputError(f"--out must not hold a result already (use --force to replace it), got {str(folder)!r}.")


def write_result(folder: Path, result: dict[str, Any]) -> list[Path]:
    """Write centers.parquet, report.html and, last, result.json, with the time of writing; return their paths.

    An earlier result is removed first: an interruption leaves files of one run only, or no result.
    """
    folder.mkdir(parents=True, exist_ok=True)
    result = result | {"written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    columns = {name: [row[i] for row in result["centers"]] for i, name in enumerate(result["columns"])}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    files = {
        "centers.parquet": sink.getvalue().to_pybytes(),
        "report.html": render_page(result).encode(),
        "result.json": (json.dumps(result, indent=2, allow_nan=False) + "\n").encode(),
    }
    (folder / "result.json").unlink(missing_ok=True)
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]
