"""Options that several commands share, and the settings they make."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.algorithm.settings import AUTO, Settings

out = Console()
err = Console(stderr=True)

Clients = Annotated[str, typer.Argument(help="A folder or glob with one file per client, or one table with --client-column.")]
Clusters = Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters, or auto.")]
MaxClusters = Annotated[int, typer.Option("--max-clusters", help="Largest number of clusters tried, where it is to be chosen.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="Total privacy budget; inf adds no noise.")]
Delta = Annotated[float, typer.Option("--delta", help="Chance that the guarantee may fail.")]
Unit = Annotated[str, typer.Option("--unit", help="What is protected: point or client.")]
MethodOption = Annotated[str, typer.Option("--method", help="refined or paper.")]
Steps = Annotated[str, typer.Option("--lloyd-steps", help="A whole number, or auto.")]
Radius = Annotated[float | None, typer.Option("--radius", help="Public bound on a point's norm. [default: the server data's]")]
BoxOption = Annotated[
    str | None, typer.Option("--box", help="Public least and largest value of the coordinates, as LOW,HIGH; in place of --radius.")
]
ClientSize = Annotated[int | None, typer.Option("--client-size", help="Public typical number of points of a client (client level).")]
Points = Annotated[int | None, typer.Option("--n-points", help="Public rough number of points in total.")]
Server = Annotated[Path | None, typer.Option("--server", help="Public server data, if any: a table.")]
ClientColumn = Annotated[str | None, typer.Option("--client-column", help="Column that names the client of a row.")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Public encoding of mixed tables, made by feddp encode.")]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="A column to leave out; may be given again.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Reproducible simulation: NOT private.")]
Limit = Annotated[float | None, typer.Option("--limit", help="Largest epsilon that all runs on these data may spend together.")]
OdometerFile = Annotated[
    Path | None, typer.Option("--odometer", help="File that adds up runs. [default: .feddp-budget.jsonl beside the data]")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables; errors and files only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def make_settings(clusters: str, *, lloyd_steps: str = AUTO, box: str | None = None, **others: Any) -> Settings:
    """Return the settings that these options state; what is wrong with them is refused by name."""
    return Settings(_number(clusters), lloyd_steps=_number(lloyd_steps), box=None if box is None else _box(box), **others)


def command_line() -> str:
    """Return the command as it was given, to be written into the result."""
    return shlex.join(["feddp", *sys.argv[1:]])


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _box(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise FedDPError(f"--box must be two numbers LOW,HIGH, got {text!r}.") from None
    return low, high
