"""Central data sets: one table, a number of clusters, and the box that the points are known to lie in."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from feddp_kmeans._typing import Array, FloatArray
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.mixture import FederatedData, gaussian_mixture
from feddp_kmeans.tables.array_files import check_npz
from feddp_kmeans.tables.formats import named_errors

MIXTURE_BOX = (-0.75, 1.75)
_KEYS = ("X", "k", "lo", "hi")


@dataclass(frozen=True)
class CentralData:
    """Points in one place, with what is public about them."""

    points: FloatArray
    k: int
    low: FloatArray
    """Least value of each coordinate, public."""
    high: FloatArray
    """Largest value of each coordinate, public."""
    name: str


def load_central(path: Path | str) -> CentralData:
    """Return the data set of an ``.npz`` file with the keys X (points), k, lo and hi (the box)."""
    path = Path(path)
    stored = _read(path)
    points = np.asarray(stored["X"], dtype=np.float64)
    if points.ndim != 2:
        raise InputError(f"X of {path.name} must have two dimensions, got shape {points.shape}.")
    low, high = (np.asarray(stored[key], dtype=np.float64) for key in ("lo", "hi"))
    if not low.shape == high.shape == points.shape[1:]:
        raise InputError(f"lo and hi of {path.name} must hold {points.shape[1]} numbers, got shapes {low.shape} and {high.shape}.")
    if not ((points >= low) & (points <= high)).all():
        raise InputError(f"X of {path.name} must lie in the box from lo to hi, got points outside it.")
    if stored["k"].size != 1:
        raise InputError(f"k of {path.name} must be one number, got shape {stored['k'].shape}.")
    return CentralData(points, int(stored["k"].item()), low, high, path.stem)


def digits() -> CentralData:
    """Return scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, divided by 16 so that they lie in the unit cube."""
    points = np.asarray(load_digits().data, dtype=np.float64) / 16
    dimension = points.shape[1]
    return CentralData(points, 10, np.zeros(dimension), np.ones(dimension), "digits")


def central_data(folder: Path | None = None, *, name: str, k: int, seed: int) -> FederatedData:  # noqa: ARG001 every seed has the same points
    """Return a central data set as one client; the two corners of its public box stand in for server data.

    Costs of other programs were recorded for the number of clusters that the file states, so another one is refused.
    """
    found = digits() if folder is None else load_central(folder / "central" / f"{name}.npz")
    if found.k != k:
        raise InputError(f"k of {name} must be {found.k}, as its file says, got {k}.")
    return FederatedData([found.points], np.array([found.low, found.high]), name=name)


def mixture_in_box(*, seed: int, **how: Any) -> FederatedData:
    """Return a Gaussian mixture whose server knows a box only, from -0.75 to 1.75 in each coordinate; its two corners are returned."""
    made = gaussian_mixture(seed, **how)
    return replace(made, server_points=np.array([[low] * made.dimension for low in MIXTURE_BOX]))


def _read(path: Path) -> dict[str, Array]:
    try:
        with named_errors(path):
            check_npz(path)
            with np.load(path, allow_pickle=False) as arrays:
                stored = dict(arrays)
    except FedDPError as error:
        raise InputError(f"{path.name} must be an .npz file with the keys X, k, lo and hi, got: {error}") from None
    if missing := [key for key in _KEYS if key not in stored or stored[key].dtype.kind not in "biuf"]:
        raise InputError(f"{path.name} must be an .npz file with the keys X, k, lo and hi, got no numbers under {missing[0]}.")
    return stored
