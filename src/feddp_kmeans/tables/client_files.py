"""Tables on disk as clients: one file per client. A file that is broken or of the wrong kind is refused when it is opened."""

import difflib
import glob
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import InputError, UnreadableFileError
from feddp_kmeans.federation.recorded import RECORD
from feddp_kmeans.tables.advice import other_columns, refused_columns
from feddp_kmeans.tables.cells import as_plain, as_text, check_present, is_numeric, is_text, listed
from feddp_kmeans.tables.column import Column
from feddp_kmeans.tables.formats import advice_for, has_names, has_types, is_svmlight, kind_of, read_schema, stem_of
from feddp_kmeans.tables.point_files import PIECE, BrokenFile, Pace, PointFile
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.row_counts import RowCounts, log_counts
from feddp_kmeans.tables.schema import Schema

log = logging.getLogger(__name__)

LABELS = ".labels"
"""Ending of the stem of a file with labels."""
Where = str | tuple[str, ...]
"""A file, a folder or a pattern; or several files, as a shell makes them of a pattern."""
_RESULTS = ("result.json", "report.html", "releases")
"""What else is in the folder of a run that wrote a centers.parquet."""


def open_table(
    path: Path,
    schema: Schema | None = None,
    *,
    ignore: Collection[str] = (),
    like: Sequence[str] | None = None,
    reading: Reading = AS_THE_HEADER_SAYS,
) -> PointFile:
    """Return the table in this file as points, encoded by the schema if there is one; its columns are checked.

    Without a schema, columns without a name and those in ``ignore`` are left out, and the others must be those in ``like``, in any order.
    """
    if schema is not None:
        if not is_svmlight(path):
            schema.check_columns(read_schema(path, reading), path.name)
        return PointFile(path, schema.columns, schema, reading)
    if is_svmlight(path) and like is not None:
        return PointFile(path, tuple(like))
    found = read_schema(path, reading)
    columns = tuple(name for name in found.names if name and name not in ignore)
    wrong = [name for name in columns if has_types(path) and not is_numeric(found.field(name).type)]
    if wrong:  # cells of text files have no types: they are checked when they are read
        got = listed(list(dict.fromkeys(str(found.field(name).type) for name in wrong)))
        raise InputError(refused_columns(dict.fromkeys(wrong, Column.rule), path.name, got))
    if not columns:
        raise InputError(f"{path.name} must have at least one numeric column, got none.")
    if like is not None:
        if has_names(path) and set(columns) != set(like):
            raise InputError(other_columns(path.name, columns, like))
        if not has_names(path) and columns != tuple(like):
            raise InputError(f"{path.name} must have {_short(like)} like the other tables, got {_short(columns)}.")
        columns = tuple(like)
    return PointFile(path, columns, reading=reading)


def open_columns(path: Path, columns: tuple[str, ...], reading: Reading = AS_THE_HEADER_SAYS) -> PointFile:
    """Return these columns of a table as points; its other columns are left out."""
    names = read_schema(path, reading).names if has_names(path) else []
    if has_names(path):
        check_present(columns, names, path.name)
    return open_table(path, ignore=[name for name in names if name not in columns], like=columns, reading=reading)


def client_paths(where: Where, server: Path | None = None) -> list[Path]:
    """Return one file, the tables in a folder, or those that match a glob pattern, sorted by name; several files are read as their pattern.

    In a folder or a pattern, these are no clients: hidden files, files that are no tables by their names, the public ``server`` table, and
    what this package wrote: labels, centers and releases. They would count points twice, or count what is not data. In a folder with other
    tables, a .txt file is none either: it is rather a note on them.
    """
    files = _files(where)
    if isinstance(where, str) and Path(where).is_file():
        return files
    found = [path for path in files if kind_of(path) and not _is_made(path) and not (server and server.exists() and path.samefile(server))]
    if not found:
        raise _no_clients(where if isinstance(where, str) else " ".join(where), files)
    is_folder = isinstance(where, str) and Path(where).is_dir()
    return [path for path in found if path.suffix.lower() != ".txt"] or found if is_folder else found


