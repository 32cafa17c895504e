"""A rehearsal: a fit or a choose-k with made-up points in place of the clients' rows. It costs nothing, since no row reaches a release."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.folders import RELEASES
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import read_record
from feddp_kmeans.tables.inputs import Inputs

SAID = "REHEARSAL on made-up points: it says nothing about the clients' data, and nothing was booked"
_POINTS = 10_000
"""Made-up points if --n-points does not say how many."""
_SPREAD = 0.05
"""Standard deviation of a made-up cluster, as a part of the region's width."""


def rehearsed(inputs: Inputs, settings: Settings, folder: Path | None, seed: int | None) -> Inputs:
    """Return the inputs with made-up points for as many clients: drawn from the server data, or else clusters in the public region.

    Refuse to continue the run in ``folder``, if there is one.
    """
    if folder is not None and read_record(folder / RELEASES):
        raise InputError(f"--rehearse must start a new run, got {str(folder)!r} with the releases of another: use a new --out folder.")
    rng = np.random.default_rng(seed)
    size, points = settings.n_points or _POINTS, inputs.server_points
    made = _clusters(rng, settings, inputs.federation.dimension, size) if points is None else points[rng.integers(len(points), size=size)]
    return replace(inputs, federation=InMemoryFederation(np.array_split(made, inputs.federation.n_clients)))


def _clusters(rng: np.random.Generator, settings: Settings, dimension: int, size: int) -> FloatArray:
    """Return points of as many clusters as are asked for; in the unit cube if no region is stated, which is where schemas put rows."""
    region = settings.region(dimension)
    low, high = (np.zeros(dimension), np.ones(dimension)) if region is None else (region.low, region.high)
    centers = rng.uniform(low, high, size=(settings.largest_k, dimension))
    made: FloatArray = centers[rng.integers(len(centers), size=size)] + _SPREAD * (high - low) * rng.standard_normal((size, dimension))
    return made


def marked(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result that says that it is a rehearsal."""
    return result | {"rehearsal": True, "remarks": [SAID, *result.get("remarks", ())]}
