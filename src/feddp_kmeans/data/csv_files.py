"""Comma-separated files, whatever their separator. The delimiter and the encoding are told from the header alone, which is public."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from feddp_kmeans.data.cells import check_distinct, is_numeric

DELIMITERS = ",;\t|"
_MOST_HEADER = 1 << 20


@dataclass(frozen=True)
class CsvFile:
    """One delimited text file with a header."""

    path: Path

    @cached_property
    def encoding(self) -> str:
        """Return UTF-16 where the file starts with its mark, else UTF-8 (with or without a mark)."""
        with self.path.open("rb") as file:
            start = file.read(2)
        return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"

    @cached_property
    def delimiter(self) -> str:
        """Return the delimiter that the header has most of, outside quotes; a comma where it has none."""
        with self.path.open(encoding=self.encoding) as file:
            header = file.readline(_MOST_HEADER)
        bare = "".join(header.split('"')[::2])
        return max(DELIMITERS, key=bare.count)

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the names and types of the columns, from the first block."""
        return self._inferred[0]

    @property
    def decimal(self) -> str:
        """Return the decimal mark of the numbers, as far as the types were told by it."""
        return self._inferred[1]

    @property
    def cell_decimal(self) -> str:
        """Return the mark that a cell of text may have for a decimal point: a comma too where a comma is not the delimiter."""
        return "." if self.delimiter == "," else ","

    def batches(self, columns: Sequence[str], rows: int, *, text: bool) -> Iterator[pa.Table]:
        """Yield these columns, as text or as numbers, at most ``rows`` rows at a time."""
        # Numbers are read as floats wherever they stand, so that 1 in the first block and 1.5 in a later one are one column.
        kinds = {field.name: field.type for field in self.schema}
        flags = () if text else [name for name in columns if pa.types.is_boolean(kinds[name])]
        types = {name: pa.string() if text else pa.bool_() if name in flags else pa.float64() for name in columns}
        nulls: dict[str, Any] = {"null_values": []} if text else {}
        options = pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            decimal_point="." if text else self.decimal,
            strings_can_be_null=False,
            **nulls,
        )
        with self._open(options) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, rows):
                    table = pa.Table.from_batches([batch.slice(start, rows)])
                    yield table.replace_schema_metadata({"decimal": self.cell_decimal})

    @cached_property
    def _inferred(self) -> tuple[pa.Schema, str]:
        found = self._schema(".")
        if self.delimiter != "," and not all(is_numeric(field.type) for field in found):
            other = self._schema(",")
            if _n_numeric(other) > _n_numeric(found):
                return other, ","
        return found, "."

    def _schema(self, decimal: str) -> pa.Schema:
        with self._open(pa_csv.ConvertOptions(decimal_point=decimal)) as reader:
            schema = reader.schema
        check_distinct(schema.names, self.path.name)
        return schema

    def _open(self, options: pa_csv.ConvertOptions) -> Any:
        return pa_csv.open_csv(
            self.path,
            convert_options=options,
            read_options=pa_csv.ReadOptions(encoding=self.encoding),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
        )


def _n_numeric(schema: pa.Schema) -> int:
    return sum(is_numeric(field.type) for field in schema)
