"""Schemas: mixed tables become numbers by public rules alone, and centers are told back in the user's words."""

import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.client_files import open_table
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.learn_schema import learn_schema, proposals
from feddp_kmeans.tables.propose import N_KNOTS
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.stated_columns import StatedColumns

HALF = math.sqrt(0.5)
AGE = NumberColumn("age", 0, 100)
CITY = CategoryColumn("city", ("Lyon", "Paris"), missing="own")
SCHEMA = Schema((AGE, CITY, NumberColumn("income", -10, 10, weight=2, missing="indicator")), (("id", "asked for"),))
TABLE = pa.table({"income": [10.0, None, 99], "city": ["Paris", None, "Rome"], "age": [25, -3, None]})


def one_line(error):
    assert str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_encoding_by_hand():
    assert SCHEMA.columns == ("age", "city=Lyon", "city=Paris", "city=(missing)", "income", "income=(missing)")
    expected = [[0.25, 0, HALF, 0, 2, 0], [0, 0, 0, HALF, 1, 2 * HALF], [0.5, 0, 0, 0, 2, 0]]
    assert SCHEMA.encode(TABLE) == pytest.approx(np.array(expected))
    assert pytest.approx(math.sqrt(1 + 0.5 + 4)) == SCHEMA.radius


def test_two_categories_are_as_far_apart_as_the_ends_of_a_range():
    ends = SCHEMA.encode(pa.table({"age": [0, 100, 0], "city": ["Lyon", "Lyon", "Paris"], "income": [0, 0, 0]}))
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(1)
    assert np.linalg.norm(ends[0] - ends[2]) == pytest.approx(1)


def test_every_kind_of_table_encodes_alike(tmp_path):
    rows = {"age": [25.0, 50.0], "city": ["Paris", "Lyon"], "income": [1, 2], "more": ["x", "y"]}
    table = pa.table(rows)
    expected = SCHEMA.encode(table)
    tables = [pd.DataFrame(rows), table.select(["more", "income", "city", "age"]), table.to_batches()[0]]
    tables.append(table.set_column(1, "city", table["city"].dictionary_encode()))
    tables.append(pa.table({name: [str(x) for x in column] for name, column in rows.items()}))
    for way in tables:
        assert np.array_equal(SCHEMA.encode(way), expected)
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("income;more;city;age\n1;x; Paris ;25,0\n2;y;Lyon;5e1\n")
    (tmp_path / "b.csv").write_text('\ufeffage|"city"|income\n+25|"Paris"|1\n50|Lyon|2\n', encoding="utf-8")
    (tmp_path / "c.csv").write_text("age\tcity\tincome\n25\tParis\t1\n50\tLyon\t2\n", encoding="utf-16")
    for name in ("a.parquet", "a.csv", "b.csv", "c.csv"):
        assert np.array_equal(open_table(tmp_path / name, SCHEMA).read(), expected), name


def test_polars_frames_encode():
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(TABLE)
    assert np.array_equal(SCHEMA.encode(frame), SCHEMA.encode(TABLE))
    assert learn_schema(frame) == learn_schema(TABLE)


def test_anything_with_an_arrow_stream_encodes():
    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return TABLE.__arrow_c_stream__(requested_schema)

    assert np.array_equal(SCHEMA.encode(Frame()), SCHEMA.encode(TABLE))
    with pytest.raises(FedDPError, match="table must be a data frame or an Arrow table, got int"):
        SCHEMA.encode(3)


def test_numbers_and_words_for_the_same_category_are_one():
    schema = Schema((CategoryColumn("code", ("1", "2", "True")),))
    for column in (["1", "2", "true"], ["1.0", " 2 ", "TRUE"]):
        assert schema.encode(pa.table({"code": column})).argmax(axis=1).tolist() == [0, 1, 2]
    for numbers in (pa.array([1, 2], pa.int8()), pa.array([1.0, 2.0]), pa.array([1, 2]).dictionary_encode()):
        assert schema.encode(pa.table({"code": numbers})).argmax(axis=1).tolist() == [0, 1]
    accents = Schema((CategoryColumn("city", ("Orl\u00e9ans",)),))
    assert accents.encode(pa.table({"city": ["Orle\u0301ans"]})).item() == pytest.approx(HALF)


