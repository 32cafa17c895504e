"""Kinds of columns: every one keeps its bound whatever a cell holds, and describes a center in the user's terms."""

import json
import math
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.column import ONE_HOT
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import PARTS, WEEKDAYS, DateColumn
from feddp_kmeans.tables.schema import Schema

WEIGHTS = st.floats(1e-6, 1e6)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DAYS = st.dates().map(date.isoformat)
WORDS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3)
NUMBERS = st.builds(
    NumberColumn,
    st.just("a"),
    FLOATS,
    FLOATS,
    WEIGHTS,
    st.sampled_from(NumberColumn.ways),
    st.sampled_from(["linear", "log"]),
    st.none() | FLOATS,
)
QUANTILES = st.builds(NumberColumn, st.just("a"), weight=WEIGHTS, scale=st.just("quantile"), knots=st.lists(FLOATS, max_size=5).map(sorted))
COLUMNS = [
    NUMBERS,
    QUANTILES,
    st.builds(CategoryColumn, st.just("a"), WORDS, WEIGHTS, st.sampled_from(CategoryColumn.ways)),
    st.builds(BooleanColumn, st.just("a"), weight=WEIGHTS, missing=st.sampled_from(BooleanColumn.ways)),
    st.builds(BooleanColumn, st.just("a"), WORDS, WORDS, WEIGHTS, st.sampled_from(BooleanColumn.ways)),
    st.builds(
        DateColumn,
        st.just("a"),
        st.none() | DAYS,
        st.none() | DAYS,
        st.lists(st.sampled_from(PARTS), max_size=4),
        st.sampled_from(["ymd", "dmy", "mdy"]),
        WEIGHTS,
        st.sampled_from(DateColumn.ways),
    ),
]
ODD = st.sampled_from(
    [
        "",
        " ",
        "NA",
        "yes",
        "NO",
        "t",
        "1",
        "1.0",
        "-0",
        "inf",
        "-inf",
        "1e999",
        "nan",
        "2024-02-29",
        "2023-02-29",
        "0000-01-01",
        "9999-12-31",
        *(
            "2024-1-1T25:00",
            "31.12.1999",
            "2024-06-01T23:59:60Z",
            "2024-06-01 12:00+02:00",
            "٣",
            "1,5",
            "0x10",
            "2024-13-01",
            "23:59",
            "7:05:01",
            "24:00",
            "12/31/1999",
        ),
    ]
)
TEXT = st.none() | ODD | st.text(st.characters(codec="utf-8"), max_size=6) | FLOATS.map(str) | st.datetimes().map(str) | DAYS
WIDE = st.integers(-(2**63), 2**63 - 1)


def cells(strategy, kind):
    return st.lists(st.none() | strategy, min_size=1, max_size=6).map(lambda values: pa.array(values, kind))


CELLS = st.one_of(
    cells(TEXT, pa.string()),
    cells(st.floats(), pa.float64()),
    cells(WIDE, pa.int64()),
    cells(st.booleans(), pa.bool_()),
    cells(st.dates(), pa.date32()),
    cells(WIDE, pa.int64()).map(lambda column: column.cast(pa.timestamp("s"))),
    cells(WIDE, pa.int64()).map(lambda column: column.cast(pa.timestamp("ns"))),
    cells(st.integers(-(2**31), 2**31 - 1), pa.int32()).map(lambda column: column.cast(pa.date32())),
    cells(st.times(), pa.time64("us")),
    cells(WIDE, pa.int64()).map(lambda column: column.view(pa.time64("ns"))),
    cells(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), pa.timestamp("us")).map(  # noqa: DTZ001
        lambda column: column.cast(pa.timestamp("us", "UTC"))
    ),
    cells(TEXT, pa.string()).map(lambda column: column.dictionary_encode()),
)


