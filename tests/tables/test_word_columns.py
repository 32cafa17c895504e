"""Text as listed words."""

import pyarrow as pa
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.word_columns import WordColumn, tokens, vocabulary


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("How do I use C# and C++?", ["how", "do", "i", "use", "c#", "and", "c++"]),
        ("Don\u2019t  panic!", ["don't", "panic"]),
        ("Stra\u00dfe \u00c9t\u00e9", ["strasse", "\u00e9t\u00e9"]),
        ("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440", ["\u043f\u0440\u0438\u0432\u0435\u0442", "\u043c\u0438\u0440"]),
        ("\u6771\u4eac\u90fd", ["\u6771\u4eac", "\u4eac\u90fd"]),
        ("_ -- ...", []),
    ],
)
def test_texts_of_any_script_are_cut_into_words(text, words):
    assert list(tokens(text)) == words


def test_the_first_listed_words_of_a_cell_are_read_once_each():
    column = WordColumn("title", ("visa", "flight", "uk"), most=2)
    cells = pa.chunked_array([["UK visa, visa for the UK flight", "nothing", None, "Flight"]])
    assert column.encode(cells, ".").tolist() == [[2, 0], [-1, -1], [-1, -1], [1, -1]]
    assert column.coordinates == ("title (word 0)", "title (word 1)")


def test_a_list_is_made_of_frequent_words_of_public_texts():
    texts = ["a visa for the uk", "UK visa", "uk 2024", "2024 2024", "2024 visa"]
    assert vocabulary(texts, most=2, least=2, stop=["a the for"]) == ("uk", "visa")


@pytest.mark.parametrize("listed", [(), ("visa", "visa"), ("Visa",), ("two words",)])
def test_a_list_of_anything_but_distinct_words_is_refused(listed):
    with pytest.raises(FedDPError, match="must be 1 to 100000 distinct words"):
        WordColumn("title", listed)