def test_a_word_for_missing_is_a_category_where_the_schema_lists_it():
    schema = Schema((CategoryColumn("country", ("NA", "DE"), missing="own"),))
    assert (schema.encode(pa.table({"country": ["NA", "", "nan"]})) > 0).tolist() == [[True, False, False]] + 2 * [[False, False, True]]


def test_a_row_is_encoded_alike_whatever_stands_beside_it(tmp_path):
    cells = ["1", "1,5", "x", "", "inf", "-1e400", "0x10", "1_000", "٣", "+7", "nan", "1.", ".5", "true"]
    schema = Schema((NumberColumn("a", -5, 5, missing="indicator"), CategoryColumn("b", ("1", "x"), missing="own")))
    (tmp_path / "all.csv").write_text("a;b\n" + "".join(f"{cell};{cell}\n" for cell in cells))
    together = open_table(tmp_path / "all.csv", schema).read()
    assert len(together) == len(cells)
    for cell, row in zip(cells, together, strict=True):
        (tmp_path / "one.csv").write_text(f"a;b\n{cell};{cell}\n")
        assert np.array_equal(open_table(tmp_path / "one.csv", schema).read(), [row]), cell


def test_a_schema_of_categories_only_reads_files(tmp_path):
    (tmp_path / "a.csv").write_text("city\nLyon\n\nParis\n")
    source = open_table(tmp_path / "a.csv", Schema((CITY,)))
    source.check()
    assert (source.read() > 0).tolist() == [[True, False, False], [False, True, False]]


def test_files_are_encoded_in_pieces(tmp_path):
    (tmp_path / "a.csv").write_text("age,city,income\n" + "7,Lyon,3\n" * 1000)
    source = open_table(tmp_path / "a.csv", SCHEMA)
    assert source.dimension == 6
    assert max(len(piece) for piece in source.pieces(64)) == 64
    assert sum(len(piece) for piece in source.pieces(64)) == 1000
    (tmp_path / "b.csv").write_text("age,city,income\n")
    assert open_table(tmp_path / "b.csv", SCHEMA).read().shape == (0, 6)


def test_a_column_that_lacks_or_has_no_words_is_refused_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("age,income\n1,2\n")
    with pytest.raises(FedDPError, match=r"^column 'city' must be in a\.csv, which has age, income\.$"):
        open_table(tmp_path / "a.csv", SCHEMA)
    dates = pa.table({"age": pa.array([1], pa.timestamp("s")), "city": ["x"], "income": pa.array([1], pa.timestamp("s"))})
    with pytest.raises(
        FedDPError,
        match=r"columns 'age', 'income' of table must hold numbers, got timestamp\[s\]: drop them, or say what they hold, .* for dates\.",
    ):
        SCHEMA.encode(dates)


def test_a_center_is_told_in_the_users_words():
    age, city, income = SCHEMA.describe(np.array([0.25, 0.2 * HALF, 0.6 * HALF, -0.1, 1.0, 0.5 * 2 * HALF]), 0.01)
    assert (age.value, age.error) == pytest.approx((25, 1))
    assert city.value == "Paris"
    assert city.error == pytest.approx(0.01 / HALF)
    assert city.shares == pytest.approx({"Lyon": 0.2, "Paris": 0.6, "(missing)": 0, "(other)": 0.2})
    assert income.shares == pytest.approx({"(missing)": 0.5})
    assert (income.value, income.error) == pytest.approx((0, 0.2))  # (0.5 - 0.25) / 0.5 of the range; twice the noise for half the rows
    crowded = SCHEMA.describe(np.array([9, 2, 2, 0, 0, 9.0]), math.inf)
    assert crowded[0].value == 100
    assert crowded[0].error is None
    assert crowded[1].shares == pytest.approx({"Lyon": 0.5, "Paris": 0.5, "(missing)": 0, "(other)": 0})
    with pytest.raises(FedDPError, match="center must have 6 coordinates"):
        SCHEMA.describe(np.zeros(2), 1.0)


