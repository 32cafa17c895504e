"""Histograms of single columns: from them a run learns where a column's values lie and how far they spread."""

import math
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.mechanism import Sensitivity
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import compiled
from feddp_kmeans.statistics.gate import Argument
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.query import Statistic

_ARGUMENTS = {
    "chosen": Argument(("d",), low=0.0, high=1.0, whole=True),
    "column_edges": Argument(("s", "e"), ascending=True),
}


def _column_classes(batch: ClientBatch, *, chosen: FloatArray, column_edges: FloatArray) -> IntArray:
    if compiled():
        return kernels.column_shares(batch.dense, batch.starts, np.flatnonzero(chosen), column_edges, SHARE_STEPS).ravel()
    cells, owners, width = batch.dense, batch.owners, column_edges.shape[1] + 1
    shares = np.zeros((len(column_edges), width), dtype=np.int64)
    for column, (place, own) in enumerate(zip(np.flatnonzero(chosen), column_edges, strict=True)):
        values = cells[:, place]
        there = np.isfinite(values)
        who, classes = owners[there], np.searchsorted(own, values[there])
        sizes = np.bincount(who, minlength=batch.n_clients)
        present, counts = np.unique(who * width + classes, return_counts=True)
        np.add.at(shares[column], present % width, counts * SHARE_STEPS // sizes[present // width])
    return shares.ravel()


def _sensitivity(*, column_edges: FloatArray, **_: Any) -> Sensitivity:
    return Sensitivity(l1=float(len(column_edges) * SHARE_STEPS), l2=math.sqrt(len(column_edges)) * SHARE_STEPS)


def _values(*, column_edges: FloatArray, **_: Any) -> int:
    return int(column_edges.size + len(column_edges))


def _check(*, chosen: FloatArray, column_edges: FloatArray) -> None:
    if chosen.sum() != len(column_edges):
        raise InputError(f"chosen must be 1 for as many columns as have edges, {len(column_edges)}, got {chosen.sum():g}.")


POINT_COLUMNS = Statistic("point-columns", _column_classes, PrivacyUnit.POINT, _sensitivity, _ARGUMENTS, _values, _check, sees_gaps=True)
CLIENT_COLUMNS = Statistic("client-columns", _column_classes, PrivacyUnit.CLIENT, _sensitivity, _ARGUMENTS, _values, _check, sees_gaps=True)
"""A histogram of each of some columns over public edges of its own; the cells of a unit that are there share one count in each column.

Sensitivity: in each column a unit adds non-negative numbers that add up to at most SHARE_STEPS, since rounding down only lessens them;
a missing cell adds nothing. So what it adds has a norm of at most SHARE_STEPS in each of s columns: sqrt(s) SHARE_STEPS in all, and
s SHARE_STEPS in L1. A cell's class is found by comparing it with public edges, so no other unit can move it.
"""
