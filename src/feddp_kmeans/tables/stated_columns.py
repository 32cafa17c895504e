"""What the options of a command say about columns: public, and the same for all its tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from feddp_kmeans.tables.column import Column


@dataclass(frozen=True, kw_only=True)
class StatedColumns:
    """A schema file, what columns hold, and which are left out. May be given as plain data."""

    schema: str | None = None
    """Path of a schema file."""
    ranges: tuple[str, ...] = ()
    """As in NAME=LOW:HIGH."""
    categories: tuple[str, ...] = ()
    """As in NAME=WORD,WORD."""
    ignore: tuple[str, ...] = ()
    """Names of columns."""

    def fields(self) -> "tuple[Column, ...]":
        """Return the columns that ranges and categories state, without those that are left out."""
        from feddp_kmeans.tables.short_schema import columns_of_options  # here, so that commands start fast

        return tuple(column for column in columns_of_options(self.ranges, self.categories) if column.name not in self.ignore)


NOTHING_STATED = StatedColumns()
