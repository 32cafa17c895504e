"""The short form of a schema: written by a person in TOML, JSON or as options, and written again."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.short_schema import column_of_range, columns_of_options

TOML = """
[columns.age]
range = [0, 120]

[columns.income]
range = [0, 1e6]
scale = "log"
unit = 500
missing = "own"

[columns.rent]
knots = [0, 400, 700, 1200, 9000]

[columns.sex]
categories = ["female", "male"]
missing = "own"
weight = 2

[columns.joined]
date = ["2015-01-01", 2026-12-31]
parts = ["trend", "season", "weekday"]

[columns."seen at"]
date = true
order = "dmy"

[columns.newsletter]
boolean = true

[columns.abo]
boolean = ["ja", "nein"]

[columns.visits]
number = true

[columns.id]
ignore = true

[columns.note]
ignore = "free text"
"""
EXPECTED = Schema(
    (
        NumberColumn("age", 0, 120),
        NumberColumn("income", 0, 1e6, missing="indicator", scale="log", unit=500),
        NumberColumn("rent", scale="quantile", knots=(0, 400, 700, 1200, 9000)),
        CategoryColumn("sex", ("female", "male"), 2, "own"),
        DateColumn("joined", "2015-01-01", "2026-12-31", ("trend", "season", "weekday")),
        DateColumn("seen at", order="dmy"),
        BooleanColumn("newsletter"),
        BooleanColumn("abo", ("ja",), ("nein",)),
        OpenColumn("visits"),
    ),
    (("id", "asked for"), ("note", "free text")),
)


def test_a_schema_can_be_written_by_hand_and_comes_back(tmp_path):
    (tmp_path / "schema.toml").write_text(TOML)
    assert Schema.read(str(tmp_path / "schema.toml")) == EXPECTED
    EXPECTED.write(tmp_path / "again.toml")
    assert Schema.read(tmp_path / "again.toml") == EXPECTED
    assert "[columns.age]\nrange = [0, 120]\n" in (tmp_path / "again.toml").read_text()
    EXPECTED.write(tmp_path / "long.json")
    assert Schema.read(tmp_path / "long.json") == EXPECTED
    (tmp_path / "short.json").write_text(json.dumps({"columns": {"age": {"range": [0, 120]}, "id": {"ignore": True}}}))
    assert Schema.read(tmp_path / "short.json") == Schema((NumberColumn("age", 0, 120),), (("id", "asked for"),))


@pytest.mark.parametrize("ends", [["2015-01-01", "2026-12-31"], (date(2015, 1, 1), date(2026, 12, 31))])
def test_a_range_of_two_dates_is_a_date(ends):
    made = Schema.from_dict({"columns": {"joined": {"range": ends, "parts": ["trend", "weekday"], "missing": "own"}}})
    assert made == Schema.from_dict({"columns": {"joined": {"date": ends, "parts": ["trend", "weekday"], "missing": "own"}}})
    with pytest.raises(FedDPError, match=r"column 'joined' must have, besides date, the keys .*, got 'scale'"):
        Schema.from_dict({"columns": {"joined": {"range": ends, "scale": "log"}}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.age]\nrnge = [0, 1]", "column 'age' must have one of the keys range, .*, got rnge: did you mean range?"),
        (
            "[columns.age]\nrange = [0, 1]\nscael = 'log'",
            "column 'age' must have, besides range, the keys .*, got 'scael': did you mean scale?",
        ),
        ("[columns.age]\nrange = [0, 1]\ndate = true", "column 'age' must have one of the keys"),
        ("[columns.age]", "column 'age' must have one of the keys .*, got none"),
        ("[columns.age]\nrange = 3", "range of column 'age' must be two numbers, got 3"),
        ("[columns.age]\nrange = [5, 1]", "low of column 'age' must be below high"),
        ("[columns.age]\nrange = ['a', 'b']", "low of column 'age' must be a number, got 'a'"),
        ("[columns.age]\nnumber = 3", "number of column 'age' must be true, got 3"),
        ("[columns.age]\nnumber = false", "number of column 'age' must be true, got False"),
        ("[columns.age]\nnumber = [1, 2]", "number of column 'age' must be true"),
        ("[columns.age]\nboolean = 'ja'", "boolean of column 'age' must be true, or the words for yes and for no"),
        ("[columns.age]\nignore = false", "ignore of column 'age' must be true, or the reason"),
        ("[columns.age]\ndate = ['today', 'tomorrow']", "dates of column 'age' must be two such as 2015-01-01"),
        ("[columns.age]\nignore = true", "columns of a schema must be at least one that is not ignored"),
        ("[age]\nrange = [0, 1]", r"schema must have a table of rules per column, such as \[columns.age\], got \['age'\]"),
        ("columns = 3", "schema must have the keys"),
        ("[columns]\nage = 3", r"column 'age' of a schema must have rules, such as range = \[0, 120\], got 3"),
        ("[columns.age]\nrange = [0, 1]\n[more]", "schema must have the keys"),
        ("[columns.age", "TOML must be readable"),
        ("a = " + 9999 * "[", "TOML must be readable"),
        ("\ud800", "TOML must be readable"),
    ],
)
def test_a_mistake_is_named_in_one_line_with_a_near_miss(tmp_path, text, message):
    (tmp_path / "schema.toml").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(FedDPError, match=rf"^schema\.toml: {message}") as error:
        Schema.read(tmp_path / "schema.toml")
    assert len(str(error.value).splitlines()) == 1


def test_options_state_columns():
    assert columns_of_options(
        ["age=0:120", "income=0:1e6:log", "joined=2015-01-01:2026-12-31", "a=b=-1:1"], ["sex=female, male", "x=a=b,c"]
    ) == (
        NumberColumn("age", 0, 120),
        NumberColumn("income", 0, 1e6, scale="log"),
        DateColumn("joined", "2015-01-01", "2026-12-31"),
        NumberColumn("a=b", -1, 1),
        CategoryColumn("sex", ("female", "male")),
        CategoryColumn("x", ("a=b", "c")),
    )
    assert column_of_range("when", (date(2020, 1, 1), date(2021, 1, 1))) == DateColumn("when", "2020-01-01", "2021-01-01")
    for ranges, words, message in (
        (["age"], [], "--range must be NAME=LOW:HIGH, such as age=0:120"),
        (["age=0"], [], "--range must be NAME=LOW:HIGH"),
        (["age=a:b"], [], "low of column 'age' must be a number, got 'a'"),
        (["age=0:1:cubic"], [], "scale of column 'age' must be one of"),
        ([], ["sex"], "--categories must be NAME=WORD,WORD"),
        ([], ["sex=a,a"], "categories of column 'sex' must be 1 to 1000 distinct"),
    ):
        with pytest.raises(FedDPError, match=message):
            columns_of_options(ranges, words)
    with pytest.raises(FedDPError, match="range of column 'age' must be two numbers or two dates"):
        column_of_range("age", 3)


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["range", "knots", "number", "categories", "boolean", "date", "ignore", "scale", "unit", "parts", "order", "weight", "missing"]


@given(st.dictionaries(st.text(max_size=5), st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=3) | JUNK, max_size=3))
def test_junk_never_gives_anything_but_our_error(columns):
    try:
        schema = Schema.from_dict({"columns": columns})
    except FedDPError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_every_schema_in_the_docs_is_read(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    found = [
        text for page in sorted(docs.glob("*.md")) for text in re.findall(r"```toml[^\n]*\n(\[columns.*?)```", page.read_text(), re.DOTALL)
    ]
    assert found
    for text in found:
        (tmp_path / "schema.toml").write_text(text)
        schema = Schema.read(tmp_path / "schema.toml")
        schema.write(tmp_path / "again.toml")
        assert Schema.read(tmp_path / "again.toml") == schema
