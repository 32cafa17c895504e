"""FedDPKMeans, the scikit-learn class: its parameters, and fit, which makes a plan of them and runs it."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from feddp_kmeans import earlier_run, fit_inputs
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.settings import Box, Settings
from feddp_kmeans.assignment import AssignsToCenters
from feddp_kmeans.errors import FedDPWarning
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables import frames
from feddp_kmeans.tables.engines import is_spark, spark_federation
from feddp_kmeans.tables.schema import Schema

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.cluster_profile import Profile
    from feddp_kmeans.report.notebook import ReportPage


class FedDPKMeans(AssignsToCenters):
    """k-means clustering of points that many clients hold, with differential privacy for points or for whole clients.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters, k. "auto" takes as many as are apart from each other (``clustering_.elbow.why``), at no extra cost.
    epsilon : float, default=1.0
        The total privacy budget of ``fit``. ``float("inf")`` means no noise, and the report says that it is not private.
    delta : float, default=1e-6
        Largest probability with which the guarantee may fail.
    privacy_unit : str, default="point"
        What the guarantee hides: "point", one data point, or "client", all the data of one client.
    method : str, default="refined"
        Which releases are made: "paper" makes those of the paper, "refined" fewer and better ones under the same guarantee.
    init : str, default="feddp"
        Where the first centers come from: "feddp", or an installed start. Those of feddp-studies touch no client data: the paper's Lloyd
        steps have the whole budget.
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
    composition : str, default="tight"
        How method "paper" adds up the costs of its releases: "tight" or "paper-naive".
    noise : str, default="auto"
        "auto", or "gaussian" in place of Laplace noise, so that clients can add the noise in shares. It matters only for method "paper",
        and for points of one or two dimensions without server data: all other noise is Gaussian anyway.
    sampling_rate : float, default=1.0
        Probability with which each client takes part in each release; below 1 only at client level.
    shares : tuple of 4 floats, default=None
        Proportions of the budget for the steps of method "paper": outer product, weights, sums, counts. None takes the paper's.
    max_clusters : int, default=30
        Largest number of clusters that is tried if ``n_clusters`` is "auto".
    scale : str, default="auto"
        "auto" gives each column a unit of its own where columns have very different ranges: from ``box`` or the server data, else, if they
        are at most 32, by a private look at each. "columns" does that for any number of them. "off" takes the numbers as they are.
    random_state : int, default=None
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private and says so.
    odometer : str or Path, default=None
        File in which every ``fit`` on the same data is booked before its first release; ``feddp budget`` adds them up.
    limit : float, default=None
        Largest epsilon of all runs in the odometer together; a ``fit`` beyond it is refused with a BudgetError.
    limit_delta : float, default=1e-6
        The delta at which these runs are added up.
    schema : Schema, dict or path, default=None
        What the columns of a table hold: a Schema, its rules ({"sex": {"categories": ["female", "male"]}}) or a file of them. Tables are
        encoded by it in ``fit``, ``predict``, ``transform`` and ``score``; centers are in its coordinates.
    ranges : dict, default=None
        Public range of columns: {"age": (0, 120), "income": (0, 1e6, "log"), "joined": ("2015-01-01", "2026-12-31")}. They replace
        those of ``schema``; without one, the other columns are numbers without a range.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The centers.
    profiles_ : list of lists of Described, or None
        Each center in the columns' own terms: means, words and dates, each with its error. None without a schema or ranges.
    schema_ : Schema or None
        How tables are encoded.
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
        Its standard deviation: noise, and what tails may hold beyond the reach if they fall on as slowly as they are seen to.
    cluster_spread_ : ndarray of shape (n_clusters_,) or None
        Root of the mean squared distance of each cluster's points from its center; NaN where noise hides it.
    scale_ : ndarray of shape (n_features,) or None
        The unit of each column: distances, spreads and ``inertia_`` are of columns divided by it. NaN for a column that noise hides, which
        counts as if it were not there. None if columns were taken as they are.
    n_clusters_ : int
        Number of clusters: ``n_clusters``, or the one that was chosen.
    privacy_ : PrivacyReport
        The guarantee and the ledger of all releases.
    plan_ : Plan
        The releases and their noise, fixed before any data was read.
    clustering_ : Clustering
        Everything that the run returned.
    n_features_in_ : int
        Number of columns of the tables that ``fit`` saw, or of coordinates of a Federation.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if ``fit`` saw one data frame, or frames and a schema or ranges.

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
        scale: str = "auto",
        random_state: int | None = None,
        odometer: str | Path | None = None,
        limit: float | None = None,
        limit_delta: float = LIMIT_DELTA,
        schema: Schema | Mapping[str, Any] | str | Path | None = None,
        ranges: Mapping[str, tuple[Any, ...]] | None = None,
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
        self.scale = scale
        self.random_state = random_state
        self.odometer = odometer
        self.limit = limit
        self.limit_delta = limit_delta
        self.schema = schema
        self.ranges = ranges

    def fit(self, X: Any, y: None = None, *, groups: Any = None, server_data: Any = None, last: Any = None, **others: Any) -> Self:  # noqa: ARG002
        """Cluster the clients' points. Rows with a NaN or an infinity are dropped on the client.

        Parameters
        ----------
        X : list of arrays of shape (n_points, n_features), one per client; or one table; or a Federation
            Arrays, sparse matrices or data frames. A Spark data frame is added up inside Spark.
        y : None
            Not used; scikit-learn passes it.
        groups : array of shape (n_points,), default=None
            The client of each row of one table; without it, all rows belong to one client. The number of distinct groups counts as public.
            Of a Spark data frame, the name of the column that says it.
        server_data : array of shape (n_server_points, n_features), default=None
            Public points that look like the clients'. Without them, method "refined" makes its own proxies, privately.
        last : FedDPKMeans or path of a run folder, default=None
            Earlier run to go on from: its clusters are the start and keep their numbers. Use its ``odometer`` for the same people.
        **others
            Refused: there is no ``sample_weight``, since noise would grow with the largest weight (docs/encoding.md).

        Returns
        -------
        self : FedDPKMeans
            The fitted estimator.

        Examples
        --------
        One table with the client of each row; the guarantee hides a whole client.

        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> table, owners = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10_000, axis=0), np.arange(20_000) // 10
        >>> model = FedDPKMeans(2, privacy_unit="client", box=(0, 1)).fit(table, groups=owners)
        >>> model.n_clusters_, model.privacy_.unit.value
        (2, 'client')

        """
        fit_inputs.refuse(others)
        self.schema_ = schema = frames.schema_given(self.schema, self.ranges, X)
        self.__dict__.pop("feature_names_in_", None)  # those of an earlier fit
        names = None
        if is_spark(X):
            (X, names), groups = spark_federation(X, groups, schema), None
        points, server_data = frames.encoded(schema, X, check=True), frames.encoded(schema, server_data)
        settings = frames.bounded(
            Settings(**{name: getattr(self, name) for name in Settings.__dataclass_fields__ if hasattr(self, name)}), schema
        )
        seed = fit_inputs.seed_of(self.random_state)
        federation = fit_inputs.federation_of(points, groups, self._validated)
        self.n_features_in_ = federation.dimension
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if schema is not None and not isinstance(X, Federation):  # scikit-learn's attributes are about the table, not about coordinates
            validate_data(self, X[0] if fit_inputs.is_list_of_tables(X) else X, skip_check_array=True)
        federation = fit_inputs.booked(federation, self.odometer, self.limit, self.limit_delta)
        make = fit_inputs.clusterer(settings.init, server_data, earlier_run.last_run(last))
        found = make(federation, settings, fit_inputs.server_points(server_data), seed=seed)
        self.clustering_, self.plan_, self.privacy_ = found, found.plan, found.privacy
        self.cluster_centers_, self.center_stddev_ = found.centers, found.center_stddev
        self.profiles_ = frames.profiles(schema, found)
        self.cluster_counts_, self.count_stddev_ = found.counts, found.count_stddev
        closing = found.closing
        self.inertia_ = None if closing is None else closing.inertia
        self.inertia_stddev_ = None if closing is None else closing.inertia_stddev
        self.cluster_spread_ = None if closing is None else closing.spread
        self.scale_ = None if found.units is None else found.units.scale
        self.n_clusters_ = self._n_features_out = len(found.centers)
        for remark in found.all_remarks(fit_inputs.column_names(self)):
            warnings.warn(f"{remark}.", FedDPWarning, stacklevel=2)
        return self

    def profile(self, X: Any, columns: Sequence[str], *, epsilon: float, **how: Any) -> "Profile":
        """Return what columns say about each cluster: a small private run of its own (see ``profiling.profile_clusters``).

        Examples
        --------
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = [[0.0]] * 5000 + [[9.0]] * 5000
        >>> model = FedDPKMeans(2, ranges={"x0": (0, 10)}, random_state=0).fit(X)
        >>> sorted(model.profile(X, ["x0"], epsilon=1.0, random_state=0)["x0"].means[:2].round().tolist())
        [0.0, 9.0]

        """
        from feddp_kmeans.profiling import profile_clusters

        check_is_fitted(self)
        return profile_clusters(self, X, columns, epsilon=epsilon, **how)

    def report(self, path: str | Path | None = None) -> "ReportPage | Path":
        """Return the report as a page that a notebook shows; with a path, write it to that file and return the path.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> model = FedDPKMeans(1, box=(0, 1)).fit(np.full((20_000, 2), 0.5))
        >>> model.report().html.count("<h1>")
        1

        """
        from feddp_kmeans.report.notebook import page_of

        check_is_fitted(self)
        page = page_of(self)
        return page if path is None else page.write(path)