def test_the_mean_of_encoded_rows_is_told_as_the_mean_of_the_table(rng):
    ages, cities = rng.uniform(0, 100, 500), rng.choice(["Lyon", "Paris", "Rome"], 500)
    incomes = np.where(rng.random(500) < 0.3, np.nan, rng.uniform(-10, 10, 500))
    table = pa.table({"age": ages, "city": cities, "income": pa.array(incomes, from_pandas=True)})
    age, city, income = SCHEMA.describe(SCHEMA.encode(table).mean(axis=0), 0.0)
    assert age.value == pytest.approx(ages.mean())
    assert income.value == pytest.approx(np.nanmean(incomes))
    assert city.shares["Lyon"] == pytest.approx((cities == "Lyon").mean())
    assert city.shares["(other)"] == pytest.approx((cities == "Rome").mean())


def test_learning_looks_at_kinds_ranges_and_holes(tmp_path):
    path = tmp_path / "server.csv"
    path.write_text('"Größe";city;code;gone;flag;id\n"1,5";Paris;1;;true;7\n3;;2;;false;8\n2;Lyon;1;;true;9\n', encoding="utf-8")
    schema = learn_schema(path, ignore=["id"], categories=["code"])
    assert schema.fields == (
        NumberColumn("Größe", 1.5, 3),
        CategoryColumn("city", ("Lyon", "Paris"), missing="own"),
        CategoryColumn("code", ("1", "2")),
        BooleanColumn("flag"),
    )
    assert schema.ignored == (("gone", "no values"), ("id", "asked for"))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"name": [f"n{i}" for i in range(60)]}, "looks like text or an id: 60 distinct values in 60 rows"),
        ({"note": [f"n{i % 12}" for i in range(20)]}, "looks like text or an id: 12 distinct values in 20 rows"),
        ({"user_id": [i * i for i in range(30)]}, "looks like an id: 30 distinct whole numbers"),
        ({"row": list(range(30))}, "looks like an id"),
        ({"when": pa.array([1, 1], pa.timestamp("s"))}, "one date only"),
        ({"when": pa.array([b"1", b"2"])}, "values of type binary cannot be used"),
        ({"number": [7 * i for i in range(30)]}, "looks like an id"),
        ({"a": [1, 1]}, "one value only"),
        ({"a": ["x", "x"]}, "one value only"),
        ({"a": pa.array([None, None], pa.float64())}, "no values"),
        ({"": [1, 2]}, "no name"),
        ({"a": ["x", "(other)"]}, "its words cannot be categories"),
        ({"a": ["x", "y\nz"]}, "its words cannot be categories"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_the_reason(columns, reason):
    with pytest.raises(FedDPError, match="the server data must have a column that can be used, got none: '.*' " + reason) as error:
        learn_schema(pa.table(columns))
    one_line(error)
    size = len(next(iter(columns.values())))
    schema = learn_schema(pa.table(columns | {"x": np.arange(size) / 7}))
    assert schema.names == ("x",)
    ((name, told),) = schema.ignored
    assert re.match(reason, told)
    assert [name] == [*columns]


def test_learning_finds_dates_yes_and_no_and_long_tails(tmp_path):
    (tmp_path / "public.csv").write_text(
        "when;seen;us;ok;income\n" + "2020-01-31;31.12.2020;12/31/2020;yes;0\n2021-01-31 10:00;;1/2/2021;NO;5\n" * 3
    )
    schema = learn_schema(str(tmp_path / "public.csv"), scales={"income": "log"})
    assert schema.fields == (
        DateColumn("when", "2020-01-31", "2021-01-31"),
        DateColumn("us", "2020-12-31", "2021-01-02", order="mdy"),
        BooleanColumn("ok"),
        NumberColumn("income", 0, 5, scale="log"),
    )
    assert schema.ignored == (("seen", "one date only"),)
    times = learn_schema(pa.table({"at": ["7:05", "23:59", ""]}))
    assert times.fields == (DateColumn("at", parts=("hour",), missing="indicator"),)
    tail = {"income": [*range(100, 0, -1), 10_000.5]}
    (told,) = proposals(pa.table(tail))
    assert "long tail: --log" in told.why
    knots = learn_schema(pa.table(tail), scales={"income": "quantile"}).fields[0].knots
    assert (len(knots), knots[0], knots[5], knots[-1]) == pytest.approx((N_KNOTS, 1, 51, 10_000.5))
    with pytest.raises(FedDPError, match="scale of column 'income' of the server data must be linear, log or quantile, got 'cubic'"):
        learn_schema(pa.table(tail), scales={"income": "cubic"})
    (tmp_path / "nameless.csv").write_text(",,x\n1,2,3\n")
    with pytest.raises(FedDPError, match=r"columns of nameless\.csv must have names, got 2 without one"):
        learn_schema(tmp_path / "nameless.csv")


def test_a_column_that_looks_like_an_id_can_be_kept():
    table = pa.table({"row": list(range(30)), "word": [f"w{i}" for i in range(30)]})
    schema = learn_schema(table, numbers=["row"], categories=["word"])
    assert [field.kind for field in schema.fields] == ["number", "category"]
    with pytest.raises(FedDPError, match="column 'nothing' must be in the server data, which has row, word"):
        learn_schema(table, ignore=["nothing"])


def test_a_schema_file_is_readable_and_comes_back(tmp_path):
    SCHEMA.write(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == SCHEMA
    assert json.loads((tmp_path / "schema.json").read_text())["columns"][1]["categories"] == ["Lyon", "Paris"]
    short = {"format": "feddp-schema", "version": 1, "columns": [{"name": "a", "kind": "number", "low": 0, "high": 1}]}
    assert Schema.from_dict(short) == Schema((NumberColumn("a", 0, 1),))
    assert SCHEMA.without(["age", "income"]).columns == CITY.coordinates


def changed(path, value):
    data = SCHEMA.to_dict()
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], r"schema must be an object, got \[\]"),
        ({}, "schema must have the keys"),
        (changed(["more"], 1), "schema must have the keys .* and no others"),
        (changed(["version"], 2), "version of schema must be from 1 to 1, got 2: it was written by a newer feddp"),
        (changed(["columns"], []), "columns of a schema must be at least one"),
        (changed(["columns"], 3), "columns of a schema must be a list"),
        (changed(["columns", 0], "age"), "column of a schema must be an object"),
        (changed(["columns", 0, "kind"], "moon"), "kind of column 'age' must be one of"),
        (changed(["columns", 0, "low"], 100), "low of column 'age' must be below high"),
        (changed(["columns", 0, "low"], math.nan), "low of column 'age' must be below high, and their difference finite, got nan"),
        (changed(["columns", 0, "low"], 10**400), "low of column 'age' must be a number that a computer can hold"),
        (changed(["columns", 0, "low"], True), "low of column 'age' must be a number, got True"),
        (changed(["columns", 0, "weight"], 0), "weight of column 'age' must be between"),
        (changed(["columns", 0, "missing"], "drop"), "missing of column 'age' must be one of"),
        (changed(["columns", 0, "missing"], []), "missing of column 'age' must be one of"),
        (changed(["columns", 0, "name"], "city"), "must have distinct names, got 'city' twice"),
        (changed(["columns", 0, "name"], "city=Lyon"), "coordinates of a schema must have distinct names"),
        (changed(["columns", 0, "name"], "\ud800"), "name of a column must be one line of text"),
        (changed(["columns", 1, "categories"], "Lyon"), "categories of column 'city' must be 1 to 1000"),
        (changed(["columns", 1, "categories"], ["a", " a"]), "categories of column 'city' must be 1 to 1000 distinct"),
        (changed(["columns", 1, "categories"], [" "]), "distinct lines of text, none of them empty"),
        (changed(["columns", 1, "low"], 1), "column 'city' must have the keys .* and no others"),
        (changed(["ignored"], [{"name": 3}]), "ignored column must have a name and a reason"),
    ],
)
def test_what_is_no_schema_is_refused_in_one_line(data, message):
    with pytest.raises(FedDPError, match=message) as error:
        Schema.from_dict(data)
    one_line(error)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"a": 1, "a": 2}', b"9" * 5000, b'"\\ud800"', b"null"])
