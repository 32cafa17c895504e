"""What ``fit`` is given becomes a federation, server points, a seed and books, or is refused in one line."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans import plugins
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.algorithm.settings import FEDDP
from feddp_kmeans.errors import FedDPWarning, InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import Limit, Odometer
from feddp_kmeans.silos.memory import as_points
from feddp_kmeans.tables.advice import row_advice


def federation_of(X: Any, groups: Any, validated: Callable[..., Any]) -> Federation:
    """Return the clients of X: a federation, one per table of a list, or those of ``groups`` in one table that ``validated`` checks."""
    if isinstance(X, Federation):
        return X
    first = X[0] if is_list_of_tables(X) else X
    names = [name for name in getattr(first, "column_names", getattr(first, "columns", ())) if isinstance(name, str)]
    if advice := row_advice(names):
        warnings.warn(advice, FedDPWarning, stacklevel=3)
    if first is not X:
        return InMemoryFederation(X)
    table = validated(X, dtype="numeric", ensure_min_samples=0)
    owners = np.zeros(table.shape[0], dtype=np.int8) if groups is None else groups
    return InMemoryFederation.from_groups(table, owners) if table.shape[0] else InMemoryFederation([table])


def is_list_of_tables(X: Any) -> bool:
    """Return whether X is a list of one table per client."""
    return isinstance(X, list | tuple) and len(X) > 0 and len(getattr(X[0], "shape", ())) == 2


def pooled(X: Any) -> Any:
    """Return the rows of all clients as one table; refuse a federation."""
    if isinstance(X, Federation):
        raise InputError("X must be an array or a list of arrays to be labelled, got a Federation, whose points stay where they are.")
    return np.concatenate([np.asarray(client) for client in X]) if is_list_of_tables(X) else X


def server_points(server_data: Any) -> FloatArray | None:
    """Return the public server data as a dense array; None where there are none."""
    if server_data is None:
        return None
    table = as_points(server_data, "server data")
    dense = table.toarray() if hasattr(table, "toarray") else table
    return np.asarray(dense, dtype=np.float64)


def clusterer(init: str, server_data: Any, last: LastRun | None = None) -> Callable[..., clustering.Clustering]:
    """Return what makes the run: the algorithm, from an earlier run if there is one, or an installed start, which needs server data."""
    if last is not None:
        if init != FEDDP or server_data is not None:
            raise InputError("last must be given without server_data and without another init: its clusters are the start.")
        return partial(clustering.cluster, last=last)
    if init == FEDDP:
        return clustering.cluster
    if server_data is None:
        raise InputError(f"server_data must be given for init {init!r}, got None.")
    start: Callable[..., clustering.Clustering] = plugins.load(plugins.STARTS, init)
    return start


def seed_of(random_state: Any) -> int | None:
    """Return the seed of a simulation; None for cryptographic noise."""
    if random_state is not None and not isinstance(random_state, Integral):
        raise InputError(f"random_state must be None or a whole number, got {random_state!r}.")
    return None if random_state is None else int(random_state)


def booked(federation: Federation, odometer: str | Path | None, limit: float | None, limit_delta: float) -> Federation:
    """Return the federation with the books that its runs are written into; the same one without an odometer."""
    if odometer is not None:
        return federation.with_books(Books(Odometer(Path(odometer)), None if limit is None else Limit(limit, limit_delta)))
    if limit is not None:
        raise InputError(f"odometer must be given together with a limit, got None and a limit of {limit}.")
    return federation


def refuse(others: Mapping[str, Any]) -> None:
    """Refuse arguments of ``fit`` that there are not; weights with the reason."""
    if "sample_weight" in others:
        raise InputError(
            "sample_weight must not be given: a weight multiplies a person's influence, so all noise would grow with the largest "
            "weight that anyone may have, relative to the mean weight."
        )
    if others:
        raise TypeError(f"fit() got an unexpected keyword argument {next(iter(others))!r}")


def column_names(model: Any) -> list[str]:
    """Return the names of the coordinates of a fitted model: those of its frame or schema, else x0, x1 and so on."""
    schema, names = getattr(model, "schema_", None), getattr(model, "feature_names_in_", None)
    known = names if schema is None else schema.columns
    return [f"x{i}" for i in range(model.clustering_.centers.shape[1])] if known is None else [str(name) for name in known]
