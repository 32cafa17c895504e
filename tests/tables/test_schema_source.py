"""Which encoding is stated, and that finding it out costs a site no memory for an algorithm that it never runs."""

import subprocess
import sys

import pytest

from feddp_kmeans import FedDPError
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS
from feddp_kmeans.tables.schema_source import check_known, known_names, read_or_learn, schema_of_names
from feddp_kmeans.tables.stated_columns import NOTHING_STATED, StatedColumns


def test_without_a_statement_numbers_stay_numbers():
    assert read_or_learn(None, NOTHING_STATED, (), names=["a", "b"]) is None


def test_a_range_makes_a_schema_in_which_other_columns_have_none(tmp_path):
    schema = read_or_learn(None, StatedColumns(ranges=("age=0:120",)), (), names=["age", "income"])
    assert schema.names == ("age", "income")
    assert schema == schema_of_names(["age", "income"], schema.fields[:1])


def test_names_are_read_from_the_tables_where_an_option_names_a_column(tmp_path):
    (tmp_path / "a.csv").write_text("age,income\n1,2\n")
    where = str(tmp_path / "a.csv")
    assert known_names(where, None, NOTHING_STATED, AS_THE_HEADER_SAYS) == []
    assert known_names(where, None, StatedColumns(ignore=("age",)), AS_THE_HEADER_SAYS) == ["age", "income"]


def test_an_option_for_a_column_that_there_is_not_is_refused():
    with pytest.raises(FedDPError, match="--ignore must name a column of the tables, got 'agee'"):
        check_known("--ignore", ["agee"], ["age"])
    with pytest.raises(FedDPError, match="got 'age, pay': say --ignore once for each"):
        check_known("--ignore", ["age, pay"], ["age", "pay"])


def test_a_site_does_not_load_the_algorithm_nor_a_web_server():
    pytest.importorskip("flwr")
    script = (
        "import sys, feddp_kmeans.cli.join, feddp_kmeans.network.deployment.site, feddp_kmeans.network.deployment.join\n"
        "print([name for name in ('scipy.optimize', 'sklearn', 'pandas', 'fastapi', 'sqlalchemy', 'feddp_kmeans.algorithm.looks')"
        " if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300).stdout == "[]\n"
