"""The data sets of the accuracy benchmark by name: a draw of each, and the public facts that a run is given.

Sets whose name ends in ``-server`` and all ``table-``, mixture and client sets without ``-box`` have server data; the others have none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from feddp_kmeans._typing import FloatArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import FederatedData, gaussian_mixture
from feddp_studies.accuracy.survey_tables import TABLES, survey_table
from feddp_studies.datasets.census import census
from feddp_studies.datasets.central import MIXTURE_BOX, CentralData, digits, load_central
from feddp_studies.datasets.stack_exchange import stack_exchange
from feddp_studies.reproduction.problems import UNBALANCED

_CLIENTS: dict[str, Any] = {"n_clients": 1000, "client_size": 50}
MIXTURES: Mapping[str, Mapping[str, Any]] = {
    "mixture": {},
    "mixture-d50": {"dimension": 50},
    "mixture-d200": {"dimension": 200},
    "mixture-k5": {"k": 5},
    "mixture-k20": {"k": 20},
    "mixture-unbalanced": {"component_weights": UNBALANCED},
    "mixture-10000": {"client_size": 100},
    "mixture-overlap": {"dimension": 20},
    "mixture-box": {},
    "mixture-10000-box": {"client_size": 100},
    "clients-box": {"n_clients": 2000, "client_size": 50},
    "clients-1000": _CLIENTS,
    "clients-2000": {"n_clients": 2000, "client_size": 50},
    "clients-5000": {"n_clients": 5000, "client_size": 50},
    "clients-unbalanced": _CLIENTS | {"component_weights": UNBALANCED},
    "clients-sizes": {"n_clients": 1000, "client_size": [int(x) for x in np.exp(np.linspace(0, np.log(1000), 1000))]},
    "missing-1": {"missing_on_server": 1},
    "missing-2": {"missing_on_server": 2},
    "missing-5": {"missing_on_server": 5},
}
"""The paper's mixture and its relatives. A name with ``-box`` has no server data but the public box from -0.75 to 1.75."""

_BLOBS, _BLOBS_HALF_WIDTH = 20_000, 10.0
_SERVER_PER_CLUSTER, _SERVER_UNIFORM = 20, 100
_LARGEST_AUTO = 20
_CURVE_CLUSTERS, _CURVE_CLUSTER_SIZE, _CURVE_CYCLES = 100, 250, 4
_HEAVY_SHAPE, _HEAVY_CLUSTERS = (20_000, 6), 5
_SENSOR_ROWS, _SENSOR_WINDOW, _SENSORS, _SENSOR_CLUSTERS = 4_677, 7, 10, 10


@dataclass(frozen=True)
class BenchmarkSet:
    """One draw of a data set."""

    clients: list[Points]
    k: int
    """Number of clusters, planted or asked for."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The public facts that FedDPKMeans is given."""
    server_points: FloatArray | None = None
    means: FloatArray | None = None
    """Planted means, if the data are made up."""
    weights: FloatArray | None = None
    """Planted shares of the clusters, for the oracle floor of the paper's mixtures where points are protected."""

    @cached_property
    def points(self) -> Points:
        """Return all points in one array or CSR matrix."""
        return self.clients[0] if len(self.clients) == 1 else FederatedData(self.clients, np.zeros((0, 0))).pooled


def load(name: str, seed: int, folder: Path | str) -> BenchmarkSet:
    """Return the draw of this seed of the named set; real tables are read from the folder."""
    if name in MIXTURES:
        return _mixture(name, seed)
    if name in TABLES:
        points, server = survey_table(folder, name, seed)
        return BenchmarkSet([points], TABLES[name].k, server_points=server)
    for prefix, make in _MADE.items():
        if name.startswith(prefix):
            return make(name.removeprefix(prefix), seed)
    return _real(name, seed, Path(folder))


def is_drawn(name: str) -> bool:
    """Return whether the set depends on the seed: a fixed table is loaded once."""
    return name not in {"digits", "gas", "letter", "letter-26", "s1"} and not name.startswith("board-")


def _mixture(name: str, seed: int) -> BenchmarkSet:
    how = MIXTURES[name]
    data = gaussian_mixture(seed, **how)
    assert data.means is not None
    k = len(data.means)
    weights = np.array(how.get("component_weights", [1 / k] * k))
    found = BenchmarkSet(data.clients, k, {}, data.server_points, data.means, weights)
    if name.endswith("-box"):
        found = replace(found, given={"box": MIXTURE_BOX}, server_points=None)
    return replace(found, given={**found.given, "privacy_unit": "client"}, weights=None) if name.startswith("clients") else found


def _real(name: str, seed: int, folder: Path) -> BenchmarkSet:
    if name.startswith("census-"):
        data = census(folder, int(name.removeprefix("census-")), seed=seed)
        return BenchmarkSet(data.clients, 10, server_points=data.server_points)
    if name in {"travel", "stackoverflow"}:
        data = stack_exchange(folder, name, seed=seed)
        return BenchmarkSet(data.clients, 10, {"privacy_unit": data.unit.value}, data.server_points)
    if name == "sensors":
        return _sensors(load_central(folder / "central" / "gas.npz"), seed)
    if name == "letter-26":
        return in_unit_ball(load_central(folder / "central" / "letter.npz").points, 26)
    if name not in {"digits", "gas", "letter", "s1"}:
        raise InputError(f"set must be one of those that the benchmark knows, got {name!r:.80}.")
    table = digits() if name == "digits" else load_central(folder / "central" / f"{name}.npz")
    return BenchmarkSet([table.points], table.k, {"box": (table.low, table.high)})


