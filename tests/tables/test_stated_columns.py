"""What options say about columns, as one object."""

import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.stated_columns import NOTHING_STATED, StatedColumns


def test_ranges_and_categories_state_columns_unless_they_are_left_out():
    assert NOTHING_STATED.fields() == ()
    stated = {"ranges": ("age=0:120", "rent=0:9"), "categories": ("sex=f,m",)}
    age, rent, sex = NumberColumn("age", 0, 120), NumberColumn("rent", 0, 9), CategoryColumn("sex", ("f", "m"))
    assert StatedColumns(**stated).fields() == (age, rent, sex)
    assert StatedColumns(**stated, ignore=("rent",)).fields() == (age, sex)
    with pytest.raises(FedDPError, match="--range must be NAME=LOW:HIGH"):
        StatedColumns(ranges=("age",)).fields()
