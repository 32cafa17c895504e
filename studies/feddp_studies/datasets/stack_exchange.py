"""The paper's Stack Overflow data: a client is a user, a point the sentence embedding of a question's title.

Two topics are chosen. A question is on topic by its first tag; clients keep their questions on topic, and users without one are no clients.
The server holds some questions of each topic and many that have none of the two among their tags. The paper does not say whether the
server's questions on topic are also client points; here they are taken away from the clients, and a user without any left is no client.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._typing import Array, BoolArray, FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import FederatedData
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.formats import named_errors
from feddp_studies.datasets.example_proto import text_features
from feddp_studies.datasets.split_rows import draw_rows, split_by_owner

PAIRS = {"stackoverflow": ("c#", "java"), "travel": ("visas", "air-travel")}
"""Topics of the tables on disk that are common enough in them; the paper's own pairs are too rare there."""

PAPER_PAIRS = (("machine-learning", "math"), ("github", "pdf"), ("facebook", "hibernate"), ("plotting", "cookies"))
"""The paper's pairs, for the TensorFlow Federated database."""

Embed = Callable[[list[str]], Any]
"""Takes titles and gives an array with a row for each."""


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
    path = Path(folder) / f"stackexchange_{site}.parquet"
    pair = _checked_topics(PAIRS.get(site, ()) if topics is None else topics)
    with named_errors(path):
        by_topics = "topics" in pq.read_schema(path).names
        table = pq.read_table(path, columns=["client", "embedding", *(["topics"] if by_topics else ["first_tag", "tags"])])
        table.validate(full=True)
        vectors = _vectors(table["embedding"].combine_chunks())
    every = [set(tags or ()) for tags in table["topics" if by_topics else "tags"].to_pylist()]
    first = every if by_topics else [{tag} for tag in table["first_tag"].to_pylist()]
    on_topic = np.array([[topic in own for own in first] for topic in pair])
    off_topic = np.array([own.isdisjoint(pair) for own in every]) & ~on_topic.any(axis=0)
    rng = np.random.default_rng(seed)
    others = draw_rows(rng, np.flatnonzero(off_topic), server_off_topic, "server_off_topic")
    return _federated(vectors, table["client"].to_numpy(), on_topic, others, rng, server_per_topic, _name(site, pair))


def stack_overflow_sqlite(
    path: Path | str,
    topics: Sequence[str] = PAPER_PAIRS[0],
    *,
    embed: Embed | None = None,
    split: str | None = "train",
    seed: int = 0,
    server_per_topic: int = 10,
    server_off_topic: int = 1000,
) -> FederatedData:
    """Return the questions of TensorFlow Federated's ``stackoverflow.sqlite``, their titles embedded by ``embed``.

    The database holds one example per sentence; a question is the sentences of one user with one title and creation date. Answers are left
    out. ``split`` is train, heldout, test or, for all of them, None. Without ``embed`` the titles are embedded by sentence-transformers'
    all-MiniLM-L6-v2, if it is installed. All examples of the split are read once (train has 136 million); only titles that are
    needed are embedded.
    """
    pair = _checked_topics(topics)
    embed = _default_embed() if embed is None else embed
    rng = np.random.default_rng(seed)
    kept = _Kept(server_off_topic, rng)
    for client, question in _questions(Path(path), split):
        kept.add(client, question, pair)
    if len(kept.others) < server_off_topic:
        raise InputError(f"server_off_topic must be at most the {len(kept.others)} questions there are, got {server_off_topic}.")
    titles = [*kept.titles, *kept.others]
    vectors = np.asarray(embed(titles), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(titles):
        raise InputError(f"embed must give a row for each of {len(titles)} titles, got shape {vectors.shape}.")
    every = np.array([*kept.tags, *[""] * len(kept.others)])
    on_topic = np.array([every == topic for topic in pair])
    owners = np.array([*kept.clients, *[""] * len(kept.others)])
    others = np.arange(len(kept.titles), len(titles))
    return _federated(vectors, owners, on_topic, others, rng, server_per_topic, _name("stackoverflow", pair))


@dataclass
class _Kept:
    """Questions on topic, and a uniform sample of fixed size of those that are not."""

    size: int
    rng: np.random.Generator
    clients: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    n_others: int = 0

    def add(self, client: str, question: dict[str, str], topics: tuple[str, ...]) -> None:
        tags = question["tags"].split("|")
        if tags[0] in topics:
            self.clients.append(client)
            self.tags.append(tags[0])
            self.titles.append(question["title"])
        elif not set(tags) & set(topics):
            # Reservoir sampling: the i-th question takes a place of the sample with probability size / i.
            place = self.n_others if self.n_others < self.size else int(self.rng.integers(self.n_others + 1))
            self.n_others += 1
            if place < self.size:
                self.others[place : place + 1] = [question["title"]]


def _federated(
    vectors: Array, owners: Array, on_topic: BoolArray, others: IntArray, rng: np.random.Generator, per_topic: int, name: str
) -> FederatedData:
    left: BoolArray = np.asarray(on_topic.any(axis=0))
    picks = [others]
    for own in on_topic:
        picks.append(draw_rows(rng, np.flatnonzero(own & left), per_topic, "server_per_topic"))
        left[picks[-1]] = False
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


def _questions(path: Path, split: str | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the client and the text fields of each question once."""
    if not path.is_file():
        raise InputError(f"file must exist, got {str(path)!r}.")
    where, values = ("", ()) if split is None else (" AND split_name = ?", (split,))
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            query = f"SELECT DISTINCT client_id FROM client_metadata WHERE 1{where} ORDER BY client_id"  # noqa: S608 - no outside text
            for (client,) in database.execute(query, values).fetchall():
                query = f"SELECT serialized_example_proto FROM examples WHERE client_id = ?{where} ORDER BY rowid"  # noqa: S608 - the same
                for question in _distinct(row[0] for row in database.execute(query, (client, *values))):
                    yield str(client), question
    except (sqlite3.Error, UnicodeDecodeError):
        raise InputError(f"{path.name} must be TensorFlow Federated's SQLite database, got something else.") from None


def _distinct(messages: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """Yield one of the sentences of each question."""
    seen = set()
    for message in messages:
        if not isinstance(message, bytes):
            raise InputError(f"serialized_example_proto must hold bytes, got {type(message).__name__}.")
        if b"question" not in message:  # an answer, seen without reading its fields
            continue
        sentence = text_features(message)
        key = (sentence.get("title"), sentence.get("creation_date"))
        if sentence.get("type") == "question" and sentence.get("title") and sentence.get("tags") and key not in seen:
            seen.add(key)
            yield sentence


def _default_embed() -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            "embed must be given, or install sentence-transformers (pip install 'feddp-studies[stackoverflow]'), got neither."
        ) from None
    encode: Embed = SentenceTransformer("all-MiniLM-L6-v2").encode
    return encode


def _checked_topics(topics: Sequence[str]) -> tuple[str, ...]:
    if isinstance(topics, str) or not topics or len(set(topics)) < len(topics):
        raise InputError(f"topics must be distinct tags, at least one, got {topics!r}.")
    return tuple(topics)


def _name(site: str, topics: tuple[str, ...]) -> str:
    return f"{site} ({', '.join(topics)})"