@pytest.mark.parametrize("kind", range(len(COLUMNS)))
@given(st.data())
def test_no_cell_breaks_the_bound_of_its_column(kind, data):
    try:
        column = data.draw(COLUMNS[kind])
    except FedDPError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    given_cells = data.draw(CELLS)
    schema = Schema((column,))
    try:
        rows = schema.encode(pa.table({"a": given_cells}))
    except FedDPError as error:
        assert "of table must hold" in str(error)  # noqa: PT017 - by its type, which is public
        return
    assert rows.shape == (len(given_cells), len(column.coordinates))
    assert np.isfinite(rows).all()
    assert np.square(rows).sum(axis=1).max() <= column.energy * (1 + 1e-12)
    alone = [schema.encode(pa.table({"a": given_cells[i : i + 1]})) for i in range(len(given_cells))]
    assert np.array_equal(np.concatenate(alone), rows)  # a row depends on its own cell only
    column.strange(pa.chunked_array([given_cells]), ".")
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False)))
    assert again == schema


def test_the_bound_of_every_kind_is_reached():
    def largest(column, *given_cells):
        return np.square(column.encode(pa.array([*given_cells, None], pa.string()), ".")).sum(axis=1).max()

    for scale, more in (("linear", {}), ("log", {}), ("quantile", {"knots": (0, 5, 100)})):
        column = NumberColumn("a", 0, 100, 2, scale=scale, **more)
        assert largest(column, "100") == pytest.approx(column.energy)
    assert largest(BooleanColumn("a", weight=3), "yes") == pytest.approx(BooleanColumn("a", weight=3).energy)
    every = DateColumn("a", "2020-01-01", "2024-12-31", PARTS)
    assert largest(every, "2024-12-31T12:00") == pytest.approx(every.energy) == pytest.approx(2)
    both = DateColumn("a", parts=("season", "hour"), missing="indicator")
    assert largest(both, "12:00") == pytest.approx(both.energy) == pytest.approx(0.75)  # a time without its date
    season = DateColumn("a", parts=("season",), missing="indicator")
    assert largest(season, "2024-12-31") == pytest.approx(season.energy) == pytest.approx(0.5)  # the missing row


def test_a_log_scale_takes_zero_and_negative_values():
    column = NumberColumn("income", 0, 1e6, scale="log")
    places = column.encode(pa.array([0, 1e3, 3e4, 1e6, -5, 1e9]), ".")[:, 0]
    assert places == pytest.approx([0, math.log(2) / math.log(1001), math.log(31) / math.log(1001), 1, 0, 1])
    signed = NumberColumn("balance", -1e4, 1e4, scale="log", unit=10)
    assert signed.encode(pa.array([-1e4, -100, 0, 100, 1e4]), ".")[:, 0] == pytest.approx([0, 0.3264, 0.5, 0.6736, 1], abs=1e-3)
    far = NumberColumn("x", 1e-9, 1, scale="log")
    assert far.encode(pa.array([1e-6]), ".").item() == pytest.approx(0.3, abs=0.04)


def test_knots_are_evenly_spaced():
    column = NumberColumn("income", scale="quantile", knots=[0, 20_000, 50_000, 1e6])
    assert column.encode(pa.array([0, 20_000, 35_000, 1e6]), ".")[:, 0] == pytest.approx([0, 1 / 3, 1 / 2, 1])
    assert (column.low, column.high) == (0, 1e6)


@pytest.mark.parametrize(
    ("column", "meaning"),
    [
        (NumberColumn("a", 0, 1e6, scale="log"), "geometric"),
        (NumberColumn("a", scale="quantile", knots=(0, 2e4, 5e4, 1e6)), "rank"),
        (NumberColumn("a", 0, 1e6), None),
    ],
)
def test_a_number_comes_back_through_its_scale_and_says_what_it_is(column, meaning):
    rows = column.encode(pa.array(1000 * [35_000.0]), ".")
    (told,) = column.describe(rows.mean(axis=0), np.array([0.01]))
    assert told.value == pytest.approx(35_000)
    assert (told.meaning or "") == "" if meaning is None else meaning in told.meaning
    step = column.encode(pa.array([35_000 + told.error]), ".")[0, 0] - rows[0, 0]
    assert 0 < step <= 0.01 + 1e-9  # the error is that of the place, carried through the scale
    for place in (-3.0, 0.0, 1.0, 7.0):
        (end,) = column.describe(np.array([place]), np.array([0.3]))
        assert 0 <= end.value <= 1e6
        assert end.error is not None
        assert math.isfinite(end.error)
    assert column.describe(np.array([0.5]), np.array([math.inf]))[0].error is None


