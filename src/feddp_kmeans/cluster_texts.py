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
from feddp_kmeans.tables.cells import as_text, check_present
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import OpenColumn
from feddp_kmeans.tables.formats import read_schema, read_tables
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import ProfileSchema
from feddp_kmeans.tables.word_columns import WordColumn, vocabulary

_PIECE = 1 << 16
COMMON = (
    "a about after all also am an and any are as at be been before being between both but by can could did do does during each few for "
    "from get had has have he her here him his how i if in into is it its just may me more most my need no nor not of off on once one "
    "only or other our out over own same she should so some such than that the their them then there these they this those through to "
    "too under until up us use very was we were what when where which while who whom why will with would you your"
)
"""English words that tell nothing: left out of a list that is made of texts."""


def words_of_clusters(
    model: Any,
    X: Any,
    column: str,
    words: Sequence[str],
    *,
    epsilon: float,
    delta: float = 1e-6,
    most: int = 8,
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
        The public list: only these words can ever appear. ``tables.word_columns.vocabulary`` makes one of public texts.
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


def listed_words(
    listed: Path | None, texts: Path | None, column: str, *, stop: Path | None, most: int, reading: Reading = AS_THE_HEADER_SAYS
) -> tuple[str, ...]:
    """Return the public list of words: those of a file, or the most frequent ones of a public table's column."""
    if (listed is None) == (texts is None):
        raise InputError("words must be given by --list, a file of public words, or by --server, a public table; got both or neither.")
    if listed is not None:
        return tuple(dict.fromkeys(_lines(listed)))
    assert texts is not None
    return vocabulary(column_texts(texts, column, reading), most=most, stop=[COMMON, *stop_words(stop)])


def column_texts(path: Path, column: str, reading: Reading = AS_THE_HEADER_SAYS) -> list[str]:
    """Return the texts of a public table's column; a missing one is empty."""
    check_present((column,), read_schema(path, reading).names, path.name)
    parts = (as_text(table[column]).to_pylist() for table in read_tables(path, (column,), _PIECE, reading=reading))
    return [text or "" for part in parts for text in part]


def stop_words(path: Path | None) -> list[str]:
    """Return the words of a file that are left out; none without one."""
    return _lines(path) if path else []


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"words must be a text file, one word per line, got {str(path)!r}: {type(error).__name__}.") from None
