"""The methods that figures and tables compare. One registration puts a method into every one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.clustering import Clusterer, Clustering
from feddp_kmeans.algorithm.methods import grid, refined, serverless
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_studies.reproduction import published_code
from feddp_studies.rivals import (
    diffprivlib_kmeans,
    dp_lloyd,
    google_lsh,
    k_fed,
    oracle_floor,
    server_kmeanspp,
    server_lloyds,
    sphere_packing,
)

Shares = tuple[float, float, float, float]

REFINED_ONLY = (refined.__name__, serverless.__name__, grid.__name__)
"""Modules that only method "refined" runs, though every method imports them where one is chosen by its name."""


@dataclass(frozen=True)
class Config:
    """A method with the settings that its Pareto front ranges over."""

    method: str
    lloyd_steps: int | None = None
    """None: as many as the method chooses."""
    shares: Shares | None = None
    """Proportions of the budget, only for method "paper". None: the method's own."""
    bounds: float = 1.0
    """The clipping bounds B of method "paper" at client level, as a multiple of those that are simulated from the server data."""
    sampling_rate: float = 1.0
    """Part of the clients that take part in a release."""


@dataclass(frozen=True)
class ComparedMethod:
    """How a method is named, and run: ``cluster(federation, settings, server_points, seed=...)`` returns a ``Clustering``."""

    name: str
    label: str
    cluster: Clusterer
    source: str
    """The module that computes it, ``__name__`` where it is registered: rows that an older text of it made do not count."""
    noise: bool = True
    """Whether the result depends on epsilon."""
    without: tuple[str, ...] = ()
    """Modules that it imports and never runs: a new text of them leaves its rows as they are."""
    everywhere: Sequence[Config] = ()
    """Settings with which it is run in every figure of costs, besides those that a figure's spec names."""


METHODS: dict[str, ComparedMethod] = {}
"""Every method by its name, in the order in which figures and tables show them."""


def register_method(method: ComparedMethod) -> ComparedMethod:
    """Add the method to every figure and table."""
    if METHODS.get(method.name, method) != method:
        raise InputError(f"method must have a name of its own, got {method.name!r}, which is taken.")
    METHODS[method.name] = method
    return method


def _ours(name: MethodName) -> Clusterer:
    def cluster(
        federation: Federation,
        settings: Settings,
        server_points: FloatArray,
        *,
        seed: int | None = None,
        on_release: Callable[[str], None] | None = None,
    ) -> Clustering:
        return clustering.cluster(federation, replace(settings, method=name), server_points, seed=seed, on_release=on_release)

    return cluster


for _name, _label, _cluster, _source, _noise in (
    ("refined", "FedDP-KMeans, refined", _ours(MethodName.REFINED), clustering.__name__, True),
    ("paper", "FedDP-KMeans, as the paper states it", _ours(MethodName.PAPER), clustering.__name__, True),
    (published_code.NAME, "published code's noise: NOT PRIVATE", published_code.cluster, published_code.__name__, True),
    (server_lloyds.NAME, "ServerLloyds", server_lloyds.cluster, server_lloyds.__name__, True),
    (server_kmeanspp.NAME, "ServerKMeans++", server_kmeanspp.cluster, server_kmeanspp.__name__, True),
    (sphere_packing.NAME, "SpherePacking", sphere_packing.cluster, sphere_packing.__name__, True),
    (dp_lloyd.NAME, "DP-Lloyd, random start", dp_lloyd.cluster, dp_lloyd.__name__, True),
    (google_lsh.NAME, "Google's LSH clustering, central", google_lsh.cluster, google_lsh.__name__, True),
    (diffprivlib_kmeans.NAME, "diffprivlib, central", diffprivlib_kmeans.cluster, diffprivlib_kmeans.__name__, True),
    (oracle_floor.NAME, "oracle floor: not private", oracle_floor.cluster, oracle_floor.__name__, True),
    (k_fed.NAME, "k-FED: not private", k_fed.cluster, k_fed.__name__, False),
):
    register_method(ComparedMethod(_name, _label, _cluster, _source, _noise, () if _name == "refined" else REFINED_ONLY))
