"""FedDPKMeans, the scikit-learn face. Thin: it checks input, makes a plan, runs it."""

from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from feddp_kmeans import plugins
from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.settings import FEDDP, Box, Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit, Odometer
from feddp_kmeans.silos.batches import finite_rows
from feddp_kmeans.silos.memory import as_points, refuse_words


class FedDPKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """k-means clustering of points that many clients hold, with differential privacy for points or for whole clients.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters, k. "auto" takes the elbow of the weighted server points (``clustering_.elbow``), at no further cost.
    epsilon, delta : float
        The total privacy budget of ``fit``. Infinite epsilon means no noise, and the report says that it is not private.
    privacy_unit : "point" or "client"
        What the guarantee hides: one data point, or all the data of one client.
    method : "refined" or "paper"
        The releases that are made.
    init : "feddp", "server-kmeans++", "server-lloyds" or "sphere-packing"
        Where the first centers come from. All but "feddp" touch no client data and leave the whole budget to the paper's Lloyd steps.
    lloyd_steps : int or "auto"
        Noisy Lloyd steps after the initialization.
    radius : float, optional
        Public bound on the norm of a point; by default the radius of the server data, or a private estimate where there are none.
    box : (low, high), optional
        Public least and largest value of the coordinates: two numbers, or two vectors. In place of ``radius``.
    client_size : int, optional
        Public typical number of points of a client; used at client level alone.
    n_points : int, optional
        Public rough number of points in total; helps the planner.
    bounds : ClientBounds, optional
        Public bounds on a client's statistics; used by method "paper" at client level alone.
    composition : "tight" or "paper-naive"
        How method "paper" adds up the costs of its releases.
    noise : "auto" or "gaussian"
        "gaussian" has no Laplace noise, so that clients can add the noise in shares. It matters to method "paper" and to points of one or
        two dimensions without server data, whose counts have Laplace noise otherwise; all other noise is Gaussian anyway.
    sampling_rate : float
        Probability with which each client takes part in each release; below 1 at client level alone.
    shares : four numbers, optional
        Proportions of the budget for the steps of method "paper": outer product, weights, sums, counts. By default the paper's.
    max_clusters : int
        Largest number of clusters that is tried where ``n_clusters`` is "auto".
    random_state : int, optional
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private and says so.
    odometer : path, optional
        File that every ``fit`` on the same data is written on before its first release, as the command line does; ``feddp budget`` adds up.
    limit, limit_delta : float, optional
        Largest epsilon of all runs on the odometer together, at this delta; a ``fit`` beyond it is refused.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    cluster_counts_ : noisy size of each cluster (number of clients that have a point in it, for method "paper" at client level)
    center_stddev_ : standard deviation of the noise in one coordinate of each center
    privacy_ : PrivacyReport, the guarantee and the ledger of all releases
    plan_ : Plan, fixed before any data was read

    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        privacy_unit: str = "point",
        method: str = "refined",
        init: str = "feddp",
        lloyd_steps: int | str = "auto",
        radius: float | None = None,
        box: Box | None = None,
        client_size: int | None = None,
        n_points: int | None = None,
        bounds: ClientBounds | None = None,
        composition: str = "tight",
        noise: str = "auto",
        sampling_rate: float = 1.0,
        shares: tuple[float, float, float, float] | None = None,
        max_clusters: int = 20,
        random_state: int | None = None,
        odometer: str | Path | None = None,
        limit: float | None = None,
        limit_delta: float = LIMIT_DELTA,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.method = method
        self.init = init
        self.lloyd_steps = lloyd_steps
        self.radius = radius
        self.box = box
        self.client_size = client_size
        self.n_points = n_points
        self.bounds = bounds
        self.composition = composition
        self.noise = noise
        self.sampling_rate = sampling_rate
        self.shares = shares
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.odometer = odometer
        self.limit = limit
        self.limit_delta = limit_delta

    def fit(self, X: Any, y: None = None, *, groups: Any = None, server_data: Any = None) -> Self:  # noqa: ARG002
        """Cluster the clients' points.

        X is a list of (n_j, d) arrays, one a client; or one table with ``groups``, the client of each row (all rows are one client
        without it; the number of distinct groups is taken as public); or a Federation. ``server_data`` is public: a table of points
        like the clients'; without it method "refined" makes proxies of its own, privately. Rows with a NaN or an infinity are dropped
        on the client.
        """
        settings = self._settings()
        seed = self._seed()
        federation = self._federation(X, groups)
        limit = None if self.limit is None else Limit(self.limit, self.limit_delta)
        if self.odometer is not None:
            federation.books = Books(Odometer(Path(self.odometer)), limit)
        elif limit is not None:
            raise FedDPError(f"odometer must be given for a limit to hold, got a limit of {self.limit} and None.")
        found = self._cluster(federation, settings, server_data, seed)
        self.cluster_centers_: FloatArray = found.centers
        self.cluster_counts_: FloatArray = found.counts
        self.center_stddev_: FloatArray = found.center_stddev
        self.plan_ = found.plan
        self.privacy_ = found.privacy
        self.clustering_ = found
        self._n_features_out = len(found.centers)
        return self

    def _cluster(self, federation: Federation, settings: Settings, server_data: Any, seed: int | None) -> clustering.Clustering:
        if server_data is None:
            if settings.init != FEDDP:
                raise FedDPError(f"server_data must be given for init {settings.init!r}, got None.")
            return clustering.cluster(federation, settings, None, seed=seed)
        server_points = _server_points(server_data)
        settings.check_server(server_points, federation.dimension)
        clusterer = clustering.cluster if settings.init == FEDDP else plugins.load(plugins.STARTS, settings.init)
        return clusterer(federation, settings, server_points, seed=seed)

    def fit_predict(self, X: Any, y: None = None, **fit_params: Any) -> IntArray:
        """Fit, then return the cluster of each row of X. The labels are the data holder's own: they are not a private output."""
        return self.fit(X, y, **fit_params).predict(_pooled(X))

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> FloatArray:
        """Fit, then return the distance of each row of X to each center."""
        return self.fit(X, y, **fit_params).transform(_pooled(X))

    def predict(self, X: Any) -> IntArray:
        """Return the index of the nearest center for each row; -1 for a row with a NaN or an infinity."""
        points, finite = self._check(X)
        labels = np.full(len(finite), -1, dtype=np.int64)
        if finite.any():
            labels[finite] = pairwise_distances_argmin(points[finite], self.cluster_centers_)
        return labels

    def transform(self, X: Any) -> FloatArray:
        """Return the distance of each row to each center; NaN for a row with a NaN or an infinity."""
        points, finite = self._check(X)
        distances = np.full((len(finite), len(self.cluster_centers_)), np.nan)
        if finite.any():
            distances[finite] = euclidean_distances(points[finite], self.cluster_centers_)
        return distances

    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Return minus the k-means cost of X under the centers. Computed from X exactly: not private."""
        distances = self.transform(X)
        return -float(np.nansum(np.square(distances).min(axis=1)))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: rows with NaN are ordinary input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> Settings:
        names = Settings.__dataclass_fields__
        return Settings(**{name: getattr(self, name) for name in names})

    def _seed(self) -> int | None:
        seed = self.random_state
        if seed is not None and not isinstance(seed, Integral):
            raise FedDPError(f"random_state must be None or a whole number, got {seed!r}.")
        return None if seed is None else int(seed)

    def _federation(self, X: Any, groups: Any) -> Federation:
        if isinstance(X, Federation):
            self.n_features_in_ = X.dimension
            return X
        if _is_list_of_tables(X):
            federation = InMemoryFederation(X)
            self.n_features_in_ = federation.dimension
            return federation
        table = self._validated(X, dtype="numeric", ensure_min_samples=0)
        owners = np.zeros(table.shape[0], dtype=np.int8) if groups is None else groups
        return InMemoryFederation.from_groups(table, owners) if table.shape[0] else InMemoryFederation([table])

    def _check(self, X: Any) -> tuple[Any, BoolArray]:
        """Return the points, and which of them are finite."""
        check_is_fitted(self)
        points = self._validated(X, dtype=np.float64, reset=False)
        return points, finite_rows(points)

    def _validated(self, X: Any, **how: Any) -> Any:
        refuse_words(X, "X")
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, **how)


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and len(getattr(X[0], "shape", ())) == 2


def _pooled(X: Any) -> Any:
    if isinstance(X, Federation):
        raise FedDPError("X must be an array or a list of arrays to be labelled here, got a Federation: its points stay where they are.")
    return np.concatenate([np.asarray(client) for client in X]) if _is_list_of_tables(X) else X


def _server_points(server_data: Any) -> FloatArray:
    table = as_points(server_data, "server data")
    dense = table.toarray() if hasattr(table, "toarray") else table
    return np.asarray(dense, dtype=np.float64)
