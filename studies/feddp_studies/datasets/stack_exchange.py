"""The paper's Stack Overflow data: a client is a user, a point the sentence embedding of a question's title.

Two topics are chosen. A question is on topic by its first tag; clients keep their questions on topic, and users without one are no clients.
The server holds some questions of each topic and many that have none of the two among their tags. The paper does not say whether the
server's questions on topic are also client points; here they are taken away from the clients, and a user without any left is no client.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._typing import Array, BoolArray, FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import FederatedData
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.formats import named_errors
from feddp_studies.datasets.split_rows import draw_rows, split_by_owner

PAIRS = {"stackoverflow": ("c#", "java"), "travel": ("visas", "air-travel")}
"""Topics of the tables on disk that are common enough in them; the paper's own pairs are too rare there."""


def stack_exchange(
    folder: Path | str,
    site: str = "stackoverflow",
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    server_per_topic: int = 10,
    server_off_topic: int = 1000,
) -> FederatedData:
    """Return the questions of ``stackexchange_SITE.parquet`` in this folder, with the embeddings that the table holds.

    Columns: client, embedding, and either first_tag and tags, or topics. A question with several topics is on topic if any is chosen; it
    is drawn for the server once at most.
    """
    path = table_path(folder, site)
    pair = checked_topics(PAIRS.get(site, ()) if topics is None else topics)
    with named_errors(path):
        by_topics = "topics" in pq.read_schema(path).names
        table = pq.read_table(path, columns=["client", "embedding", *(["topics"] if by_topics else ["first_tag", "tags"])])
        table.validate(full=True)
        vectors = _vectors(table["embedding"].combine_chunks())
    return federated(table, vectors, site, pair, seed, server_per_topic, server_off_topic)


def table_path(folder: Path | str, site: str) -> Path:
    """Return the path of the table of a site."""
    return Path(folder) / f"stackexchange_{site}.parquet"


def federated(
    table: pa.Table, vectors: Array, site: str, pair: tuple[str, ...], seed: int, per_topic: int, n_off_topic: int
) -> FederatedData:
    """Return the rows on topic as clients, and the server's rows, which are drawn with this seed."""
    by_topics = "topics" in table.column_names
    owners = table["client"].to_numpy()
    every = [set(tags or ()) for tags in table["topics" if by_topics else "tags"].to_pylist()]
    first = every if by_topics else [{tag} for tag in table["first_tag"].to_pylist()]
    on_topic = np.array([[topic in own for own in first] for topic in pair])
    left: BoolArray = np.asarray(on_topic.any(axis=0))
    off_topic = np.array([own.isdisjoint(pair) for own in every], dtype=bool) & ~left
    rng = np.random.default_rng(seed)
    picks = [draw_rows(rng, np.flatnonzero(off_topic), n_off_topic, "server_off_topic")]
    for own in on_topic:
        picks.append(draw_rows(rng, np.flatnonzero(own & left), per_topic, "server_per_topic"))
        left[picks[-1]] = False
    name = f"{site} ({', '.join(pair)})"
    if not left.any():
        raise InputError(f"topics must have more questions than the server takes, got none left of {name}.")
    server: FloatArray = vectors[np.concatenate(picks)].astype(np.float64)
    clients = split_by_owner(vectors[left].astype(np.float64), owners[left])
    return FederatedData(clients, server, name=name, unit=PrivacyUnit.CLIENT)


def _vectors(column: pa.Array) -> Array:
    if not pa.types.is_fixed_size_list(column.type):
        raise InputError(f"embedding must be a list of fixed size, got {column.type}.")
    vectors: Array = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return vectors


def checked_topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the topics, if they are distinct."""
    if isinstance(topics, str) or not topics or len(set(topics)) < len(topics):
        raise InputError(f"topics must be distinct tags, at least one, got {topics!r}.")
    return tuple(topics)
