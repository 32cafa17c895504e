"""Points in a Spark data frame: every partition computes its own sum where it lies, and the sums are added in a tree. Points never travel.

Needs the extra "spark" and Java here, and this package on the workers. Only data frames are used, so a session of Spark Connect will do.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from copy import copy
from io import StringIO
from typing import Any
from weakref import finalize

import pyarrow as pa

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.silos.silo import Silo, numbered_columns
from feddp_kmeans.silos.spark_job import (
    CLIENT,
    LABEL,
    SUM,
    NumberColumns,
    Points,
    Renamed,
    SumOfClients,
    SumOfOneClient,
    SumOfPieces,
    SumOfPoints,
    SumOfSums,
    VectorColumn,
    WithLabels,
    added,
    codes,
    pieces_of,
)
from feddp_kmeans.statistics.query import Query

_ADDERS = 16
"""Tasks that add up the sums of all partitions, before this process adds up theirs."""
_SMALL = 1 << 13
"""Bytes of a sum that every partition sends here itself: adders would take longer."""

_NUMBER = r"(tinyint|smallint|int|bigint|float|double|boolean|decimal\([0-9,]+\))"
_NESTED = ("array", "map", "struct", "vector", "variant")
_SAME_AGAIN = {"Project", "Filter", "Relation", "RelationV2", "LocalRelation"}
_SAME_FUNCTIONS = {"isnotnull", "isnull", "cast", "coalesce"}


class SparkSilo(Silo):
    """The rows of a Spark data frame. ``client`` names the column that says whose a row is; without it all rows are one client's.

    ``points`` makes points of the columns ``reads``, with the names ``columns``. Without it all columns but the client's must hold
    numbers, or be one column of vectors. For a statistic of clients one worker holds all rows of a client, so they must fit there.

    A frame whose rows could differ from one reading to the next, since rows are drawn, limited, joined or aggregated, is read once and
    kept by the executors: then an executor that is lost can end a run, but not change it. ``files`` are the Parquet files of numbers that
    the frame is made of, if the workers may read them themselves for statistics of points.
    """

    def __init__(
        self,
        frame: Any,
        client: str | None = None,
        *,
        points: Points | None = None,
        reads: Sequence[str] = (),
        columns: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> None:
        frame = _settled(frame)
        kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        if len(kinds) < len(frame.columns):
            raise InputError("columns of a data frame must have different names, got two of one name.")
        own = {name: f"c{number}" for number, name in enumerate(kinds)}
        frame = frame.toDF(*own.values())
        for name in (*reads, *([] if client is None else [client])):
            if name not in kinds:
                raise InputError(f"a data frame must have the column {name!r:.80}, got {', '.join(kinds):.500}.")
        if client is not None and kinds[client].startswith(_NESTED):
            raise InputError(f"the column of clients must hold words or numbers, got {kinds[client]:.80} in {client!r:.80}.")
        if points is None:
            frame, numbers = _numeric(frame, own, {name: kind for name, kind in kinds.items() if name != client})
            points, reads, columns = numbers, numbers.reads, numbers.columns
        # As bytes: what Spark takes to be equal is then exactly what we take to be equal.
        key = [] if client is None else [f"cast(cast({own[client]} as string) as binary) as {quoted(CLIENT)}"]
        self._frame = frame.selectExpr(*key, *(own[name] for name in reads))
        self._points: Points = Renamed(points, tuple(reads))
        self._of_files = points, tuple(reads), () if isinstance(points, VectorColumn) else pieces_of(files)
        self._together: Any = None
        self._columns = tuple(columns)
        self.dimension = len(self._columns)
        self.n_clients = 1 if client is None else ended(self._clients().count)
        if not self.n_clients:
            raise InputError("clients must be at least one, got none.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self._columns

    def for_run(self) -> "SparkSilo":
        """Return this silo for one run. The rows of a client are brought together once, by the first statistic of clients.

        The executors keep them until the run ends; what is lost with an executor is made again.
        """
        made = copy(self)
        if CLIENT in self._frame.columns:
            made._together = self._rows_by_client().persist()  # noqa: SLF001 - our own
            finalize(made, _let_go, made._together).atexit = False  # noqa: SLF001 - our own
        return made

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic over the clients of the cohort (None: all), without noise: never for release."""
        taken = None
        if cohort is not None:
            keys = [row[0] for row in ended(self._clients().sort(CLIENT).collect)]
            taken = pa.array([key for key, is_taken in zip(keys, cohort, strict=True) if is_taken], type=pa.binary())
        n_pieces = len(self._of_files[-1])
        if not query.statistic.whole_clients and n_pieces:
            numbers = self._frame.sparkSession.range(0, n_pieces, 1, n_pieces)
            sums = numbers.mapInArrow(SumOfPieces(query, *self._of_files), f"{SUM} binary")
        elif not query.statistic.whole_clients:
            sums = self._frame.mapInArrow(SumOfPoints(query, self._points), f"{SUM} binary")
        elif CLIENT in self._frame.columns:
            together = self._rows_by_client() if self._together is None else self._together
            sums = together.mapInArrow(SumOfClients(query, self._points, taken), f"{SUM} binary")
        else:
            sums = self._frame.coalesce(1).mapInArrow(SumOfOneClient(query, self._points), f"{SUM} binary")
        if 8 * query.size > _SMALL:
            sums = sums.repartition(_ADDERS).mapInArrow(SumOfSums(query), f"{SUM} binary")
        return added(query, (row[0] for row in ended(sums.collect)))

    def as_one_client(self) -> "SparkSilo":
        """Return the same points as those of one client."""
        one = copy(self)
        one._frame, one._together, one.n_clients = self._frame.drop(CLIENT), None, 1  # noqa: SLF001 - our own
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points, which are brought here for this."""
        table = self._frame.toArrow()
        points = self._points(table)
        if CLIENT not in table.column_names:
            return iter([points])
        return TableSilo.from_groups(points, codes(table)).nonprivate_clients()

    def _rows_by_client(self) -> Any:
        return self._frame.repartition(CLIENT).sortWithinPartitions(CLIENT)

    def _clients(self) -> Any:
        return self._frame.select(quoted(CLIENT)).distinct()


def _numeric(frame: Any, own: dict[str, str], kinds: dict[str, str]) -> tuple[Any, NumberColumns | VectorColumn]:
    """Return the frame, and how the columns of these kinds become points: numbers in all, or vectors in the only one.

    In the frame they have names of our ``own``.
    """
    if not kinds:
        raise InputError("a data frame must have at least one column of numbers, got none.")
    first = next(iter(kinds))
    if len(kinds) == 1 and kinds[first] == "vector":
        from pyspark.ml.functions import vector_to_array

        frame = frame.withColumn(own[first], vector_to_array(own[first]))
        kinds = {first: "array<double>"}
    if len(kinds) == 1 and re.fullmatch(f"array<{_NUMBER}>", kinds[first]):
        found = ended(frame.selectExpr(f"size({own[first]}) as n").where("n > 0").first)
        if found is None:
            raise InputError(f"the column {first!r:.80} of vectors must have one that is not empty, got none.")
        return frame, VectorColumn(first, numbered_columns(found[0]))
    words = [name for name, kind in kinds.items() if not re.fullmatch(_NUMBER, kind)]
    if words:
        raise InputError(
            f"a data frame must hold numbers only, got {kinds[words[0]]:.80} in {words[0]!r:.80}: leave the column out, or say what it "
            "holds by a schema (docs/encoding.md)."
        )
    return frame, NumberColumns(tuple(kinds))


def with_labels(frame: Any, points: Points, reads: Sequence[str], labels: Callable[[FloatArray], IntArray]) -> Any:
    """Return the frame with one column more, the label of each row, which Spark computes when the rows are asked for.

    ``points`` makes points of the columns ``reads``.
    """
    from pyspark.sql.types import LongType, StructField, StructType

    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    if LABEL in kinds:
        raise InputError(f"a data frame must have no column {LABEL!r}, which is that of the labels; got one.")
    for name in reads:
        if name not in kinds:
            raise InputError(f"a data frame must have the column {name!r:.80}, got {', '.join(kinds):.500}.")
    return frame.mapInArrow(WithLabels(points, tuple(reads), labels), StructType([*frame.schema.fields, StructField(LABEL, LongType())]))


def vector_column(frame: Any, dimension: int) -> VectorColumn:
    """Return the frame's only column of arrays, as points of this dimension."""
    arrays = [field.name for field in frame.schema.fields if re.fullmatch(f"array<{_NUMBER}>", field.dataType.simpleString())]
    if len(arrays) != 1:
        raise InputError(f"a data frame must have one column of arrays of numbers, or the columns of the fit, got {len(arrays)} of arrays.")
    return VectorColumn(arrays[0], numbered_columns(dimension))


