"""``feddp profile``: what columns say about the clusters of a finished run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape

from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import AfterRun, asked_federation, clustered_columns
from feddp_kmeans.cli.show import USELESS, new_table
from feddp_kmeans.cli.terminal import out, say
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.cluster_profile import Counted, Profile


@options.takes_reading
@options.takes_columns
def profile(
    reading: Reading,
    stated: StatedColumns,
    made: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    clients: Annotated[str, typer.Argument(help="A folder or pattern with one file per client, or one table.")],
    columns: Annotated[str, typer.Option("--columns", help="Names of the columns, with commas between them: age,sex,region.")],
    epsilon: options.Epsilon,
    delta: options.Delta = 1e-6,
    client_size: options.CountedSize = 1,
    least_size: Annotated[float, typer.Option("--least-size", min=1, help="Clusters of a smaller noisy size are not shown.")] = 50,
    client_column: options.ClientColumn = None,
    skip_broken: options.SkipBroken = False,
    engine: options.InEngine = None,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    path: Annotated[Path | None, typer.Option("--out", help="File of the profile. (default: profile.json in the run's folder)")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell what the clusters of a finished run are about: shares, means and quartiles of columns in each of them, with their errors.

    Columns need not have been clustered. Each needs public categories or a public range: those of the run's schema, or --categories and
    --range. It is a small run of its own, booked like a fit, and protects what the fit protected. If interrupted, run the same command
    again: it continues where it stopped.

    Exit status: 0 done, 1 refused, 3 written, but no cluster is large enough to be shown.

    Examples:
      feddp profile run/ clients/ --columns age,sex --range age=0:110 --categories sex=female,male --epsilon 0.5

    """
    from feddp_kmeans.profiling import profile_schema
    from feddp_kmeans.questions import Question
    from feddp_kmeans.tables.inputs import stated_schema

    after = AfterRun(made, clients, epsilon, delta, limit, limit_delta, odometer, seed, force, as_json, quiet, reading)
    finished, unit = after.begin()
    given = stated_schema(clients, stated, client_column=client_column, reading=reading)
    question = Question(profile_schema(clustered_columns(finished), names_of(columns), given), finished, unit, client_size, least_size)
    target = after.path(path, question.file)
    federation = asked_federation(clients, question.schema, client_column, engine, skip_broken=skip_broken, reading=reading)
    found = after.carry_out(federation, question.plan(epsilon, delta, federation.n_clients), target, question.profile, show_profile)
    if not found.shown.any():
        say("No cluster is large enough to be shown: a larger epsilon would help, or fewer columns.")
        raise typer.Exit(USELESS)


def names_of(columns: str) -> list[str]:
    """Return the names in a list with commas between them."""
    return [name.strip() for name in columns.split(",") if name.strip()]


def show_profile(found: "Profile") -> None:
    """Print the profile: a table for each column, of its shares in the clusters that are shown."""
    shown = np.flatnonzero(found.shown)
    heads = [f"cluster {number}" for number in shown]
    sizes = new_table("Sizes", *heads)
    sizes.add_row(*(f"{found.sizes[r]:,.0f} ± {found.size_errors[r]:,.0f}" for r in shown))
    out.print(sizes)
    rows = (*shown, len(found.sizes))
    for column in found.columns:
        table = new_table(escape(column.name), "", *heads, "all")
        for place, name in enumerate(column.classes):
            table.add_row(escape(name), *(_share(column, int(r), place) for r in rows))
        if column.means is not None and column.mean_errors is not None:
            table.add_row("mean", *(f"{column.means[r]:.4g} ± {column.mean_errors[r]:.2g}" for r in rows))
        out.print(table)
    hidden = len(found.sizes) - len(shown)
    if hidden:
        say(f"{hidden} clusters are too small to be shown, or their noise is too large.")
    say("A star marks a share that differs from that of all by more than its noise; ? one that is too noisy to tell.")


def _share(column: "Counted", row: int, place: int) -> str:
    share, error = column.shares[row, place], column.errors[row, place]
    text = f"{100 * min(max(share, 0.0), 1.0):.1f} ± {100 * error:.1f} %"
    if row == len(column.shares) - 1:
        return text
    return text + (" ?" if column.is_noise[row, place] else " *" if column.differs[row, place] else "")
