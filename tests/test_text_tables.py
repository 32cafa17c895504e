"""Texts of many people as points."""

import numpy as np
import pytest

from feddp_kmeans.errors import InputError
from feddp_kmeans.tables.word_lists import WordList
from feddp_kmeans.text_tables import TextTables


def opened(folder, clients, client_column):
    public = folder / "public.csv"
    listed = WordList(texts=public, longest=10, most=3)
    return TextTables.open(str(folder / clients), public, "title", client_column, "tfidf", None, listed)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "a.csv").write_text("title\nvisa visa rome\n\nflight\n")
    (tmp_path / "people" / "b.csv").write_text("title\nrome\n")
    (tmp_path / "all.csv").write_text("who,title\n1,visa visa rome\n2,rome\n1,flight\n")
    (tmp_path / "public.csv").write_text("title\n" + "visa rome\nflight rome\nvisa flight\n" * 3)
    return tmp_path


def test_files_and_one_table_give_the_same_points(folder):
    files, table = opened(folder, "people", None), opened(folder, "all.csv", "who")
    assert files.both.n_clients == table.both.n_clients == 2
    assert files.vectors.dimension == len(files.schema.clustered) == files.both.dimension - 3
    assert files.schema.fields[1] == table.schema.fields[1]
    assert set(files.schema.fields[1].listed) == {"visa", "rome", "flight"}
    assert files.public.shape == (9, files.vectors.dimension)
    assert (files.public == table.public).all()
    assert np.isfinite(files.public).all()


def test_public_texts_without_common_words_are_refused(folder):
    (folder / "public.csv").write_text("title\nvisa\nrome\n")
    with pytest.raises(InputError, match="public texts must share some words"):
        opened(folder, "people", None)
