"""Made-up rows that look like released clusters: drawn from centers, sizes, spreads and profiles. No client's row is read.

Columns are drawn one by one within a cluster, so what they have in common beyond the cluster is lost.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.report.finished_run import FinishedRun
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.column import MISSING_NAME, ONE_HOT, Column
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.date_columns import TREND, DateColumn
from feddp_kmeans.tables.dates import date_text, day_of

MARK = "synthetic"
"""A column of every table of made-up rows."""


def synthetic_rows(
    run: FinishedRun, result: Mapping[str, Any], n_rows: int, *, profile: Mapping[str, Any] | None = None, seed: int | None = None
) -> pa.Table:
    """Return so many made-up rows of the clusters of a finished run, with the columns of a profile if there is one."""
    rng = np.random.default_rng(seed)
    weights = np.maximum(np.array(result["noisy_counts"], dtype=np.float64), 0.0)
    if not weights.sum() > 0:
        raise InputError("a run must have a cluster of a positive size to draw rows of, got none.")
    clusters = rng.choice(len(weights), n_rows, p=weights / weights.sum())
    made: dict[str, Any] = {MARK: np.ones(n_rows, dtype=bool)}
    spreads = _spreads(result, len(weights))
    fields = run.schema.fields if run.schema else ()
    own = _own_spreads(run, fields, spreads)
    if not fields:
        units = np.ones(len(run.columns)) if run.units is None else np.where(run.units.hidden, 0.0, run.units.units)
        points = run.centers[clusters] + own[clusters, None] * units * rng.standard_normal((n_rows, len(run.columns)))
        made |= {name: points[:, place] for place, name in enumerate(run.columns)}
    start = 0
    for field in fields:
        end = start + len(field.coordinates)
        drawn = _drawn(field, run.centers[:, start:end], own, clusters, rng)
        made |= {} if drawn is None else {field.name: drawn}
        start = end
    for column in (profile or {}).get("columns", ()):
        if column["column"] not in made:
            made[column["column"]] = _profiled(column, clusters, rng)
    return pa.table(made)


def _spreads(result: Mapping[str, Any], k: int) -> FloatArray:
    """Return the spread of each cluster; of one that noise hides, the root mean square of the others, and zero if all are hidden."""
    told = np.array([np.nan if spread is None else float(spread) for spread in result.get("spread") or [None] * k])
    if np.isnan(told).all():
        return np.zeros(k)
    found: FloatArray = np.where(np.isnan(told), np.sqrt(np.nanmean(np.square(told))), told)
    return found


def _own_spreads(run: FinishedRun, fields: tuple[Column, ...], spreads: FloatArray) -> FloatArray:
    """Return the standard deviation of a coordinate of a number in each cluster: what words do not explain, shared out evenly."""
    if not fields:
        even: FloatArray = spreads / np.sqrt(len(run.columns))
        return even
    left, numbers, start = np.square(spreads), 0, 0
    for field in fields:
        end = start + len(field.coordinates)
        block = run.centers[:, start:end]
        if isinstance(field, CategoryColumn):
            shares = np.clip(block / (field.weight * ONE_HOT), 0, 1)
            left = left - (field.weight * ONE_HOT) ** 2 * (shares * (1 - shares)).sum(axis=1)
        elif isinstance(field, BooleanColumn):
            left = left - np.maximum((field.weight / 2) ** 2 - np.square(block[:, 0]), 0.0)
        else:
            numbers += 1
        start = end
    found: FloatArray = np.sqrt(np.maximum(left, 0.0) / max(numbers, 1))
    return found


def _drawn(field: Column, centers: FloatArray, own: FloatArray, clusters: IntArray, rng: np.random.Generator) -> Any:
    """Return the cells of a column; None for a date without a trend, whose day is not known."""
    if isinstance(field, CategoryColumn | BooleanColumn):
        told = [field.describe(center, np.zeros(len(center)))[0].shares or {} for center in centers]
        words, cells = list(told[0]), np.empty(len(clusters), dtype=object)
        for cluster, shares in enumerate(told):
            here = np.flatnonzero(clusters == cluster)
            chances = np.array([shares[word] for word in words])
            cells[here] = rng.choice(np.array(words, dtype=object), len(here), p=chances / chances.sum())
        return [None if cell == MISSING_NAME else cell for cell in cells]
    weight = field.weight
    places = np.clip((centers[clusters, 0] + own[clusters] * rng.standard_normal(len(clusters))) / weight, 0, 1)
    if isinstance(field, NumberColumn):
        return np.array([field.value_at(place) for place in places])
    if isinstance(field, DateColumn):
        if TREND not in field.parts:
            return None
        low, high = (day_of(day or "") or 0.0 for day in (field.low, field.high))
        return [date_text(low + (high - low) * place) for place in places]
    return weight * (centers[clusters, 0] + own[clusters] * rng.standard_normal(len(clusters)))


def _profiled(column: Mapping[str, Any], clusters: IntArray, rng: np.random.Generator) -> list[Any]:
    """Return the cells of a column of a profile; those of a cluster that is not shown are like all."""
    shares = np.array([[np.nan if share is None else share for share in row] for row in column["shares"]], dtype=np.float64)
    shares = np.maximum(np.where(np.isnan(shares), shares[-1], shares), 0.0)
    words, edges = list(column["classes"]), column.get("edges")
    cells: list[Any] = [None] * len(clusters)
    for cluster in np.unique(clusters):
        here = np.flatnonzero(clusters == cluster)
        total = shares[cluster].sum()
        chances = shares[cluster] / total if total > 0 else np.full(len(words), 1 / len(words))
        for place, which in zip(here, rng.choice(len(words), len(here), p=chances), strict=True):
            if words[which] != MISSING_NAME:
                cells[place] = words[which] if edges is None else float(rng.uniform(edges[which], edges[which + 1]))
    return cells
