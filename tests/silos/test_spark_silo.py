"""Points in Spark give the bits of points in memory: every statistic, both units, killed workers, odd rows and odd frames."""

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="points in Spark need the extra 'spark': make spark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java: make spark", allow_module_level=True)

from pyspark.sql import SparkSession

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.places import ARRAYS, exact_sums
from feddp_kmeans.audit.statistic_checks import SHAPES, made_up_clients, question
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos import spark_job
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.silos.spark_silo import SparkSilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.paper_sums import CLIENT_OUTER_PRODUCT, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.tables.engines import engine_silo

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

BALL = {"center": np.zeros(3), "radius": 4.0}
MOMENT = Query(OUTER_PRODUCT, BALL, 3)
BOUNDED = Query(CLIENT_OUTER_PRODUCT, BALL | {"bound": 90.0}, 3)
RNG = np.random.default_rng(5)
SIZES = (40, 300, 7, 1, 20, 9, 11, 600, 2)
CLIENTS = [RNG.standard_normal((n, 3)) for n in SIZES]


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "3")
    # Many small batches of few rows: clients go on from one to the next.
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "16").getOrCreate()
    yield session
    session.stop()


def table_of(clients, names="abcdefghijklmnopqrstuvwxyz"):
    """Return one table with the rows of all clients mixed, and a column that says whose they are."""
    owners = np.repeat([f"client {i}" for i in range(len(clients))], [len(points) for points in clients])
    order = np.random.default_rng(1).permutation(len(owners))
    points = np.concatenate(clients)[order]
    return pa.table(dict(zip(names, points.T, strict=False)) | {"who": owners[order]})


def frame_of(spark, folder, table, parts=4):
    """Return the rows of a table in this many files, one of them without rows."""
    folder.mkdir(exist_ok=True)
    for i in range(parts):
        some = table.take(np.arange(i, table.num_rows, parts - 1)) if i < parts - 1 else table.slice(0, 0)
        pq.write_table(some, folder / f"{i}.parquet", row_group_size=100)
    return spark.read.parquet(str(folder))


def files_of(folder):
    return [str(path) for path in sorted(folder.glob("*.parquet"))]


@pytest.fixture(scope="module")
def frame(spark, tmp_path_factory):
    return frame_of(spark, tmp_path_factory.mktemp("points"), table_of(CLIENTS))


@pytest.mark.parametrize("unit", list(PrivacyUnit))
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_every_statistic_has_the_bits_of_this_process(spark, tmp_path, unit, shape):
    clients = [points for points in made_up_clients(shape) if len(points)]
    made = frame_of(spark, tmp_path / "points", table_of(clients))
    silos = [SparkSilo(made, "who"), *([SparkSilo(made, "who", files=files_of(tmp_path / "points"))] if unit is PrivacyUnit.POINT else [])]
    queries = [question(name, shape) for name, statistic in REGISTRY.items() if statistic.unit is unit]
    for query, expected in zip(queries, exact_sums(ARRAYS, clients, queries), strict=True):
        for silo in silos:
            assert np.array_equal(silo.exact_sum(query), expected), query.statistic.name


@pytest.mark.parametrize("unit", ["point", "client"])
@pytest.mark.parametrize("method", ["paper", "refined"])
def test_a_run_in_spark_gives_the_bits_of_this_process(frame, unit, method):
    server = np.random.default_rng(6).standard_normal((40, 3))
    prepared = prepare(Settings(2, 1.0, privacy_unit=unit, method=method, lloyd_steps=1, client_size=50), server, len(CLIENTS))
    expected = run(InMemoryFederation(CLIENTS), prepared, seed=3)
    found = run(LocalFederation(SparkSilo(frame, "who")), prepared, seed=3)
    assert np.array_equal(found.centers, expected.centers)
    assert np.array_equal(found.counts, expected.counts)


def test_a_cohort_is_asked_and_nobody_else(frame):
    silo = SparkSilo(frame, "who")
    cohort = np.arange(len(CLIENTS)) % 3 == 0
    expected = ArraySilo([points for points, taken in zip(CLIENTS, cohort, strict=True) if taken]).exact_sum(BOUNDED)
    assert np.array_equal(silo.exact_sum(BOUNDED, cohort), expected)
    assert not silo.exact_sum(BOUNDED, np.zeros(len(CLIENTS), dtype=bool)).any()


