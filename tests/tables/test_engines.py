"""Tables in an engine: the same bits as files, and one line for what it does not take. Spark's are in tests/silos/test_spark_silo.py."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics.paper_sums import OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.tables.engines import engine_silo, is_spark
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.stated_columns import StatedColumns

MOMENT = Query(OUTER_PRODUCT, {"center": np.zeros(2), "radius": 4.0}, 2)
POINTS = np.random.default_rng(3).standard_normal((500, 2))


@pytest.fixture
def folder(tmp_path):
    for i in range(3):
        table = pd.DataFrame(POINTS[i::3], columns=["a", "b"]).assign(who=i, sex=["f", "m"][i % 2])
        table.to_parquet(tmp_path / f"{i}.parquet")
    return str(tmp_path)


def test_dask_reads_all_files_as_one_table(folder):
    silo = engine_silo("dask", folder, None, ignore=("who", "sex"))
    assert (silo.columns, silo.n_clients) == (("a", "b"), 1)
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo([POINTS]).exact_sum(MOMENT))


def test_dask_encodes_where_the_rows_lie(folder):
    schema = Schema.from_dict({"columns": {"a": {"range": [-3, 3]}, "sex": {"categories": ["f", "m"]}}})
    silo = engine_silo("dask", folder, schema)
    tables = [pd.read_parquet(f"{folder}/{i}.parquet") for i in range(3)]
    query = Query(OUTER_PRODUCT, {"center": np.zeros(silo.dimension), "radius": 4.0}, silo.dimension)
    assert np.array_equal(silo.exact_sum(query), ArraySilo([schema.encode(table) for table in tables]).exact_sum(query))


def test_inputs_and_sites_take_an_engine(folder, tmp_path):
    inputs = open_inputs(folder, None, StatedColumns(ignore=("who", "sex")), engine="dask")
    assert inputs.columns == ("a", "b")
    site = Site("berlin", folder, 1.0, str(tmp_path / "state"), str(tmp_path / "budget"), ignore=("who", "sex"), engine="dask")
    assert np.array_equal(site.read().exact_sum(MOMENT), ArraySilo([POINTS]).exact_sum(MOMENT))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": "beam"}, "--silo must be spark or dask, got 'beam'"),
        ({"engine": "dask", "client_column": "who"}, "--client-column must be given without --silo dask"),
        ({"engine": "dask", "skip_broken": True}, "--skip-broken must be given without --silo"),
    ],
)
def test_what_an_engine_does_not_take_is_one_line(folder, given, said):
    with pytest.raises(FedDPError, match=said):
        open_inputs(folder, None, **given)


def test_other_files_than_parquet_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FedDPError, match=r"--silo spark must be given Parquet files, got 't\.csv'"):
        engine_silo("spark", str(tmp_path), None)


def test_without_pyspark_one_line_names_the_extra(folder):
    script = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from feddp_kmeans import FedDPError\n"
        "from feddp_kmeans.tables.engines import engine_silo\n"
        "try:\n    engine_silo('spark', sys.argv[1], None)\n"
        "except FedDPError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=True, timeout=300)
    assert said.stdout == "points in Spark need pyspark and Java: pip install 'feddp-kmeans[spark]'.\n"


def test_what_is_no_frame_of_spark():
    assert not any(map(is_spark, (POINTS, pd.DataFrame(POINTS), [POINTS], None)))
