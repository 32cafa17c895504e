"""Words of clusters of texts: which words of a public list set each cluster apart. A small run of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans import fit_inputs
from feddp_kmeans.algorithm.cluster_words import ClusterWords, words_of, words_plan
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables import frames
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import OpenColumn
from feddp_kmeans.tables.schema import ProfileSchema
from feddp_kmeans.tables.word_columns import WordColumn
from feddp_kmeans.tables.word_lists import MOST_COUNTED


def words_of_clusters(
    model: Any,
    X: Any,
    column: str,
    words: Sequence[str],
    *,
    epsilon: float,
    delta: float = 1e-6,
    most: int = MOST_COUNTED,
    groups: Any = None,
    random_state: int | None = None,
    odometer: str | Path | None = None,
    limit: float | None = None,
    limit_delta: float = LIMIT_DELTA,
) -> ClusterWords:
    """Return the words of a public list that set each cluster of a fitted model apart.

    The run protects what the fit protected, a point or a client.

    Parameters
    ----------
    model : FedDPKMeans
        The fitted model.
    X : list of tables, one per client; or one table
        Data frames or Arrow tables with the columns of the fit and the column of text.
    column : str
        The column of text.
    words : sequence of str
        The public list: only these words can ever appear. ``tables.word_lists.WordList`` makes one of public texts, or of a language.
    epsilon : float
        The privacy budget of this run. That of the fit is spent already.
    delta : float, default=1e-6
        Largest probability with which the guarantee may fail.
    most : int, default=8
        How many distinct words of a point, or of a client, count.
    groups : array of shape (n_points,), default=None
        The client of each row of one table.
    random_state : int, default=None
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private.
    odometer, limit, limit_delta
        As in ``FedDPKMeans``: where the run is booked, and the most that all runs booked there may spend.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from feddp_kmeans import FedDPKMeans
    >>> from feddp_kmeans.cluster_texts import words_of_clusters
    >>> group = np.repeat([0, 1], 5000)
    >>> table = pa.table({"x": 8.0 * group, "title": np.where(group, "a long flight", "a long visa")})
    >>> model = FedDPKMeans(2, ranges={"x": (0, 10)}, random_state=0).fit(table.select(["x"]))
    >>> found = words_of_clusters(model, table, "title", ["flight", "visa", "train"], epsilon=1.0, random_state=0)
    >>> sorted(found.names)
    ['flight', 'visa']

    """
    if isinstance(X, Federation):
        raise InputError("X must be one table, or a list of one per client, got a Federation, whose columns have no names.")
    own = getattr(model, "schema_", None)
    fields = own.fields if own else tuple(map(OpenColumn, fit_inputs.column_names(model)))
    made = word_schema(fields, column, words, most)
    federation = fit_inputs.federation_of(frames.encoded(made, X, check=True), groups, lambda table, **_: table)
    federation = fit_inputs.booked(federation, odometer, limit, limit_delta)
    found, k = model.clustering_, len(model.clustering_.centers)
    plan = words_plan(model.privacy_.unit, epsilon, delta, n_clients=federation.n_clients, k=k, n_words=len(words), most=most)
    with federation.open(plan, fit_inputs.seed_of(random_state)) as run:
        return words_of(run, found.centers, found.units, list(words), most, most=most)


def word_schema(clustered: Sequence[Column], column: str, words: Sequence[str], most: int) -> ProfileSchema:
    """Return how rows are read: the columns of the clusters, then the numbers of the words in a column of text."""
    if isinstance(words, str):
        raise InputError(f"words must be a list of words, got {words!r:.80}.")
    return ProfileSchema((*clustered, WordColumn(column, tuple(words), most)))
