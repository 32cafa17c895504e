"""Text as a vector: by TF-IDF and SVD learnt from public texts, by a model or a function of the user's, or as vectors that are stored."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.cells import as_text, is_missing
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.word_columns import tokens

TFIDF, MODEL = "tfidf", "sentence-transformers/"
DIMENSION = 64
"""Of vectors by TF-IDF and SVD."""
_AT_ONCE = 1024
"""Texts that a user's function is given at a time."""
_LEAST = 2
"""Public texts that a word must be in to count."""

Embed = Callable[[list[str]], Any]
"""Returns a row of numbers for each text. A row may depend on its own text only."""


def embedding(how: str, public: Sequence[str], stop: Sequence[str] = ()) -> Embed:
    """Return the function that turns texts into vectors: "tfidf", a sentence-transformers model, or a function as "module:function"."""
    if how == TFIDF:
        return tfidf(public, stop)
    if how.startswith(MODEL):
        return _sentence_transformer(how.removeprefix(MODEL))
    module, _, name = how.partition(":")
    try:
        found = getattr(importlib.import_module(module), name) if name else None
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"--embed must be tfidf or the name of a function, MODULE:FUNCTION, got {how!r:.80}: {error}.") from None
    if not callable(found):
        raise InputError(f"--embed must be tfidf or the name of a function, MODULE:FUNCTION, got {how!r:.80}.")
    return found  # type: ignore[no-any-return]


def _sentence_transformer(name: str) -> Embed:
    """Return the model of this name, from the package sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(f"--embed {MODEL}... must be given with its package installed: pip install 'feddp-kmeans[topics]'.") from None
    return SentenceTransformer(name).encode  # type: ignore[no-any-return]


def tfidf(public: Sequence[str], stop: Sequence[str] = ()) -> Embed:
    """Return TF-IDF and SVD, learnt from public texts only."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    left_out = {word for line in stop for word in tokens(line)}
    cut = TfidfVectorizer(analyzer=lambda text: [word for word in tokens(text) if word not in left_out], min_df=_LEAST, sublinear_tf=True)
    try:
        n_words = cut.fit_transform(public).shape[1]
    except ValueError:
        n_words = 0
    if n_words < _LEAST:
        raise InputError(f"public texts must share {_LEAST} words or more, each in {_LEAST} texts, got {len(public)} texts with {n_words}.")
    svd = TruncatedSVD(min(DIMENSION, n_words - 1, len(public) - 1), random_state=0)
    made = make_pipeline(cut, svd).fit(public)
    return made.transform  # type: ignore[no-any-return]


@dataclass(frozen=True)
class EmbeddedColumn(Column):
    """A column of texts that a function turns into vectors, or of vectors. Each becomes as long as one; a missing one is left out."""

    name: str
    dimension: int
    embed: Embed | None = None
    weight: float = 1.0
    missing: str = "middle"
    kind: ClassVar[str] = "vector"
    rule: ClassVar[str] = "hold texts or vectors"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return tuple(f"{self.name} {place}" for place in range(self.dimension))

    @property
    def energy(self) -> float:
        """Return the largest squared norm of the coordinates."""
        return 1.0

    @property
    def public(self) -> str:
        """Return what is public of the vectors."""
        return f"{self.dimension} numbers, of length 1"

    def reads(self, kind: pa.DataType) -> bool:
        """Return whether a column of this Arrow type can be encoded."""
        if self.embed is not None:
            return super().reads(kind)
        return any(is_one(kind) for is_one in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))

    def encode(self, column: Any, decimal: str) -> FloatArray:  # noqa: ARG002
        """Return the vectors, each divided by its length; NaN where there is none."""
        found = self._stored(column) if self.embed is None else self._embedded(as_text(column), self.embed)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        vectors: FloatArray = found / np.where(lengths > 0, lengths, 1.0)
        return vectors

    def strange(self, column: Any, decimal: str) -> tuple[int, int]:  # noqa: ARG002
        """Return that no cell is strange."""
        return 0, len(column)

    def _stored(self, column: Any) -> FloatArray:
        rows = column.to_pylist()
        made = np.full((len(rows), self.dimension), np.nan)
        for place, row in enumerate(rows):
            if row is not None and len(row) == self.dimension:
                made[place] = [np.nan if x is None else x for x in row]
        return made

    def _embedded(self, texts: Any, embed: Embed) -> FloatArray:
        made = np.full((len(texts), self.dimension), np.nan)
        there = np.flatnonzero(~is_missing(texts).to_numpy(zero_copy_only=False))
        said = texts.to_pylist()
        for start in range(0, len(there), _AT_ONCE):
            rows = there[start : start + _AT_ONCE]
            made[rows] = checked(embed([said[row] for row in rows]), len(rows), self.dimension)
        return made


def checked(vectors: Any, rows: int, dimension: int | None = None) -> FloatArray:
    """Return what a function made of texts as an array; refuse one of another shape."""
    try:
        found = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or len(found) != rows or found.shape[1] != (dimension or found.shape[1]) or not found.shape[1]:
        wanted = f"{rows} rows of {'numbers' if dimension is None else f'{dimension} numbers'}"
        raise InputError(f"the function of --embed must return {wanted} for {rows} texts, got an array of shape {found.shape}.")
    return found


def embedded_column(
    name: str, how: str, vectors: str | None, public: Sequence[str], stop: Sequence[str], stored: int | None
) -> EmbeddedColumn:
    """Return the column whose vectors are clustered: ``stored`` numbers of the column ``vectors``, or those made of the texts."""
    if vectors is not None:
        if not stored:
            raise InputError(f"--vectors must name a column of lists of numbers, got {vectors!r:.80}.")
        return EmbeddedColumn(vectors, stored)
    embed = embedding(how, public, stop)
    return EmbeddedColumn(name, checked(embed(list(public[:1])), 1).shape[1], embed)