def test_yes_and_no_in_many_words():
    column = BooleanColumn("newsletter", missing="indicator")
    signs = column.encode(pa.array(["yes", "No", "TRUE", "f", "1.0", "0", " Y ", "", None, "maybe"]), ".")
    assert (2 * signs[:, 0]).tolist() == [1, -1, 1, -1, 1, -1, 1, 0, 0, 0]
    assert (2 * signs[:, 1]).tolist() == 7 * [0] + 3 * [1]
    (told,) = column.describe(signs.mean(axis=0), np.array([0.01, 0.02]))
    assert (told.value, told.kind) == ("yes", "category")
    assert told.shares == pytest.approx({"yes": 0.4, "no": 0.3, "(missing)": 0.3})
    own = BooleanColumn("abo", ("ja",), ("nein",))
    assert own.encode(pa.array(["JA", "nein", "yes"]), ".")[:, 0].tolist() == [0.5, -0.5, 0]
    (told,) = own.describe(np.array([9.0]), np.array([0.1]))
    assert told.shares == pytest.approx({"ja": 1, "nein": 0})
    assert own.strange(pa.chunked_array([["ja", "yes", "no", "", None]]), ".") == (2, 3)


def test_dates_of_every_type_are_alike():
    column = DateColumn("joined", "2020-01-01", "2021-01-01", PARTS, missing="indicator")
    when = datetime(2020, 7, 1, 18)  # noqa: DTZ001
    expected = column.encode(pa.array([when], pa.timestamp("s")), ".")
    assert expected[0, 0] == pytest.approx(182 / 366)
    assert expected[0, 1:3] == pytest.approx([-0.5, 0], abs=0.01)  # the middle of the year
    assert expected[0, 3:10].argmax() == WEEKDAYS.index("Wednesday")
    assert expected[0, 10:12] == pytest.approx([0, -0.5])
    for other in (
        pa.array([when], pa.timestamp("ns")),
        pa.array([when.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")),
        pa.array(["2020-07-01 18:00"]),
        pa.array(["2020-07-01T18:00:00.000Z"]),
        pa.array(["2020/7/1 18:00:00"]).dictionary_encode(),
    ):
        assert np.allclose(column.encode(other, "."), expected)
    without_time = np.where(np.isin(np.arange(expected.shape[1]), (10, 11)), 0, expected)
    for other in (pa.array([date(2020, 7, 1)]), pa.array([date(2020, 7, 1)], pa.date64()), pa.array(["2020-07-01"])):
        assert np.allclose(column.encode(other, "."), without_time, atol=0.01)
    german = DateColumn("joined", "2020-01-01", "2021-01-01", PARTS, order="dmy", missing="indicator")
    assert np.allclose(german.encode(pa.array(["1.7.2020 18:00"]), "."), expected)
    for wrong in ("2020-02-30", "2020-00-10", "2020-13-01", "soon", "2020-07-01 25:00", "20200701"):
        assert column.encode(pa.array([wrong]), ".")[0].tolist() == pytest.approx([0.5, *11 * [0], ONE_HOT])
    assert column.strange(pa.chunked_array([["2020-07-01", "soon", "", None]]), ".") == (1, 2)


def test_a_date_is_described_part_by_part():
    column = DateColumn("joined", "2020-01-01", "2022-01-01", PARTS, missing="indicator")
    days = ["2021-03-10 09:30", "2021-03-12 10:30", "2021-03-12 09:00", None]
    center = column.encode(pa.array(days), ".").mean(axis=0)
    trend, season, weekday, hour = column.describe(center, np.full(len(center), 0.001))
    assert (trend.column, trend.value, trend.unit) == ("joined", "2021-03-11", "days")
    assert trend.error == pytest.approx(0.001 / 0.75 * 731, rel=1e-6)
    assert trend.shares == pytest.approx({"(missing)": 0.25})
    assert (season.column, season.value) == ("joined (season)", "11 March")
    assert season.error == pytest.approx(2 * 0.001 / 0.75 / (2 * math.pi) * 365.25, rel=0.01)
    assert weekday.value == "Friday"
    assert weekday.shares["Wednesday"] == pytest.approx(1 / 3)
    assert (hour.column, hour.value, hour.unit) == ("joined (hour)", "09:39", "hours")
    faint = column.describe(np.zeros(len(center)), np.full(len(center), 0.1))
    assert faint[1].value == "all over the year"
    assert faint[3].value == "all over the day"
    for wild in (-9.0, 9.0):
        assert "2020-01-01" <= column.describe(np.full(len(center), wild), np.full(len(center), math.inf))[0].value <= "2022-01-01"


def test_a_number_without_a_range_is_open():
    schema = Schema((NumberColumn("age", 0, 100, missing="indicator"), OpenColumn("x")))
    assert schema.open == (False, False, True)
    assert schema.radius is None
    assert schema.encode(pa.table({"x": ["7", None], "age": [50, 50]})) == pytest.approx(
        np.array([[0.5, 0, 7], [0.5, 0, np.nan]]), nan_ok=True
    )
    _, x = schema.describe(np.array([0.5, 0, -4]), np.array([0.1, 0.1, 2]))
    assert (x.kind, x.value, x.error) == ("number", -4, 2)


def test_one_error_per_coordinate_or_one_for_all():
    schema = Schema((NumberColumn("a", 0, 10), CategoryColumn("b", ("x", "y"))))
    a, b = schema.describe(np.zeros(3), np.array([0.1, 0.2, 0.4]))
    assert (a.error, b.error) == pytest.approx((1, 0.4 * math.sqrt(2)))
    assert schema.describe(np.zeros(3), 0.1) == schema.describe(np.zeros(3), np.full(3, 0.1))
    with pytest.raises(FedDPError, match="center must have 3 coordinates"):
        schema.describe(np.zeros(3), np.zeros(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NumberColumn("a", 0, 1, scale="cubic"), "scale of column 'a' must be one of"),
        (lambda: NumberColumn("a", 0, 1, scale="quantile"), "column 'a' must have knots if its scale is quantile"),
        (lambda: NumberColumn("a", 0, 1, unit=1), "a unit only if it is log"),
        (lambda: NumberColumn("a", 0, 1, scale="log", unit=0), "unit of column 'a' must be positive"),
        (lambda: NumberColumn("a", 0, 5e-324, scale="log"), "unit of column 'a' must be positive"),
        (lambda: NumberColumn("a", 0, 1, scale="log", unit=1e-320), "unit of column 'a' must be positive"),
        (lambda: NumberColumn("a", scale="quantile", knots=[1, 1]), "knots of column 'a' must be 2 to 1000 ascending"),
        (lambda: NumberColumn("a", scale="quantile", knots=[1, "x"]), "knots of column 'a' must be a number"),
        (lambda: BooleanColumn("a", ("ja",), ("Ja",)), "must be distinct, got 'ja' twice"),
        (lambda: BooleanColumn("a", "ja", ("nein",)), "yes of column 'a' must be a list of words"),
        (lambda: DateColumn("a", "2020-01-01", "2019-01-01"), "dates of column 'a' must be two such as 2015-01-01, the earlier one first"),
        (lambda: DateColumn("a", parts=["trend"]), "dates of column 'a' must be two"),
        (lambda: DateColumn("a", parts=["month"]), "parts of column 'a' must be distinct words of"),
        (lambda: DateColumn("a", order="ydm"), "order of column 'a' must be one of"),
        (lambda: OpenColumn("a", weight=2), "weight of column 'a' must be 1"),
    ],
)
def test_a_wrong_column_is_refused_by_name_rule_and_value(make, message):
    with pytest.raises(FedDPError, match=message) as error:
        make()
    assert len(str(error.value).splitlines()) == 1
