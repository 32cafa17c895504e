"""TensorFlow Federated's Stack Overflow database: read once, embedded once, and kept as tables that ``stack_exchange`` reads.

The database holds one example for each sentence of a question or an answer, with the title and the tags of the question. There are two
readings. "titles": a point is the title of a question; answers are left out. "sentences": a point is a sentence of a question or an answer;
this is what the scripts of the paper's authors take.
"""

import contextlib
import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import FederatedData
from feddp_kmeans.tables.formats import named_errors
from feddp_studies.datasets.example_proto import text_features
from feddp_studies.datasets.stack_exchange import checked_topics, federated, table_path
from feddp_studies.datasets.text_embedding import MODEL, Embed, default_embed, embedded, embedded_in_parts, named_embed

CLIENT_SIZES = {"titles": 1, "sentences": 5}
"""The readings, and the public typical number of points of a client: one post. Fixed by us; the paper has no such number."""

POOL = 10_000
"""Rows that are drawn from the whole database; the server's rows off topic are drawn from those of them that are."""

SPLIT = "train"
"""The split that the paper's numbers of clients are of."""

DATABASE, EMBED = "database.txt", "embed.txt"
"""Files that say what the tables of a folder are made from."""


@dataclass(frozen=True)
class StackOverflowSet:
    """A pair of topics of the paper, read in one of two ways."""

    topics: tuple[str, str]
    reading: str
    paper_clients: int
    paper: str
    """Where the figure is in the paper."""


_PAIRS = (
    ("machine-learning", "math", 10_394, "figure in the appendix"),
    ("github", "pdf", 9_237, "Figure 2, right"),
    ("facebook", "hibernate", 23_266, "figure in the appendix"),
    ("plot", "cookies", 2_720, "figure in the appendix"),  # the paper says plotting, its authors' scripts take plot
)
SETS = {
    f"so-{first}-{second}{'' if reading == 'titles' else '-sentences'}": StackOverflowSet((first, second), reading, clients, paper)
    for first, second, clients, paper in _PAIRS
    for reading in CLIENT_SIZES
}
"""The paper's pairs by name."""


def stack_overflow_sqlite(
    path: Path | str,
    topics: Sequence[str],
    *,
    reading: str = "titles",
    embed: Embed | None = None,
    split: str | None = SPLIT,
    seed: int = 0,
    server_per_topic: int = 10,
    server_off_topic: int = 1000,
) -> FederatedData:
    """Return the points of ``stackoverflow.sqlite`` on these topics, embedded by ``embed`` or by sentence-transformers.

    ``split`` is train, heldout, test or, for all of them, None. All its examples are read (train has 136 million); only those that are
    needed are embedded.
    """
    pair = checked_topics(topics)
    if reading not in CLIENT_SIZES:
        raise InputError(f"reading must be one of {list(CLIENT_SIZES)}, got {reading!r}.")
    embed = embed or default_embed()
    rows = _of_pair(read_database(Path(path), pair, split)[reading], pair)
    return federated(rows, embedded(rows["text"].to_pylist(), embed), "stackoverflow", pair, seed, server_per_topic, server_off_topic)


def make_tables(database: Path, folder: Path, names: Sequence[str], embed: str = MODEL, say: Callable[[str], None] = print) -> Path:
    """Return the folder, with the table of each of these sets in it. What is there is not read or embedded again.

    A folder is for one database and one ``embed``: runs with others are not comparable.
    """
    if not database.is_file():
        raise InputError(f"--stackoverflow must name a file, got {str(database)!r}.")
    folder.mkdir(parents=True, exist_ok=True)
    _check_made_from(folder / DATABASE, _digest(database))
    _check_made_from(folder / EMBED, embed)
    for name in names:
        chosen, path = SETS[name], table_path(folder, name)
        if not path.exists():
            function = named_embed(embed)
            parts = folder / f"{name}.{hashlib.sha256(embed.encode()).hexdigest()[:12]}"
            rows = _of_pair(_read_once(database, folder, chosen.reading, say), chosen.topics)
            vectors = embedded_in_parts(rows["text"].to_pylist(), function, parts, say)
            write_whole(folder / EMBED, embed.encode())
            _write(path, rows.append_column("embedding", pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])))
            shutil.rmtree(parts)
        with named_errors(path):
            table = pq.read_table(path, columns=["client", "first_tag"])
        clients = {client for client, tag in zip(*(column.to_pylist() for column in table.columns), strict=True) if tag in chosen.topics}
        say(f"{name}: {len(clients):,} clients in the database, {chosen.paper_clients:,} in the paper")
    return folder


def read_database(
    path: Path, topics: Sequence[str], split: str | None = SPLIT, on_client: Callable[[int, int], None] = lambda _done, _all: None
) -> dict[str, pa.Table]:
    """Return for each reading the rows on any of these topics, and others that are drawn from all rows: marked so, the same every time.

    Columns: client, first_tag, tags, text, drawn. ``on_client`` gets how many clients are read, and how many there are.
    """
    titles, sentences = (_Rows(frozenset(topics)) for _ in CLIENT_SIZES)
    marks = [b"question", *(topic.encode() for topic in topics)]
    for client, messages in _clients(path, split, on_client):
        questions = set()
        for message in messages:
            place = sentences.place()
            # Most examples are answers on other topics, which is seen without reading their fields.
            if place is None and not any(mark in message for mark in marks):
                continue
            example = text_features(message)
            tags, question = example.get("tags", ""), (example.get("title"), example.get("creation_date"))
            sentences.add((client, tags, example.get("tokens", "")), place)
            if example.get("type") == "question" and question[0] and tags and question not in questions:
                questions.add(question)
                titles.add((client, tags, question[0]), titles.place())
    return {"titles": titles.table(), "sentences": sentences.table()}


