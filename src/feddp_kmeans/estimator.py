"""FedDPKMeans, the scikit-learn class: it checks its input, makes a plan and runs it."""

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
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.settings import FEDDP, Box, Settings
from feddp_kmeans.errors import InputError
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
    n_clusters : int or "auto", default=8
        Number of clusters, k. "auto" takes as many as are apart from each other (``clustering_.elbow.why``), at no extra cost.
    epsilon : float, default=1.0
        The total privacy budget of ``fit``. ``float("inf")`` means no noise, and the report says that it is not private.
    delta : float, default=1e-6
        Largest probability with which the guarantee may fail.
    privacy_unit : {"point", "client"}, default="point"
        What the guarantee hides: one data point, or all the data of one client.
    method : {"refined", "paper"}, default="refined"
        Which releases are made: those of the paper, or fewer and better ones under the same guarantee.
    init : {"feddp"} or the name of an installed start, default="feddp"
        Where the first centers come from. Those of feddp-studies touch no client data: the paper's Lloyd steps have the whole budget.
    lloyd_steps : int or "auto", default="auto"
        Noisy Lloyd steps after the initialization.
    radius : float, default=None
        Public bound on the norm of a point. None takes the radius of the server data, or a private estimate where there are none.
    box : tuple (low, high) of floats or of arrays of shape (n_features,), default=None
        Public smallest and largest value of the coordinates, instead of ``radius``.
    client_size : int, default=None
        Public typical number of points of a client; used only at client level.
    n_points : int, default=None
        Public rough number of points in total; used with server data, where a point is protected.
    bounds : ClientBounds, default=None
        Public bounds on a client's statistics; used only by method "paper" at client level.
    composition : {"tight", "paper-naive"}, default="tight"
        How method "paper" adds up the costs of its releases.
    noise : {"auto", "gaussian"}, default="auto"
        "gaussian" replaces Laplace noise, so that clients can add the noise in shares. It matters only for method "paper", and for points
        of one or two dimensions without server data: all other noise is Gaussian anyway.
    sampling_rate : float, default=1.0
        Probability with which each client takes part in each release; below 1 only at client level.
    shares : tuple of 4 floats, default=None
        Proportions of the budget for the steps of method "paper": outer product, weights, sums, counts. None takes the paper's.
    max_clusters : int, default=30
        Largest number of clusters that is tried if ``n_clusters`` is "auto".
    random_state : int, default=None
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private and says so.
    odometer : str or Path, default=None
        File in which every ``fit`` on the same data is booked before its first release; ``feddp budget`` adds them up.
    limit : float, default=None
        Largest epsilon of all runs in the odometer together; a ``fit`` beyond it is refused with a BudgetError.
    limit_delta : float, default=1e-6
        The delta at which these runs are added up.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The centers.
    cluster_counts_ : ndarray of shape (n_clusters_,)
        Noisy size of each cluster. With privacy unit "point" it is unbiased: the number of points nearest to the center, plus noise. With
        "client" it is of bounded contributions: a client with more points than a bound is scaled down to it, so sizes are too small by
        what the largest clients have beyond (number of clients that have a point in it, for method "paper" at client level).
    center_stddev_ : ndarray of shape (n_clusters_,)
        Standard deviation of each center around the exact mean of the points that it attracts, in one coordinate.
        ``clustering_.axis_stddev`` has one for each coordinate, where it is known.
    count_stddev_ : float or None
        Standard deviation of the noise in a count; None where it is not known.
    inertia_ : float or None
        Private estimate of the sum of squared distances from the nearest center. Distances above ``clustering_.closing.reach`` count as
        that, and contributions are bounded as in ``cluster_counts_``. None for method "paper", which makes no closing look.
    inertia_stddev_ : float or None
        Standard deviation of the noise in it.
    cluster_spread_ : ndarray of shape (n_clusters_,) or None
        Root of the mean squared distance of each cluster's points from its center; NaN where noise hides it.
    n_clusters_ : int
        Number of clusters: ``n_clusters``, or the one that was chosen.
    privacy_ : PrivacyReport
        The guarantee and the ledger of all releases.
    plan_ : Plan
        The releases and their noise, fixed before any data was read.
    clustering_ : Clustering
        Everything that the run returned.
    n_features_in_ : int
        Number of coordinates of a point.

    Examples
    --------
    Three clients hold points around (0, 0) and (8, 8); the server has a few public points of its own.

    >>> import numpy as np
    >>> from feddp_kmeans import FedDPKMeans
    >>> rng = np.random.default_rng(0)
    >>> clients = [rng.standard_normal((2000, 2)) + 8 * rng.integers(2, size=(2000, 1)) for _ in range(3)]
    >>> server_points = rng.uniform(-3, 11, (50, 2))
    >>> model = FedDPKMeans(2, epsilon=1.0, random_state=0).fit(clients, server_data=server_points)
    >>> np.sort(model.cluster_centers_.round(), axis=0) + 0.0
    array([[0., 0.],
           [8., 8.]])
    >>> bool(model.plan_.epsilon_spent <= 1.0)
    True

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
        max_clusters: int = 30,
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
        """Cluster the clients' points. Rows with a NaN or an infinity are dropped on the client.

        Parameters
        ----------
        X : list of arrays of shape (n_points, n_features), one per client; or one table; or a Federation
            Arrays, sparse matrices or data frames.
        y : None
            Not used; scikit-learn passes it.
        groups : array of shape (n_points,), default=None
            The client of each row of one table; without it, all rows belong to one client. The number of distinct groups counts as public.
        server_data : array of shape (n_server_points, n_features), default=None
            Public points that look like the clients'. Without them, method "refined" makes its own proxies, privately.

        Returns
        -------
        self : FedDPKMeans
            The fitted estimator.

        """
        settings = Settings(**{name: getattr(self, name) for name in Settings.__dataclass_fields__})
        seed = self._seed()
        federation = self._federation(X, groups)
        limit = None if self.limit is None else Limit(self.limit, self.limit_delta)
        if self.odometer is not None:
            federation = federation.with_books(Books(Odometer(Path(self.odometer)), limit))
        elif limit is not None:
            raise InputError(f"odometer must be given together with a limit, got None and a limit of {self.limit}.")
        found = self._cluster(federation, settings, server_data, seed)
        self.clustering_, self.plan_, self.privacy_ = found, found.plan, found.privacy
        self.cluster_centers_, self.center_stddev_ = found.centers, found.center_stddev
        self.cluster_counts_, self.count_stddev_ = found.counts, found.count_stddev
        closing = found.closing
        self.inertia_ = None if closing is None else closing.inertia
        self.inertia_stddev_ = None if closing is None else closing.inertia_stddev
        self.cluster_spread_ = None if closing is None else closing.spread
        self.n_clusters_ = self._n_features_out = len(found.centers)
        return self

    def _cluster(self, federation: Federation, settings: Settings, server_data: Any, seed: int | None) -> clustering.Clustering:
        if server_data is None:
            if settings.init != FEDDP:
                raise InputError(f"server_data must be given for init {settings.init!r}, got None.")
            return clustering.cluster(federation, settings, None, seed=seed)
        server_points = _server_points(server_data)
        clusterer = clustering.cluster if settings.init == FEDDP else plugins.load(plugins.STARTS, settings.init)
        return clusterer(federation, settings, server_points, seed=seed)

    def fit_predict(self, X: Any, y: None = None, **fit_params: Any) -> IntArray:
        """Fit, then return the cluster of each row of X. The labels are not private: they are for the holder of the data only."""
        return self.fit(X, y, **fit_params).predict(_pooled(X))

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> FloatArray:
        """Fit, then return the distance of each row of X to each center."""
        return self.fit(X, y, **fit_params).transform(_pooled(X))

    def predict(self, X: Any) -> IntArray:
        """Return the index of the nearest center for each row; -1 for a row with a NaN or an infinity."""
        return nearest_centers(self._checked(X), self.cluster_centers_)

    def transform(self, X: Any) -> FloatArray:
        """Return the distance of each row to each center; NaN for a row with a NaN or an infinity."""
        points = self._checked(X)
        finite = finite_rows(points)
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

    def _seed(self) -> int | None:
        seed = self.random_state
        if seed is not None and not isinstance(seed, Integral):
            raise InputError(f"random_state must be None or a whole number, got {seed!r}.")
        return None if seed is None else int(seed)

    def _federation(self, X: Any, groups: Any) -> Federation:
        if isinstance(X, Federation) or _is_list_of_tables(X):
            federation = X if isinstance(X, Federation) else InMemoryFederation(X)
            self.n_features_in_ = federation.dimension
            return federation
        table = self._validated(X, dtype="numeric", ensure_min_samples=0)
        owners = np.zeros(table.shape[0], dtype=np.int8) if groups is None else groups
        return InMemoryFederation.from_groups(table, owners) if table.shape[0] else InMemoryFederation([table])

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validated(X, dtype=np.float64, reset=False)

    def _validated(self, X: Any, **how: Any) -> Any:
        refuse_words(X, "X")
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, **how)


def nearest_centers(points: Any, centers: FloatArray) -> IntArray:
    """Return the index of the nearest center for each row of points, which may be sparse; -1 for a row with a NaN or an infinity."""
    finite = finite_rows(points)
    labels = np.full(len(finite), -1, dtype=np.int64)
    if finite.any():
        labels[finite] = pairwise_distances_argmin(points[finite], centers)
    return labels


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and len(getattr(X[0], "shape", ())) == 2


def _pooled(X: Any) -> Any:
    if isinstance(X, Federation):
        raise InputError("X must be an array or a list of arrays to be labelled, got a Federation, whose points stay where they are.")
    return np.concatenate([np.asarray(client) for client in X]) if _is_list_of_tables(X) else X


def _server_points(server_data: Any) -> FloatArray:
    table = as_points(server_data, "server data")
    dense = table.toarray() if hasattr(table, "toarray") else table
    return np.asarray(dense, dtype=np.float64)