def test_a_frame_that_was_read_once_is_not_read_again_for_one_client(frame):
    silo = SparkSilo(frame.limit(200), "who")
    assert plan_of(silo.as_one_client()).count("Scan ExistingRDD") == plan_of(silo).count("Scan ExistingRDD") == 1
    assert np.array_equal(silo.as_one_client().exact_sum(MOMENT), silo.exact_sum(MOMENT))


def test_one_client_is_all_rows(frame):
    one, here = SparkSilo(frame, "who").as_one_client(), ArraySilo([np.concatenate(CLIENTS)])
    assert one.n_clients == 1
    for query in (MOMENT, BOUNDED):
        assert np.array_equal(one.exact_sum(query), here.exact_sum(query))
        assert np.array_equal(SparkSilo(frame.drop("who")).exact_sum(query), here.exact_sum(query))
        assert np.array_equal(SparkSilo(frame.drop("who").where("a > 1e9")).exact_sum(query), query.nothing())


def test_a_client_of_most_rows_goes_on_through_many_batches(spark, tmp_path):
    clients = [RNG.standard_normal((n, 3)) for n in (3, 4000, 5)]
    silo = SparkSilo(frame_of(spark, tmp_path / "points", table_of(clients)), "who")
    assert np.array_equal(silo.exact_sum(BOUNDED), ArraySilo(clients).exact_sum(BOUNDED))
    assert sorted(len(points) for points in silo.nonprivate_clients()) == [3, 5, 4000]


def test_a_worker_that_is_killed_changes_nothing(spark, frame, tmp_path):
    mark = tmp_path / "killed"

    def points(table):
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), 9)
        return np.column_stack([table[name] for name in "abc"])

    files = [name.removeprefix("file://").removeprefix("file:") for name in frame.inputFiles()]
    for query, more in ((MOMENT, ()), (MOMENT, files), (BOUNDED, ())):
        silo = SparkSilo(frame, "who", points=points, reads=list("abc"), columns=list("abc"), files=more)
        mark.unlink(missing_ok=True)
        assert np.array_equal(silo.exact_sum(query), ArraySilo(CLIENTS).exact_sum(query))
        assert mark.exists()


def test_missing_cells_leave_their_row_out_and_a_missing_name_is_a_client(spark, tmp_path):
    whose, of_nobody = ["x", "x", None, None, ""], [False, False, True, True, False]
    points = np.array([[1.0, 2, 3], [4, np.nan, 6], [7, 8, 9], [1, 1, 1], [2, 2, 2]])
    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in zip("abc", points.T, strict=True)} | {"who": whose})
    silo = SparkSilo(frame_of(spark, tmp_path / "points", table), "who")
    assert silo.n_clients == 3
    assert np.array_equal(silo.exact_sum(BOUNDED), ArraySilo([points[:1], points[of_nobody], points[4:]]).exact_sum(BOUNDED))


@pytest.mark.parametrize("kind", [pa.float32(), pa.int8(), pa.bool_(), pa.decimal128(10, 2), pa.int64()])
def test_numbers_of_any_kind_are_taken(spark, tmp_path, kind):
    columns = {name: pa.array([0, 1, 1, None], type=pa.float64()).cast(pa.int8()).cast(kind) for name in "abc"}
    made = frame_of(spark, tmp_path / "points", pa.table(columns))
    for silo in (SparkSilo(made), SparkSilo(made, files=files_of(tmp_path / "points"))):
        assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo([np.array([[0.0] * 3, [1] * 3, [1] * 3])]).exact_sum(MOMENT))


def test_workers_read_files_with_other_columns_as_spark_does(spark, tmp_path):
    """A column that a file lacks is missing in its rows, its order and type are its own, and more columns do no harm."""
    frame_of(spark, tmp_path / "points", pa.table({name: [1.0, 2, 3] for name in "abc"}))
    pq.write_table(pa.table({"c": [1, 2], "d": ["x", "y"], "b": [1, 2], "a": [1, 2]}), tmp_path / "points" / "8.parquet")
    pq.write_table(pa.table({"a": [1.0], "c": [1.0]}), tmp_path / "points" / "9.parquet")
    silo = engine_silo("spark", str(tmp_path / "points"), None)
    assert (silo.columns, silo.n_clients) == (("a", "b", "c"), 1)
    rows = np.array([[1.0] * 3, [2] * 3, [3] * 3, [1] * 3, [2] * 3])
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo([rows]).exact_sum(MOMENT))