def ended(job: Callable[[], Any]) -> Any:
    """Return what a job returns. Spark's own message may quote cells, so it is left to Spark's log."""
    from pyspark.errors import PySparkException

    try:
        return job()
    except PySparkException as error:
        raise InputError(f"a Spark job must end without an error, got {type(error).__name__}; Spark's log says more.") from None


def _let_go(kept: Any) -> None:
    with suppress(Exception):  # the session may have ended, and what it kept with it
        kept.unpersist()


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _settled(frame: Any) -> Any:
    """Return a frame that has the same rows whenever it is read: itself, if it is a table with some columns and rows left out."""
    if not hasattr(frame, "mapInArrow"):
        raise InputError(f"a Spark silo must be made of a Spark data frame, got {type(frame).__name__}.")
    with redirect_stdout(StringIO()) as printed:  # Spark has no other way to show a plan, in a session of Spark Connect
        ended(lambda: frame.explain(extended=True))
    optimized = printed.getvalue().partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    steps = re.findall(r"^[ :+-]*(\w+)", optimized, re.MULTILINE)
    functions = {name.lower() for name in re.findall(r"(\w+)\(", optimized)}
    is_same = bool(steps) and {*steps} <= _SAME_AGAIN and functions <= _SAME_FUNCTIONS
    return frame if is_same else ended(frame.localCheckpoint)