def in_unit_ball(points: FloatArray, k: int, means: FloatArray | None = None, server: FloatArray | None = None) -> BenchmarkSet:
    """Return the points as PE-means takes them: centred, divided by the largest norm, radius 1 public, delta = n^-1.1."""
    middle = points.mean(axis=0)
    # A little more than the largest norm, so that rounding puts no point outside.
    largest = float(np.sqrt(np.square(points - middle).sum(axis=1).max())) * (1 + 1e-12)
    mapped = [None if rows is None else (rows - middle) / largest for rows in (server, means)]
    return BenchmarkSet([(points - middle) / largest], k, {"radius": 1.0, "delta": len(points) ** -1.1}, *mapped)


def _blobs(shape: str, seed: int) -> BenchmarkSet:
    """Return scikit-learn's blobs: ``K-D`` clusters and dimensions; ``-server`` adds 20 points of each and 100 uniform in their box."""
    k, dimension = map(int, shape.removesuffix("-server").split("-"))
    points, _, means = make_blobs(n_samples=_BLOBS, n_features=dimension, centers=k, random_state=seed, return_centers=True)
    if not shape.endswith("-server"):
        return in_unit_ball(points.round(4), k, means)
    rng = np.random.default_rng(seed)
    own = np.repeat(means, _SERVER_PER_CLUSTER, axis=0) + rng.standard_normal((k * _SERVER_PER_CLUSTER, dimension))
    uniform = rng.uniform(-_BLOBS_HALF_WIDTH, _BLOBS_HALF_WIDTH, (_SERVER_UNIFORM, dimension))
    return in_unit_ball(points.round(4), k, means, np.vstack([own, uniform]))


def _auto(what: str, seed: int) -> BenchmarkSet:
    """Return ``blobs-K-D`` or ``mixture-K``, both also with ``-server``, whose number of clusters the run has to find."""
    kind, shape = what.split("-", 1)
    if kind == "blobs":
        made = _blobs(shape, seed)
    else:
        data = gaussian_mixture(seed, k=int(shape.removesuffix("-server")))
        assert data.means is not None
        made = BenchmarkSet(data.clients, len(data.means), {}, data.server_points, data.means)
        made = made if shape.endswith("-server") else replace(made, given={"box": MIXTURE_BOX}, server_points=None)
    more = {"n_clusters": "auto"} | ({"max_clusters": 30} if made.k > _LARGEST_AUTO else {})
    return replace(made, given={**made.given, **more})


def _curve(_: str, seed: int) -> BenchmarkSet:
    """Return a stand-in for birch2: 25,000 points in 100 clusters of spread 1 along a sine of four cycles (BIRCH's DS2)."""
    at = np.arange(_CURVE_CLUSTERS)
    cycle = _CURVE_CLUSTERS / _CURVE_CYCLES
    means = np.column_stack([2 * np.pi * at, cycle * np.sin(2 * np.pi * at / cycle)])
    rng = np.random.default_rng(seed)
    points = np.repeat(means, _CURVE_CLUSTER_SIZE, axis=0) + rng.standard_normal((_CURVE_CLUSTERS * _CURVE_CLUSTER_SIZE, 2))
    return in_unit_ball(points, _CURVE_CLUSTERS, means)


def _heavy(_: str, seed: int) -> BenchmarkSet:
    """Return log-normal points; nothing about them is public."""
    return BenchmarkSet([np.exp(np.random.default_rng(seed).standard_normal(_HEAVY_SHAPE))], _HEAVY_CLUSTERS)


def _sensors(gas: CentralData, seed: int) -> BenchmarkSet:
    """Return a stand-in for sensor features: six numbers about each of ten columns of gas, in 4,677 windows of seven rows.

    Mean, least, largest, median, twice the standard deviation and the range of numbers from 0 to 1 are themselves from 0 to 1.
    """
    windows = len(gas.points) // _SENSOR_WINDOW
    rows = gas.points[: windows * _SENSOR_WINDOW, :_SENSORS].reshape(windows, _SENSOR_WINDOW, _SENSORS)
    low, high = rows.min(axis=1), rows.max(axis=1)
    features = np.hstack([rows.mean(axis=1), low, high, np.median(rows, axis=1), 2 * rows.std(axis=1), high - low])
    chosen = np.random.default_rng(seed).choice(windows, _SENSOR_ROWS, replace=False)
    return BenchmarkSet([features[chosen]], _SENSOR_CLUSTERS, {"box": (0.0, 1.0)})


_MADE: Mapping[str, Callable[[str, int], BenchmarkSet]] = {
    "blobs-": _blobs,
    "board-": lambda shape, _: _blobs(shape, 1),
    "auto-": _auto,
    "curve": _curve,
    "heavy": _heavy,
}