def test_many_files_are_not_looked_into_before_a_job(spark, tmp_path, monkeypatch):
    made = frame_of(spark, tmp_path / "points", table_of(CLIENTS))
    monkeypatch.setattr(spark_job, "_MANY_FILES", 3)
    silo = SparkSilo(made, "who", files=files_of(tmp_path / "points"))
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo(CLIENTS).exact_sum(MOMENT))


def test_one_column_of_vectors(spark, tmp_path):
    rows = [list(point) for point in CLIENTS[0]] + [None, [1.0, 2.0], [1.0, 2.0, None]]
    table = pa.table({"embedding": pa.array(rows, type=pa.list_(pa.float64()))})
    silo = SparkSilo(frame_of(spark, tmp_path / "points", table))
    assert silo.columns == ("x0", "x1", "x2")
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo(CLIENTS[:1]).exact_sum(MOMENT))


def test_vectors_of_spark_ml(spark):
    from pyspark.ml.linalg import Vectors

    silo = SparkSilo(spark.createDataFrame([(Vectors.dense(point),) for point in CLIENTS[0]], ["features"]))
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo(CLIENTS[:1]).exact_sum(MOMENT))


@pytest.mark.parametrize("drawn", ["rand()", "randn()", "a + rand() * 0", "cast(ascii(uuid()) as double)", "monotonically_increasing_id()"])
def test_a_frame_that_draws_is_read_once(frame, drawn):
    silo = SparkSilo(frame.selectExpr("a", "b", f"{drawn} as c"))
    assert np.array_equal(silo.exact_sum(MOMENT), silo.exact_sum(MOMENT))
    assert "RDD" in plan_of(silo)


def plan_of(silo):
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()) as printed:
        silo._frame.explain(extended=True)
    return printed.getvalue()


def test_what_depends_on_the_order_of_rows_is_read_once_and_a_table_is_not(frame):
    assert "RDD" in plan_of(SparkSilo(frame.drop("who").limit(50)))
    assert "RDD" in plan_of(SparkSilo(frame.drop("who").sample(0.5, seed=3)))
    assert "RDD" in plan_of(SparkSilo(frame.groupBy("who").avg("a"), "who"))
    assert "RDD" not in plan_of(SparkSilo(frame.select("a", "b", "who").where("a > 0.5 and b is not null"), "who"))


def test_a_run_brings_the_rows_of_clients_together_once(frame):
    silo = SparkSilo(frame, "who").for_run()
    kept = silo._together
    assert kept.storageLevel.useMemory
    assert kept.storageLevel.useDisk
    for _ in range(2):
        assert np.array_equal(silo.exact_sum(BOUNDED), ArraySilo(CLIENTS).exact_sum(BOUNDED))
    assert np.array_equal(silo.exact_sum(MOMENT), ArraySilo(CLIENTS).exact_sum(MOMENT))
    silo = None
    gc.collect()
    assert not kept.storageLevel.useMemory


