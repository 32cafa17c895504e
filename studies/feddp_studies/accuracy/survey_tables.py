"""Mixed tables of the census surveys: three numbers and some categories per person, encoded as ``feddp encode`` does it.

The rows are of one employment class or one state, the server's 1,500 of another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn

_SERVER_ROWS, _MOST_ROWS = 1_500, 54_000
_NUMBERS = (NumberColumn("AGEP", 17, 95), NumberColumn("WKHP", 1, 98), NumberColumn("SCHL", 1, 24))
_CODES = {"COW": 8, "MAR": 5, "SEX": 2, "RAC1P": 9, "CIT": 5}
"""Categories have the codes from 1 to this number."""


@dataclass(frozen=True)
class SurveyTable:
    """Which rows, which columns, how many clusters."""

    year: int
    column: str
    """The rows are those with ``value`` in this column, the server's those with ``server``."""
    value: int | str
    server: int | str
    categories: tuple[str, ...]
    k: int


TABLES: Mapping[str, SurveyTable] = {
    "table-federal-2024": SurveyTable(2024, "COW", 5, 4, ("MAR", "SEX", "RAC1P", "CIT"), 5),
    "table-owners-2024": SurveyTable(2024, "COW", 7, 6, ("MAR", "SEX"), 4),
    "table-michigan-2024": SurveyTable(2024, "state_fips", 26, 39, ("COW", "MAR", "SEX", "RAC1P"), 5),
    "table-alabama-2024": SurveyTable(2024, "state_fips", 1, 28, ("MAR", "SEX", "RAC1P"), 4),
    "table-federal-2018": SurveyTable(2018, "COW", 5, 3, ("MAR", "SEX", "RAC1P"), 4),
    "table-oregon-2018": SurveyTable(2018, "state", "OR", "WA", ("COW", "MAR", "SEX"), 5),
}
FILES = {2018: "acs_income_2018.parquet", 2024: "acs_2024_puma.parquet"}


def survey_table(folder: Path | str, name: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the points of the named table, at most 54,000, and those of 1,500 server rows."""
    wanted = TABLES[name]
    columns = [column.name for column in _NUMBERS] + list(wanted.categories)
    table = pq.read_table(Path(folder) / FILES[wanted.year], columns=sorted({wanted.column, *columns}))
    rng = np.random.default_rng(seed)
    key = table[wanted.column].cast(pa.string())
    return _draw(rng, table, key, wanted, wanted.value, _MOST_ROWS), _draw(rng, table, key, wanted, wanted.server, _SERVER_ROWS)


def _draw(rng: np.random.Generator, table: pa.Table, key: pa.ChunkedArray, wanted: SurveyTable, value: int | str, most: int) -> FloatArray:
    rows = np.flatnonzero(pc.equal(key, str(value)).to_numpy())
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    chosen = table.take(rows)
    columns: list[Column] = [*_NUMBERS]
    columns += [CategoryColumn(name, tuple(map(str, range(1, _CODES[name] + 1)))) for name in wanted.categories]
    return np.hstack([column.encode(chosen[column.name].combine_chunks(), ".") for column in columns])
