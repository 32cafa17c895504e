"""Public lists of words: of a file, of a public table, of a language."""

import sys

import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.word_columns import WordColumn
from feddp_kmeans.tables.word_lists import WordList, column_texts


def test_a_list_comes_from_a_file_or_from_a_public_table(tmp_path):
    (tmp_path / "words.txt").write_text("visa\n\n flight \nvisa\n")
    (tmp_path / "public.csv").write_text("title\n" + "the visa of mine\n" * 3 + "a flight\n" * 4 + "once\n")
    (tmp_path / "stop.txt").write_text("mine\n")
    assert WordList(tmp_path / "words.txt").words("title") == ("visa", "flight")
    assert WordList(texts=tmp_path / "public.csv", stop=tmp_path / "stop.txt").words("title") == ("flight", "visa")
    assert WordList(texts=tmp_path / "public.csv", longest=1).words("title") == ("flight",)
    for given in ({}, {"file": tmp_path / "words.txt", "texts": tmp_path / "public.csv"}, {"texts": tmp_path / "x", "language": "en"}):
        with pytest.raises(FedDPError, match="words must be given by --list"):
            WordList(**given).words("title")
    with pytest.raises(FedDPError, match="words must be a text file"):
        WordList(tmp_path / "none.txt").words("title")


@pytest.mark.parametrize(("language", "there"), [("en", "ticket"), ("de", "strasse"), ("el", "σπίτι"), ("ja", "時間")])
def test_a_language_lists_its_common_words_as_texts_are_cut_into_them(language, there, tmp_path):
    (tmp_path / "stop.txt").write_text("weather\n")
    words = WordList(language=language, longest=3000, stop=tmp_path / "stop.txt").words("note")
    assert len(words) == 3000 == len({*words})
    assert there in words
    assert not {"the", "und", "weather"} & {*words}
    assert WordColumn("note", words, 3).listed == words  # all are words of our kind


def test_an_unknown_language_or_a_missing_package_is_refused_with_advice(monkeypatch):
    with pytest.raises(FedDPError, match=r"--language must be one of ar, bg, .*, got 'klingon'"):
        WordList(language="klingon").words("note")
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(FedDPError, match=r"pip install 'feddp-kmeans\[words\]'"):
        WordList(language="en").words("note")


def test_missing_texts_are_empty_and_a_missing_column_is_refused(tmp_path):
    (tmp_path / "public.csv").write_text("title,n\nvisa,1\n,2\n")
    assert column_texts(tmp_path / "public.csv", "title") == ["visa", ""]
    with pytest.raises(FedDPError, match="titel"):
        column_texts(tmp_path / "public.csv", "titel")