def _files(where: Where) -> list[Path]:
    """Return one file, or all at a place that are not hidden."""
    if not isinstance(where, str):
        return sorted({path for name in where for path in _some_files(name)})
    folder = Path(where)
    if folder.is_file():
        return [folder]
    paths = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(where, recursive=True))  # noqa: PTH207 - the pattern may be absolute
    return sorted(path for path in paths if path.is_file() and not path.name.startswith("."))


def _some_files(name: str) -> list[Path]:
    """Return the files of one name of several; refuse a folder, and a name that there is not."""
    if Path(name).is_dir():
        raise InputError(f"clients must be files if there are several, got the folder {name!r}: give one folder, or a pattern in quotes.")
    if not (found := _files(name)):
        raise _no_clients(name, ())
    return found


def _is_made(path: Path) -> bool:
    """Return whether a run or ``feddp predict`` wrote this file."""
    is_centers = path.name == "centers.parquet" and any((path.parent / name).exists() for name in _RESULTS)
    is_release = path.suffix == ".npy" and (path.parent / RECORD).exists()
    return is_centers or is_release or stem_of(path).lower().endswith(LABELS)


def _no_clients(where: str, files: Sequence[Path]) -> InputError:
    """Return the error for a place without tables: what is there instead, and what may have been meant."""
    folder = Path(where)
    if "://" in where:
        return InputError(
            f"clients must be files of this machine, got {where!r}. In Python, FedDPKMeans().fit(spark.read.parquet({where!r})) has "
            "Spark read and add up what lies elsewhere."
        )
    if files:
        return InputError(
            f"clients must be tables, got none at {where!r}, only {listed([path.name for path in files], 3)}; {advice_for(files[0])}."
        )
    if folder.is_dir():
        return InputError(f"clients must be tables, got a folder without files, {where!r}.")
    if any(sign in where for sign in "*?["):
        return InputError(f"clients must match the pattern, got no file for {where!r}.")
    near = [path.name for path in folder.parent.iterdir()] if folder.parent.is_dir() else []
    alike = difflib.get_close_matches(folder.name, near, 1)
    meant = f": is it {str(folder.with_name(alike[0]))!r}?" if alike else "."
    return InputError(f"clients must exist, got {where!r}, where there is no file or folder{meant}")


def open_clients(
    where: Where,
    schema: Schema | None = None,
    *,
    ignore: Collection[str] = (),
    like: Sequence[str] | None = None,
    skip_broken: bool = False,
    reading: Reading = AS_THE_HEADER_SAYS,
    server: Path | None = None,
) -> list[PointFile]:
    """Return one table per client; each file is read once. The order of columns is that of ``like``, or else of the first client.

    With ``skip_broken``, a file that cannot be read is a client without data. Without it, all such files are refused together.
    """
    paths = client_paths(where, server)
    if others := [path.name for path in _files(where) if path not in paths]:
        log.info("Not read as clients: %s", listed(others))
    known = like if schema is None else schema.columns
    _check_svmlight(paths[0], known)
    opened: dict[Path, PointFile] = {}
    broken: dict[Path, UnreadableFileError] = {}
    counts: dict[Path, RowCounts] = {}
    pace = Pace()
    for path in paths:
        try:
            table = open_table(path, schema, ignore=ignore, like=known, reading=reading)
            counts[path] = table.counted()
        except UnreadableFileError as error:
            broken[path] = error
            if skip_broken:
                log.warning("%s It is a client without data.", error)
        else:
            opened[path], known = table, table.columns
        if pace.is_due():
            log.info("%s of %s files read so far", f"{len(opened):,}", f"{len(paths):,}")
    if broken and not skip_broken:
        raise _unreadable(broken, len(paths))
    if known is None:
        raise InputError("clients must have at least one file that can be read, got none.")
    log_counts(counts)
    if not any(each.usable for each in counts.values()):
        log.warning("No row of these data can be used: they add noise to a result, and nothing else.")
    return [opened.get(path) or BrokenFile(path, tuple(known)) for path in paths]


