"""Columns as a profile counts them."""

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.statistics.profile_sums import VALUE
from feddp_kmeans.tables.boolean_columns import BooleanColumn
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.date_columns import DateColumn
from feddp_kmeans.tables.profile_columns import N_BINS, ProfileColumn
from feddp_kmeans.tables.schema import ProfileSchema


def encoded(column, cells):
    return ProfileColumn(column).encode(pa.chunked_array([cells]), ".")


def test_words_are_counted_by_the_list_and_others_and_missing_ones_apart():
    column = CategoryColumn("region", ("north", "south"))
    assert ProfileColumn(column).classes == ("north", "south", "(other)", "(missing)")
    assert encoded(column, [" south", "north", "west", None, "NA"])[:, 0].tolist() == [1, 0, 2, 3, 3]


def test_yes_and_no():
    column = BooleanColumn("vip", weight=7.0)
    assert ProfileColumn(column).classes == ("yes", "no", "(missing)")
    assert encoded(column, ["Yes", "0", "", "maybe"])[:, 0].tolist() == [0, 1, 2, 2]


def test_numbers_have_even_classes_of_their_scale_and_a_place():
    linear = NumberColumn("age", 0, 100)
    classes, places = encoded(linear, [0.0, 9.99, 10.0, 100.0, 500.0, -3.0, None]).T
    assert classes.tolist() == [0, 0, 1, 9, 9, 0, N_BINS]
    np.testing.assert_allclose(places, [-1, -0.8002, -0.8, 1, 1, -1, 0])
    assert ProfileColumn(linear).classes[0] == "0 to 10"
    logs = ProfileColumn(NumberColumn("income", 0, 1e6, scale="log"))
    steps = np.diff(logs.edges)
    assert (np.diff(steps) > 0).all()
    assert logs.edges[[0, -1]].tolist() == [0, 1e6]
    assert logs.kinds == (N_BINS + 1, VALUE)


def test_dates_between_two_public_ones():
    column = DateColumn("since", "2020-01-01", "2029-12-29")
    found = ProfileColumn(column)
    classes, places = encoded(column, ["2020-01-01", "2029-12-29", "not yet", None]).T
    assert classes.tolist() == [0, 9, N_BINS, N_BINS]
    assert places.tolist() == [-1, 1, 0, 0]
    assert found.classes[0] == "2020-01-01 to 2020-12-31"


@pytest.mark.parametrize("column", [OpenColumn("x"), DateColumn("when")])
def test_a_column_without_public_classes_is_refused(column):
    with pytest.raises(FedDPError, match="must have categories or a public range to be in a profile"):
        ProfileColumn(column)


def test_a_column_may_be_clustered_and_profiled():
    age = NumberColumn("age", 0, 100)
    schema = ProfileSchema((age, ProfileColumn(age)))
    assert schema.columns == ("age", "age (class)", "age (place)")
    assert schema.clustered == schema.columns[:1]
    np.testing.assert_allclose(schema.encode(pa.table({"age": [50.0]})), [[0.5, 5, 0]])
    with pytest.raises(FedDPError, match="columns must be at least one"):
        ProfileSchema(())