def test_labels_are_a_column_that_spark_computes(frame, spark, tmp_path):
    options = {"n_clusters": 2, "epsilon": 4.0, "random_state": 0}
    model = FedDPKMeans(**options).fit(frame.select("a", "b"))
    labelled = model.predict(frame)
    assert labelled.columns == [*frame.columns, "cluster"]
    rows = labelled.toArrow()
    points = np.column_stack([rows["a"], rows["b"]])
    assert np.array_equal(rows["cluster"], FedDPKMeans(**options).fit(points).predict(points))
    with pytest.raises(FedDPError, match="must have no column 'cluster'"):
        model.predict(labelled)
    with pytest.raises(FedDPError, match="must have the column 'b', got a"):
        model.predict(frame.select("a"))
    vectors = FedDPKMeans(**options).fit(frame.selectExpr("array(a, b) as v"))
    assert np.array_equal(vectors.predict(frame.selectExpr("who", "array(a, b) as w")).toArrow()["cluster"], rows["cluster"])
    with pytest.raises(FedDPError, match="must have one column of arrays of numbers, or the columns of the fit, got 0 of arrays"):
        vectors.predict(frame)
    schema = FedDPKMeans(**options, schema={"a": {"range": [-3, 3]}, "who": {"categories": ["1", "2"]}}).fit(frame)
    gaps = frame_of(spark, tmp_path / "gaps", pa.table({"who": ["1", "2", "9"], "a": [1.0, None, 2.0]}), 1)
    found = schema.predict(gaps).toArrow()
    assert np.array_equal(found["cluster"], schema.predict(found.select(["who", "a"])))


NAMES = ["a.b", "back`tick", "white space", "wer wohnt.wo?"]