def _check_svmlight(first: Path, known: Sequence[str] | None) -> None:
    if known is None and is_svmlight(first):
        raise InputError(f"server data must be given for SVMlight clients, which do not state their number of columns, got {first.name}.")


def _unreadable(broken: Mapping[Path, UnreadableFileError], n_files: int) -> UnreadableFileError:
    """Return one error that names all files that cannot be read, and says how to go on without them."""
    first, *others = broken.values()
    if len(broken) == n_files:
        return UnreadableFileError(f"{first}{f' None of the {n_files} files can be read.' * bool(others)}")
    names = listed([path.name for path in list(broken)[1:]])
    more = f" Nor can {len(others)} more of the {n_files} files be read: {names}." * bool(others)
    them = "they are clients" if others else "it is a client"
    return UnreadableFileError(f"{first}{more} With --skip-broken {them} without data.")


def read_grouped(source: PointFile, client_column: str) -> tuple[FloatArray, IntArray]:
    """Return the points of one table and the number of the client of each row, from a single pass over the file."""
    owners, points = [pa.table({"owner": pa.array([], pa.null())})], [np.empty((0, source.dimension))]
    for owner, rows in _owned(source, client_column):
        owners.append(pa.table({"owner": owner}))
        points.append(rows)
    whole = pa.concat_tables(owners, promote_options="default")["owner"].combine_chunks()
    return np.concatenate(points), pc.dictionary_encode(whole, null_encoding="encode").indices.to_numpy(zero_copy_only=False)


def sorted_starts(source: PointFile, client_column: str) -> IntArray | None:
    """Return the first row of each client, and the number of rows, if the table is sorted by client; from a single pass over the file.

    A table in which a client is missing, or with words next to numbers, is not sorted.
    """
    starts, n_rows, last = [np.zeros(1, dtype=np.int64)], 0, None
    for owner, _ in _owned(source, client_column):
        names = owner.combine_chunks() if isinstance(owner, pa.ChunkedArray) else owner
        if not len(names):
            continue
        if last is not None and last.type != names.type:
            return None
        after = names if last is None else pa.concat_arrays([last, names])
        if after.null_count or not pc.all(pc.less_equal(after[:-1], after[1:]), min_count=0).as_py():
            return None
        new = np.flatnonzero(pc.not_equal(after[:-1], after[1:]).to_numpy(zero_copy_only=False)) + 1
        starts.append(new + n_rows - (len(after) - len(names)))
        n_rows, last = n_rows + len(names), names[-1:]
    return np.concatenate([*starts, [n_rows]]).astype(np.int64) if n_rows else None


def _owned(source: PointFile, client_column: str) -> Iterator[tuple[Any, FloatArray]]:
    """Yield the client of each row and the points, some rows at a time."""
    for table, rows in source.parts(PIECE, (client_column,)):
        owner = table[client_column]
        yield as_text(owner) if is_text(owner.type) else as_plain(owner), rows


def check_client_column(where: Where, client_column: str, reading: Reading = AS_THE_HEADER_SAYS) -> Path:
    """Return the one table; refuse one without a column of this name."""
    if not isinstance(where, str):
        raise InputError(f"clients must be one table if a client column is given, got {len(where)} files.")
    if (path := Path(where)).is_dir():
        raise InputError(f"clients must be one table if a client column is given, got the folder {where!r}.")
    names = read_schema(path, reading).names if has_names(path) else []
    check_present([client_column], names, path.name, "client column")
    return path


def _short(columns: Sequence[str]) -> str:
    return f"{len(columns)} columns ({listed(columns, 4)})"
