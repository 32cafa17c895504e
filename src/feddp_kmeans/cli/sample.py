"""``feddp sample``: made-up rows that look like the clusters of a finished run."""

from pathlib import Path
from typing import Annotated

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.folders import check_new_file
from feddp_kmeans.cli.terminal import say
from feddp_kmeans.errors import InputError


def sample(
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    path: Annotated[Path, typer.Option("--out", help="Table of the rows: .csv or .parquet.")],
    n_rows: Annotated[int, typer.Option("-n", "--rows", min=1, max=100_000_000, help="Number of rows.")] = 1000,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", help="A profile of the run, whose columns are drawn too. (default: profile.json in RUN)"),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The same rows each time.")] = None,
    force: options.Force = False,
) -> None:
    """Draw made-up rows from the released clusters of a finished run. It reads no client and spends nothing.

    Rows have the sizes, centers and spreads of the clusters, and the columns of a profile. Within a cluster columns are drawn one by one:
    what they have in common beyond the cluster is lost. A column "synthetic" marks them.

    Examples:
      feddp sample run/ -n 10000 --out rows.csv

    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from feddp_kmeans._json import parse_json
    from feddp_kmeans.report.finished_run import read_result, read_run
    from feddp_kmeans.report.synthetic_rows import synthetic_rows

    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise InputError(f"--out must end in .csv or .parquet, got {str(path)!r}.")
    check_new_file(path, force=force)
    told = profile or (made if made.is_dir() else made.parent) / "profile.json"
    known = None
    if profile is not None or told.exists():
        known = parse_json(told.read_bytes()) if told.is_file() else None
        if not (isinstance(known, dict) and all(isinstance(column, dict) for column in known.get("columns") or [None])):
            raise InputError(f"--profile must be a file that feddp profile wrote, got {str(told)!r}.")
    rows = synthetic_rows(read_run(made), read_result(made), n_rows, profile=known, seed=seed)
    if path.suffix.lower() == ".csv":
        pa.csv.write_csv(rows, path)
    else:
        pa.parquet.write_table(rows, path)
    say(f"{n_rows:,} made-up rows written to {path}: drawn from released numbers only, no row of a client is in it.")