def test_columns_may_have_any_name(spark, tmp_path):
    """Spark takes a dot for a step into a structure, and a backtick for the end of a name."""
    *numbers, client = NAMES
    table = table_of(CLIENTS, numbers).rename_columns(NAMES)
    odd = frame_of(spark, tmp_path / "points", table)
    files = engine_silo("spark", str(tmp_path / "points"), None, client)
    for silo in (SparkSilo(odd, client), files):
        assert silo.columns == tuple(numbers)
        for query in (MOMENT, BOUNDED):
            assert np.array_equal(silo.exact_sum(query), ArraySilo(CLIENTS).exact_sum(query))
    vectors = odd.selectExpr("array(`a.b`, `back``tick`, `white space`) as `v.w`")
    assert np.array_equal(SparkSilo(vectors).exact_sum(MOMENT), ArraySilo(CLIENTS).exact_sum(MOMENT))
    schema = {"a.b": {"range": [-3, 3]}, "back`tick": {"range": [-3, 3]}}
    options = {"n_clusters": 2, "epsilon": 4.0, "random_state": 0, "schema": schema}
    here = FedDPKMeans(**options).fit(table.select(["a.b", "back`tick"]))
    assert np.array_equal(FedDPKMeans(**options).fit(odd).cluster_centers_, here.cluster_centers_)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda frame: SparkSilo(frame.selectExpr("a", "b as a")), "must have different names, got two of one name"),
        (
            SparkSilo,
            "must hold numbers only, got string in 'who': leave the column out, or say what it holds by a schema",
        ),
        (lambda frame: SparkSilo(frame.selectExpr("a", "interval 3 days as c")), "got interval day in 'c'"),
        (lambda frame: SparkSilo(frame, "whose"), "must have the column 'whose', got a, b, c, who"),
        (lambda frame: SparkSilo(frame.select("who"), "who"), "must have at least one column of numbers, got none"),
        (lambda frame: SparkSilo(frame.selectExpr("a", "array(b) as v"), "v"), "must hold words or numbers, got array<double> in 'v'"),
        (lambda frame: SparkSilo(frame.where("a > 1e9"), "who"), "clients must be at least one, got none"),
        (lambda frame: SparkSilo(frame.where("a > 1e9").selectExpr("array(b) as v")), "must have one that is not empty, got none"),
        (lambda frame: SparkSilo([[1.0]]), "must be made of a Spark data frame, got list"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_in_one_line(frame, made, said):
    with pytest.raises(FedDPError, match=said.replace("(", r"\(")):
        made(frame)


def test_a_job_that_fails_is_one_line_without_a_cell(frame):
    silo = SparkSilo(frame.selectExpr("a", "b", "cast(who as double) as c"))
    with pytest.raises(FedDPError, match="a Spark job must end without an error") as refused:
        silo.exact_sum(MOMENT)
    assert "client 1" not in str(refused.value)


CONNECT = """
import sys, numpy as np
from pyspark.sql import SparkSession
from feddp_kmeans.silos.spark_silo import SparkSilo
from tests.silos.test_spark_silo import BOUNDED, MOMENT
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
silo = SparkSilo(spark.read.parquet(sys.argv[1]), "who")
drawn = SparkSilo(spark.read.parquet(sys.argv[1]).limit(100), "who")
np.save(sys.argv[2], [silo.exact_sum(MOMENT), silo.exact_sum(BOUNDED)])
spark.stop()
"""


def alone(script, folder):
    """Run a script in a process of its own, with the folder of points and the file for sums."""
    done = subprocess.run(
        [sys.executable, "-c", script, folder / "points", folder / "sums.npy"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_spark_connect_gives_the_same_bits(spark, tmp_path):
    pytest.importorskip("grpc_status", reason="Spark Connect needs the extra 'connect' of pyspark: make spark")
    frame_of(spark, tmp_path / "points", table_of(CLIENTS))
    alone(CONNECT, tmp_path)
    expected = [ArraySilo(CLIENTS).exact_sum(query) for query in (MOMENT, BOUNDED)]
    assert np.array_equal(np.load(tmp_path / "sums.npy"), expected)


LOST = """
import os, sys, threading, time
from pathlib import Path
import numpy as np, pyspark
os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1"}
from pyspark.sql import SparkSession
from feddp_kmeans.silos.spark_silo import SparkSilo
from tests.silos.test_spark_silo import MOMENT

def points(table):
    time.sleep(1)
    return np.column_stack([table[name] for name in "abc"])

def is_executor(folder, application):
    try:
        words = (folder / "cmdline").read_bytes()
    except OSError:
        return False
    return b"ExecutorBackend" in words and application.encode() in words

def kill(application):
    executors = []
    while len(executors) < 2:
        time.sleep(0.2)
        executors = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if is_executor(folder, application)]
    time.sleep(3)
    os.kill(executors[0], 9)
    print("killed one of", len(executors))

settings = {"spark.ui.enabled": "false", "spark.executor.memory": "512m"}
settings |= {"spark.driver.host": "127.0.0.1", "spark.sql.files.maxPartitionBytes": "4k"}
spark = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=settings).getOrCreate()
silo = SparkSilo(spark.read.parquet(sys.argv[1]), points=points, reads=list("abc"), columns=list("abc"))
threading.Thread(target=kill, args=[spark.sparkContext.applicationId], daemon=True).start()
np.save(sys.argv[2], silo.exact_sum(MOMENT))
spark.stop()
"""


def test_an_executor_that_is_lost_changes_nothing(spark, tmp_path):
    frame_of(spark, tmp_path / "points", table_of(CLIENTS), parts=12)
    assert "killed one of 2" in alone(LOST, tmp_path).stdout
    assert np.array_equal(np.load(tmp_path / "sums.npy"), ArraySilo(CLIENTS).exact_sum(MOMENT))


def test_the_estimator_takes_a_frame(frame):
    options = {"n_clusters": 2, "epsilon": 2.0, "random_state": 0, "box": (-4.0, 4.0)}
    here = FedDPKMeans(**options).fit(np.concatenate(CLIENTS))
    assert np.array_equal(FedDPKMeans(**options).fit(frame.drop("who")).cluster_centers_, here.cluster_centers_)
    owners = np.repeat(np.arange(len(CLIENTS)), SIZES)
    here = FedDPKMeans(**options, privacy_unit="client").fit(np.concatenate(CLIENTS), groups=owners)
    there = FedDPKMeans(**options, privacy_unit="client").fit(frame, groups="who")
    assert np.array_equal(there.cluster_centers_, here.cluster_centers_)


def test_a_schema_is_applied_inside_the_job(spark, tmp_path):
    table = pa.table({"age": RNG.integers(18, 90, 500), "sex": RNG.choice(["f", "m", "?"], 500), "who": np.arange(500) % 7})
    schema = {"age": {"range": [18, 90]}, "sex": {"categories": ["f", "m"]}}
    frame = frame_of(spark, tmp_path / "points", table)
    for unit, groups in (("point", None), ("client", "who")):
        options = {"n_clusters": 2, "epsilon": 4.0, "random_state": 0, "schema": schema, "privacy_unit": unit}
        here = FedDPKMeans(**options).fit(table.select(["age", "sex"]), groups=groups and table["who"].to_numpy())
        assert np.array_equal(FedDPKMeans(**options).fit(frame, groups=groups).cluster_centers_, here.cluster_centers_)
