"""Texts of many people as points: a vector for each, and the numbers of listed words in it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.tables.client_files import open_clients, open_table, read_grouped
from feddp_kmeans.tables.embedded_columns import embedded_column
from feddp_kmeans.tables.formats import read_schema
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import ProfileSchema
from feddp_kmeans.tables.word_columns import WordColumn
from feddp_kmeans.tables.word_lists import WordList, column_texts


@dataclass(frozen=True)
class TextTables:
    """The clients' texts and the public ones. Vectors are made once, since a model may take its time."""

    vectors: InMemoryFederation
    both: InMemoryFederation
    """Vectors, then numbers of words."""
    schema: ProfileSchema
    """Of both."""
    public: FloatArray
    """Vectors of the public texts."""
    texts: list[str]

    @classmethod
    def open(
        cls,
        clients: str,
        server: Path,
        column: str,
        client_column: str | None,
        how: str,
        vectors: str | None,
        listed: WordList,
        reading: Reading = AS_THE_HEADER_SAYS,
    ) -> "TextTables":
        """Read all texts, and turn them into vectors."""
        words = listed.words(column, reading)
        if not words:
            raise InputError(f"public texts must share some words, got {str(server)!r} in which no word is in three texts.")
        texts = column_texts(server, column, reading)
        stored = None if vectors is None else _list_size(server, vectors, reading)
        vector = embedded_column(column, how, vectors, texts, listed.left_out, stored)
        schema = ProfileSchema((vector, WordColumn(column, words, listed.most)))
        if client_column is None:
            files = open_clients(clients, schema, reading=reading)
            tables = [file.read() for file in files]
        else:
            one = open_table(Path(clients), schema, ignore=(client_column,), reading=reading)
            rows, owners = read_grouped(one, client_column)
            order = np.argsort(owners, kind="stable")
            _, starts = np.unique(np.asarray(owners)[order], return_index=True)
            tables = np.split(np.asarray(rows)[order], starts[1:])
        public = open_table(server, ProfileSchema((vector,)), reading=reading).read()
        d = vector.dimension
        return cls(InMemoryFederation([table[:, :d] for table in tables]), InMemoryFederation(tables), schema, public, texts)


def _list_size(path: Path, column: str, reading: Reading) -> int | None:
    """Return how many numbers the lists of a column hold, as its type says; None if it has none."""
    schema = read_schema(path, reading)
    if column not in schema.names:
        raise InputError(f"--vectors must name a column of the tables, got {column!r:.80}.")
    size: int | None = getattr(schema.field(column).type, "list_size", None)
    return size
