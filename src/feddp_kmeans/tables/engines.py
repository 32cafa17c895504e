"""Tables in an engine of the user's, Spark or Dask: plain numbers, or encoded by a schema where the rows lie."""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.tables.client_files import Where, client_paths
from feddp_kmeans.tables.formats import read_schema
from feddp_kmeans.tables.schema import Schema

SPARK, DASK = "spark", "dask"
"""What adds up the rows of Parquet files, if not this process."""


def is_spark(X: Any) -> bool:
    """Return whether this is a data frame of Spark, or of Spark Connect."""
    return type(X).__module__.startswith("pyspark.sql.") and hasattr(X, "mapInArrow")


def spark_federation(frame: Any, client: Any, schema: Schema | None) -> tuple[LocalFederation, list[str] | None]:
    """Return the rows of a frame as a federation, and the columns of numbers that it reads; None if points are made of others.

    ``client`` names the column of clients, None if all rows are one client's.
    """
    if not (client is None or isinstance(client, str)):
        raise InputError(f"groups of a Spark data frame must be the name of a column, got {type(client).__name__}.")
    silo = _spark_silo(frame, client, schema)
    return LocalFederation(silo), list(silo.columns) if schema is None and {*silo.columns} <= {*frame.columns} else None


def spark_labels(
    frame: Any, schema: Schema | None, names: Sequence[str] | None, dimension: int, labels: Callable[[FloatArray], IntArray]
) -> Any:
    """Return a frame with a column of labels. Points are made by the schema, of the columns of these names, or of the column of arrays."""
    from feddp_kmeans.silos.spark_job import NumberColumns
    from feddp_kmeans.silos.spark_silo import vector_column, with_labels

    if schema is not None:
        return with_labels(frame, schema.encode, schema.names, labels)
    points = NumberColumns(tuple(names)) if names is not None else vector_column(frame, dimension)
    return with_labels(frame, points, points.reads, labels)


def engine_silo(
    engine: str,
    where: Where,
    schema: Schema | None,
    client_column: str | None = None,
    *,
    ignore: Collection[str] = (),
    like: Sequence[str] | None = None,
) -> Silo:
    """Return all rows of Parquet files, which the engine reads. They are one client's, or those of a column's values.

    Columns are those of the schema, those in ``like``, or all but the ignored ones.
    """
    if engine not in {SPARK, DASK}:
        raise InputError(f"--silo must be {SPARK} or {DASK}, got {engine!r:.80}.")
    paths = client_paths(where)
    for path in paths:
        if path.suffix.lower() != ".parquet":
            raise InputError(f"--silo {engine} must be given Parquet files, got {path.name!r:.80}.")
    names = [name for name in like or read_schema(paths[0]).names if name not in {*ignore, client_column}]
    if engine == DASK:
        return _dask_silo([*map(str, paths)], client_column, schema, names)
    taken = None if schema else [*names, *([client_column] if client_column else [])]
    return _spark_silo(_spark_frame(paths, taken), client_column, schema, [str(path.resolve()) for path in paths])


def _spark_frame(paths: Sequence[Path], names: Sequence[str] | None) -> Any:
    """Return the rows of Parquet files, with these columns or all."""
    from feddp_kmeans.silos.spark_silo import ended, quoted

    session = _session()
    frame = ended(lambda: session.read.parquet(*map(str, paths)))
    return frame if names is None else ended(lambda: frame.select(*map(quoted, names)))


def _spark_silo(frame: Any, client: str | None, schema: Schema | None, files: Sequence[str] = ()) -> Silo:
    from feddp_kmeans.silos.spark_silo import SparkSilo

    if schema is None:
        return SparkSilo(frame, client, files=files)
    schema.check_columns(frame.limit(0).toArrow().schema, "the data frame")
    return SparkSilo(frame, client, points=schema.encode, reads=schema.names, columns=schema.columns)


def _session() -> Any:
    """Return the session that Spark's own settings and variables describe; without any, on all cores of this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("points in Spark need pyspark and Java: pip install 'feddp-kmeans[spark]'.") from None
    from pyspark.errors import PySparkException, PySparkRuntimeError

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    try:
        return SparkSession.builder.appName("feddp").config(map=quiet).getOrCreate()
    except (PySparkException, PySparkRuntimeError):
        raise InputError("a session of Spark must start: is Java 17 or later installed? Spark's message above says more.") from None


def _dask_silo(paths: list[str], client: str | None, schema: Schema | None, names: list[str]) -> Silo:
    from feddp_kmeans.silos.dask_silo import DaskSilo

    if client is not None:
        raise InputError("--client-column must be given without --silo dask, which does not bring a client's rows together: --silo spark.")
    try:
        import dask.dataframe as dd
    except ImportError:
        raise InputError("points on a cluster need Dask: pip install 'feddp-kmeans[dask]'.") from None
    frame = dd.read_parquet(paths, columns=list(schema.names) if schema else names)
    return DaskSilo.of(frame).as_one_client() if schema is None else _encoded(frame, schema)


def _encoded(frame: Any, schema: Schema) -> Silo:
    from dask.delayed import delayed

    from feddp_kmeans.silos.dask_silo import DaskSilo

    return DaskSilo([delayed(schema.encode)(part) for part in frame.to_delayed()], schema.columns).as_one_client()
