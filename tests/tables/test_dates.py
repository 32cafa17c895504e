"""Dates of cells: what Python's own calendar says, and nothing from what is no date."""

from datetime import date, datetime, time, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.tables.dates import as_dates, date_text, day_of, day_of_year

EPOCH = date(1970, 1, 1)


@given(st.datetimes())
def test_days_and_times_are_those_of_the_calendar(when):
    expected = ((when.date() - EPOCH).days, (when.hour * 3600 + when.minute * 60 + when.second) / 86_400)
    for column in (pa.array([str(when)]), pa.array([when.isoformat()]), pa.array([when], pa.timestamp("us"))):
        days, clock = as_dates(column)
        assert days[0] == expected[0]
        assert clock[0] == pytest.approx(expected[1], abs=2e-5)
    assert day_of_year(days)[0] == when.timetuple().tm_yday - 1
    assert date_text(days[0]) == when.date().isoformat()
    assert day_of(when.date().isoformat()) == days[0]
    for order, text in (("dmy", f"{when.day}.{when.month}.{when.year:04d}"), ("mdy", f"{when.month}/{when.day}/{when.year:04d}")):
        assert as_dates(pa.array([text]), order)[0][0] == days[0]


@given(st.integers(0, 9999), st.integers(0, 99), st.integers(0, 99))
def test_a_day_that_is_in_no_calendar_is_missing(year, month, day):
    try:
        known = (date(year, month, day) - EPOCH) / timedelta(days=1)
    except ValueError:
        known = np.nan
    assert np.array_equal(as_dates(pa.array([f"{year:04d}-{month}-{day}"]))[0], [known], equal_nan=True)


def test_times_without_a_date():
    days, clock = as_dates(pa.array(["6:00", "18:00:00", "24:00", "2024-01-01 24:00", "2024-02-30 06:00", ""]))
    assert np.isnan(days).all()
    assert clock == pytest.approx([0.25, 0.75, *4 * [np.nan]], nan_ok=True)
    assert as_dates(pa.array([time(6), None], pa.time32("s")))[1] == pytest.approx([0.25, np.nan], nan_ok=True)


def test_a_zone_of_the_column_gives_its_own_clock():
    noon = pa.array([datetime(2024, 7, 1, 12)], pa.timestamp("s")).cast(pa.timestamp("s", "UTC"))  # noqa: DTZ001
    assert as_dates(noon.cast(pa.timestamp("s", "+02:00")))[1][0] == pytest.approx(14 / 24)
    assert as_dates(pa.array(["2024-07-01T12:00+05:00"]))[1][0] == pytest.approx(0.5)  # as it is written
