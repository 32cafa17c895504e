"""Texts as vectors, made by TF-IDF of public texts, by a user's function, or stored."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.embedded_columns import EmbeddedColumn, embedded_column, embedding

PUBLIC = ["cheap flight to rome", "cheap flight to paris", "visa for india", "visa for rome", "train to paris", "train in india"]


def by_length(texts):
    """Return the number of letters and of blanks of each text: a user's function."""
    return [[len(text), text.count(" ")] for text in texts]


def encoded(column, cells):
    return column.encode(pa.chunked_array([cells]), ".")


def test_tfidf_is_learnt_from_public_texts_and_puts_like_texts_together():
    column = embedded_column("title", "tfidf", None, PUBLIC, ["for to"], None)
    found = encoded(column, ["A cheap flight", "my cheap flight!", "which visa?", None, "unknown words only"])
    assert found.shape == (5, column.dimension)
    assert found[0] @ found[1] > 0.99
    assert abs(found[0] @ found[2]) < 0.5
    assert np.isnan(found[3]).all()
    assert (found[4] == 0).all()
    assert np.linalg.norm(found[:3], axis=1) == pytest.approx(np.ones(3))
    alone = encoded(column, ["which visa?"])
    assert (alone[0] == found[2]).all()  # a row depends on its own text only


def test_a_users_function_is_called_in_parts_and_its_rows_become_as_long_as_one():
    column = embedded_column("title", f"{__name__}:by_length", None, PUBLIC, [], None)
    assert column.dimension == 2
    found = encoded(column, ["ab cd"] * 3000)
    assert (found == found[0]).all()
    assert found[0] == pytest.approx(np.array([5, 1]) / np.hypot(5, 1))


def test_stored_vectors_are_read_and_wrong_ones_left_out():
    column = embedded_column("title", "tfidf", "stored", PUBLIC, [], 2)
    cells = pa.array([[3.0, 4.0], None, [1.0, None], [1.0]], pa.list_(pa.float32()))
    assert column.reads(cells.type)
    assert not column.reads(pa.string())
    found = column.encode(pa.chunked_array([cells]), ".")
    assert found[0] == pytest.approx([0.6, 0.8])
    assert np.isnan(found[1:]).any(axis=1).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: embedding("nothing", PUBLIC), "--embed must be tfidf or the name of a function"),
        (lambda: embedding("no_such_module_at_all:f", PUBLIC), "No module named"),
        (lambda: embedding("json:__name__", PUBLIC), "--embed must be tfidf or the name of a function"),
        (lambda: embedding("tfidf", ["one", "two"]), "public texts must share 2 words or more"),
        (lambda: embedded_column("t", "tfidf", "stored", PUBLIC, [], None), "--vectors must name a column of lists of numbers"),
        (lambda: encoded(EmbeddedColumn("t", 3, by_length), ["a"]), "must return 1 rows of 3 numbers for 1 texts"),
        (lambda: encoded(EmbeddedColumn("t", 2, lambda _: "no"), ["a"]), "got an array of shape"),
    ],
)
def test_what_is_no_embedding_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_sentence_transformer_is_loaded_by_its_name(monkeypatch, tmp_path):
    (tmp_path / "sentence_transformers.py").write_text(  # stands in for the package, whose models are not at hand
        "class SentenceTransformer:\n"
        "    def __init__(self, name):\n        self.name = name\n"
        "    def encode(self, texts):\n        return [[len(self.name), len(text)] for text in texts]\n"
    )
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"pip install 'feddp-kmeans\[topics\]'"):
        embedding("sentence-transformers/tiny", PUBLIC)
    monkeypatch.delitem(sys.modules, "sentence_transformers")
    monkeypatch.syspath_prepend(tmp_path)
    column = embedded_column("title", "sentence-transformers/tiny", None, PUBLIC, [], None)
    assert encoded(column, ["abc"])[0] == pytest.approx([0.8, 0.6])
    monkeypatch.delitem(sys.modules, "sentence_transformers")