def test_a_file_that_is_no_schema_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "schema.json").write_bytes(content)
    with pytest.raises(FedDPError, match=r"schema\.json") as error:
        Schema.read(tmp_path / "schema.json")
    one_line(error)
    with pytest.raises(FedDPError, match="schema must be a readable JSON or TOML file"):
        Schema.read(tmp_path / "none.json")


WORDS = st.text(min_size=1, max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.builds(NumberColumn, WORDS, FLOATS, FLOATS, st.floats(1e-6, 1e6), st.sampled_from(NumberColumn.ways))
CATEGORIES = st.builds(
    CategoryColumn, WORDS, st.lists(WORDS, min_size=1, max_size=4), st.floats(1e-6, 1e6), st.sampled_from(CategoryColumn.ways)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CELLS = st.one_of(
    st.lists(st.none() | st.floats(), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.float64())),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.int64())),
    st.lists(st.none() | st.booleans(), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.bool_())),
    st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.string())),
    st.lists(st.none() | st.binary(max_size=3), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.binary())),
    st.lists(st.none(), min_size=1, max_size=6).map(lambda x: pa.array(x, pa.null())),
)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_any_schema_comes_back_from_json(data):
    try:
        schema = Schema(tuple(data.draw(st.lists(NUMBERS | CATEGORIES, min_size=1, max_size=3))))
    except FedDPError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False))) == schema


