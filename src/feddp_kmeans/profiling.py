"""Profiles of clusters: what columns that were not clustered, or were, say about each cluster. A small run of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans import fit_inputs
from feddp_kmeans.algorithm.cluster_profile import LEAST_SIZE, AskedColumn, Profile, profile_of, profile_plan
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables import frames
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import OpenColumn
from feddp_kmeans.tables.profile_columns import ProfileColumn
from feddp_kmeans.tables.schema import ProfileSchema, Schema
from feddp_kmeans.tables.short_schema import hint


def profile_clusters(
    model: Any,
    X: Any,
    columns: Sequence[str],
    *,
    epsilon: float,
    delta: float = 1e-6,
    groups: Any = None,
    client_size: int = 1,
    least_size: float = LEAST_SIZE,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    ranges: Mapping[str, tuple[Any, ...]] | None = None,
    random_state: int | None = None,
    odometer: str | Path | None = None,
    limit: float | None = None,
    limit_delta: float = LIMIT_DELTA,
) -> Profile:
    """Return what these columns say about each cluster of a fitted model: shares of classes, means and quartiles, each with its error.

    The run protects what the fit protected, a point or a client.

    Parameters
    ----------
    model : FedDPKMeans
        The fitted model.
    X : list of tables, one per client; or one table
        Data frames or Arrow tables with the columns of the fit and those of the profile.
    columns : sequence of str
        The columns of the profile. Each needs a public list of categories or a public range: of the fit's schema, or given here.
    epsilon : float
        The privacy budget of this run. That of the fit is spent already.
    delta : float, default=1e-6
        Largest probability with which the guarantee may fail.
    groups : array of shape (n_points,), default=None
        The client of each row of one table.
    client_size : int, default=1
        Where clients are protected, how many rows of a client count in full; those of a larger one count less. Public.
    least_size : float, default=50
        Clusters whose noisy size is smaller are not shown.
    schema : Schema, dict or path, default=None
        What the columns of the profile hold.
    ranges : dict, default=None
        Public range of columns, as in ``FedDPKMeans``.
    random_state : int, default=None
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private.
    odometer, limit, limit_delta
        As in ``FedDPKMeans``: where the run is booked, and the most that all runs booked there may spend.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from feddp_kmeans import FedDPKMeans
    >>> from feddp_kmeans.profiling import profile_clusters
    >>> group = np.repeat([0, 1], 5000)
    >>> table = pa.table({"x": 8.0 * group, "sex": np.where(group, "f", "m")})
    >>> model = FedDPKMeans(2, ranges={"x": (0, 10)}, random_state=0).fit(table.select(["x"]))
    >>> found = profile_clusters(model, table, ["sex"], epsilon=1.0, schema={"sex": {"categories": ["f", "m"]}}, random_state=0)
    >>> found["sex"].shares[:2, :2].round(1).tolist() in ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    True

    """
    if isinstance(X, Federation):
        raise InputError("X must be one table, or a list of one per client, got a Federation, whose columns have no names.")
    own = getattr(model, "schema_", None)
    fields = own.fields if own else tuple(map(OpenColumn, fit_inputs.column_names(model)))
    made = profile_schema(fields, columns, frames.schema_given(schema, ranges, X))
    federation = fit_inputs.federation_of(frames.encoded(made, X, check=True), groups, lambda table, **_: table)
    federation = fit_inputs.booked(federation, odometer, limit, limit_delta)
    asked, found = asked_columns(made), model.clustering_
    unit, k = model.privacy_.unit, len(found.centers)
    plan = profile_plan(unit, epsilon, delta, n_clients=federation.n_clients, k=k, asked=asked, bound=client_size)
    with federation.open(plan, fit_inputs.seed_of(random_state)) as run:
        return profile_of(run, found.centers, found.units, asked, bound=client_size, least_size=least_size)


def profile_schema(clustered: Sequence[Column], names: Sequence[str], stated: Schema | None) -> ProfileSchema:
    """Return how rows are read: the columns of the clusters, then these, as stated or else as they were clustered."""
    if isinstance(names, str) or not names:
        raise InputError(f"columns must be a list of names, such as ['age'], got {names!r:.80}.")
    if len({*names}) < len(names):
        raise InputError(f"columns must be named once each, got {names!r:.200}.")
    known = {field.name: field for field in (*clustered, *(stated.fields if stated else ()))}
    known |= {field.name: field for field in clustered if isinstance(known[field.name], OpenColumn)}
    for name in names:
        if name not in known:
            advice = "say what it holds by a schema, --range or --categories"
            raise InputError(f"column {name!r:.80} must have public categories or a public range{hint([name], [*known])} Or {advice}.")
    return ProfileSchema((*clustered, *(ProfileColumn(known[name]) for name in names)))


def asked_columns(schema: ProfileSchema) -> list[AskedColumn]:
    """Return the classes and edges of the columns of a profile."""
    return [AskedColumn(column.name, column.classes, column.edges if column.is_number else None) for column in schema.profiled]
