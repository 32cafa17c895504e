"""Texts to vectors: the function that is named, its result checked."""

import sys
import types

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets import text_embedding
from feddp_studies.datasets.text_embedding import MODEL, embedded, embedded_in_parts, named_embed


def lengths(texts):
    return [[len(text), 1] for text in texts]


def test_a_function_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "my_lengths.py").write_text("def embed(texts):\n    return [[len(text)] for text in texts]\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    try:
        assert named_embed("my_lengths:embed")(["a", "bcd"]) == [[1], [3]]
    finally:
        sys.modules.pop("my_lengths", None)
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("lengths", "--embed must be written as module:function, got 'lengths'"),
        ("no_such_module:embed", "got 'no_such_module:embed' .ModuleNotFoundError"),
        ("math:embed", "got 'math:embed' .AttributeError"),
    ],
)
def test_what_is_no_function_is_refused(name, error):
    with pytest.raises(FedDPError, match=error):
        named_embed(name)


def test_sentence_transformers_is_the_default(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FedDPError, match="install sentence-transformers"):
        named_embed(MODEL)
    model = types.SimpleNamespace(encode=lengths)
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer={MODEL: model}.get))
    assert named_embed(MODEL) is lengths


def fail(texts):
    raise MemoryError("too many")


@pytest.mark.parametrize(
    ("embed", "error"),
    [
        (lambda _: np.zeros(3), r"a finite row for each of 2 texts, got shape \(3,\)"),
        (lambda _: np.zeros((3, 1)), r"got shape \(3, 1\)"),
        (lambda _: [[1.0], [np.nan]], "infinite"),
        (lambda _: ["a", "b"], "a row of numbers for each text, got ValueError"),
        (lambda _: None, "got "),
        (fail, "got MemoryError: too many"),
        (7, "got TypeError"),
    ],
)
def test_what_is_no_row_for_each_text_is_refused(embed, error):
    with pytest.raises(FedDPError, match=error):
        embedded(["one", "two"], embed)


def test_parts_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(text_embedding, "PART", 2)
    texts, said = ["a", "bb", "ccc"], []
    assert embedded_in_parts(texts, lengths, tmp_path / "x", said.append).tolist() == [[1, 1], [2, 1], [3, 1]]
    assert said == ["x: 2 of 3 texts embedded", "x: 3 of 3 texts embedded"]
    assert embedded_in_parts(texts, fail, tmp_path / "x", said.append).dtype == np.float32
    with pytest.raises(FedDPError, match=r"embed must give rows of one length, got \[1, 2\]"):
        embedded_in_parts(texts, lambda some: np.ones((len(some), len(some))), tmp_path / "y", said.append)