@dataclass
class _Rows:
    """Rows on topic, and a uniform sample of fixed size of all rows."""

    topics: frozenset[str]
    kept: list[tuple[str, str, str]] = field(default_factory=list)
    drawn: list[tuple[str, str, str]] = field(default_factory=list)
    seen: int = 0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def place(self) -> int | None:
        """Return the place of the next row in the sample: the i-th row has one with probability POOL / i (reservoir sampling)."""
        place = self.seen if self.seen < POOL else int(self.rng.random() * (self.seen + 1))
        self.seen += 1
        return place if place < POOL else None

    def add(self, row: tuple[str, str, str], place: int | None) -> None:
        if row[1].split("|", 1)[0] in self.topics:
            self.kept.append(row)
        if place is not None:
            self.drawn[place : place + 1] = [row]

    def table(self) -> pa.Table:
        rows = [*self.kept, *self.drawn]
        tags = [row[1].split("|") for row in rows]
        return pa.table(
            {
                "client": pa.array([row[0] for row in rows], pa.string()),
                "first_tag": pa.array([own[0] for own in tags], pa.string()),
                "tags": pa.array(tags, pa.list_(pa.string())),
                "text": pa.array([row[2] for row in rows], pa.large_string()),
                "drawn": pa.array([i >= len(self.kept) for i in range(len(rows))], pa.bool_()),
            }
        )


def _of_pair(rows: pa.Table, pair: Sequence[str]) -> pa.Table:
    """Return the rows on one of these topics, and those drawn that mention none."""
    columns = (rows[name].to_pylist() for name in ("drawn", "first_tag", "tags"))
    keep = [set(tags).isdisjoint(pair) if drawn else first in pair for drawn, first, tags in zip(*columns, strict=True)]
    chosen = rows.filter(pa.array(keep, pa.bool_()))
    if not chosen.num_rows or all(chosen["drawn"].to_pylist()):
        raise InputError(f"topics must be the first tag of some row of the database, got {tuple(pair)}.")
    return chosen


def _clients(path: Path, split: str | None, on_client: Callable[[int, int], None]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield each client with its serialized examples."""
    if not path.is_file():
        raise InputError(f"file must exist, got {str(path)!r}.")
    where, values = ("", ()) if split is None else (" AND split_name = ?", (split,))
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            query = f"SELECT DISTINCT client_id FROM client_metadata WHERE 1{where} ORDER BY client_id"  # noqa: S608 - no outside text
            clients = database.execute(query, values).fetchall()
            query = f"SELECT serialized_example_proto FROM examples WHERE client_id = ?{where} ORDER BY rowid"  # noqa: S608 - the same
            for done, (client,) in enumerate(clients, 1):
                yield str(client), _messages(database.execute(query, (client, *values)))
                on_client(done, len(clients))
    except (sqlite3.Error, UnicodeDecodeError):
        raise InputError(f"{path.name} must be TensorFlow Federated's SQLite database, got something else.") from None


def _messages(rows: sqlite3.Cursor) -> Iterator[bytes]:
    for (message,) in rows:
        if not isinstance(message, bytes):
            raise InputError(f"serialized_example_proto must hold bytes, got {type(message).__name__}.")
        yield message


def _read_once(database: Path, folder: Path, reading: str, say: Callable[[str], None]) -> pa.Table:
    """Return the rows of a reading. The database is read for all sets at once, and what is read is kept in this folder."""
    paths = {reading: folder / f"{reading}.parquet" for reading in CLIENT_SIZES}
    if not all(path.exists() for path in paths.values()):

        def on_client(done: int, total: int) -> None:
            if done == total or done % 10_000 == 0:
                say(f"{database.name}: {done:,} of {total:,} clients read")

        topics = sorted({topic for chosen in SETS.values() for topic in chosen.topics})
        tables = read_database(database, topics, on_client=on_client)
        write_whole(folder / DATABASE, _digest(database).encode())
        for name, rows in tables.items():
            _write(paths[name], rows)
    with named_errors(paths[reading]):
        return pq.read_table(paths[reading])


def _write(path: Path, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    write_whole(path, sink.getvalue().to_pybytes())


def _digest(database: Path) -> str:
    """Return a digest of the size, the first and the last megabyte."""
    size = database.stat().st_size
    with database.open("rb") as file:
        parts = [file.read(1 << 20)]
        file.seek(max(0, size - (1 << 20)))
        parts.append(file.read())
    return hashlib.sha256(b"".join([str(size).encode(), *parts])).hexdigest()


def _check_made_from(path: Path, source: str) -> None:
    if path.exists() and path.read_text() != source:
        raise InputError(f"--out must be another folder: {path.parent} was made from another database or with another --embed.")