@given(
    st.lists(st.sampled_from(["columns", 0, 1, 2, "name", "kind", "low", "categories", "weight", "missing", "ignored"]), max_size=3), JSON
)
@settings(max_examples=300, deadline=None)
def test_a_malformed_schema_never_gives_anything_but_our_error(path, junk):
    try:
        data = changed(path, junk) if path else junk
    except (KeyError, IndexError, TypeError):
        return
    try:
        again = Schema.from_dict(data)
    except FedDPError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert Schema.from_dict(again.to_dict()) == again


@given(st.lists(CELLS, min_size=1, max_size=3), st.lists(CELLS, min_size=3, max_size=3), st.lists(WORDS, min_size=3, max_size=3))
@settings(max_examples=300, deadline=None)
def test_any_table_encodes_within_the_radius_or_is_refused_in_one_line(server, client, names):
    n_server, n_client = min(map(len, server)), min(map(len, client))
    try:
        schema = learn_schema(pa.table([column[:n_server] for column in server], names=names[: len(server)]))
        rows = schema.encode(pa.table([column[:n_client] for column in client], names=names))
    except FedDPError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert rows.shape == (n_client, len(schema.columns))
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max(initial=0) <= schema.radius


def test_no_schema_is_learnt_from_clients(tmp_path):
    (tmp_path / "table.csv").write_text("who,color,x\na,red,1\nb,blue,2\na,red,3\n")
    for clients, more in (
        ("table.csv", {"client_column": "who"}),
        ("table.csv", {"stated": StatedColumns(ignore=("who",))}),
        ("*.csv", {"stated": StatedColumns(ignore=("who",))}),
    ):
        with pytest.raises(FedDPError, match=r"column 'color' of table\.csv must hold numbers, got words in most cells"):
            open_inputs(str(tmp_path / clients), None, **more)
