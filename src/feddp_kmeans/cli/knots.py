"""``feddp knots``: private deciles of columns, as the knots of a schema."""

import json
import logging
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from feddp_kmeans._json import finite_json
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of, table_of
from feddp_kmeans.cli.folders import RELEASES, check_new_file, kept_run
from feddp_kmeans.cli.show import USELESS, new_table, show_ledger, spent_line
from feddp_kmeans.cli.terminal import out, say, show_log
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

if TYPE_CHECKING:
    from feddp_kmeans.knots import PrivateKnots

log = logging.getLogger(__name__)


@options.takes_reading
@options.takes_columns
def knots(
    reading: Reading,
    stated: StatedColumns,
    clients: Annotated[str, typer.Argument(help="A folder or pattern with one file per client, or one table.")],
    columns: Annotated[str, typer.Argument(help="Names of the columns, with commas between them: income,hours.")],
    epsilon: options.Epsilon,
    path: Annotated[Path, typer.Option("--out", help="Where the schema goes: short if it ends in .toml, else .json.")],
    delta: options.Delta = 1e-6,
    unit: options.Unit = "point",
    client_column: options.ClientColumn = None,
    skip_broken: options.SkipBroken = False,
    limit: options.LimitEpsilon = None,
    limit_delta: options.LimitDelta = LIMIT_DELTA,
    odometer: options.OdometerFile = None,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn the scale of columns privately from the clients: their deciles become the knots of a quantile scale in a schema.

    It is a small run of its own, booked like a fit; the fit that uses the schema has its own epsilon. Columns that are not named stay as
    --schema, --range and --categories say, or are numbers without a range. If interrupted, run the same command again: it continues where
    it stopped.

    Exit status: 0 done, 1 refused, 3 written, but a column has no knots: noise hides it, or its values do not differ.

    Examples:
      feddp knots clients/ income,hours --epsilon 0.1 --out schema.toml
      feddp knots people.csv income --range income=0:1e7 --categories sex=female,male --epsilon 0.1 --out schema.toml
      feddp fit people.csv --schema schema.toml -k 5 --epsilon 1

    """
    from feddp_kmeans.algorithm.column_knots import knots_plan
    from feddp_kmeans.knots import learnt, ranges_of, read_for
    from feddp_kmeans.report.spent import spent_so_far
    from feddp_kmeans.tables.inputs import open_federation, stated_schema

    show_log(quiet=quiet)
    check_budget(epsilon, delta)
    protected = PrivacyUnit.parse(unit)
    options.warn_of_weakness(epsilon, delta)
    most = options.limit_of(limit, limit_delta)
    check_new_file(path, force=force)
    if path.suffix.lower() not in {".toml", ".json"}:
        raise InputError(f"--out must end in .toml or .json, got {str(path)!r}.")
    names = [name.strip() for name in columns.split(",") if name.strip()]
    base = stated_schema(clients, stated, client_column=client_column, reading=reading)
    asked = ranges_of(base, names)
    federation, _ = open_federation(clients, read_for(base, asked), client_column, skip_broken=skip_broken, reading=reading)
    plan = knots_plan(protected, epsilon, delta, federation.n_clients, asked)
    folder = path.with_name(f"{path.name}.run")
    if path.exists():  # with --force: the run that wrote it has ended
        shutil.rmtree(folder, ignore_errors=True)
    recorded = RecordedFederation(federation, folder / RELEASES)
    recorded.books = books = Books(odometer_of(clients, odometer), most, options.command_line(), table_of(clients))
    with kept_run(recorded, plan, seed, folder, f"--out {path}", quiet=quiet) as run:
        found = learnt(run, base, asked)
        found.schema.write(path, found.note)
    shutil.rmtree(folder)
    spent = spent_so_far(books.odometer, plan)
    if as_json:
        made: dict[str, Any] = {"schema": found.schema.to_dict(), "rank_errors": found.rank_errors, "remarks": list(found.remarks)}
        made |= {"guarantee": found.privacy.sentence(), "ledger": list(found.privacy.ledger), "plan": plan.to_dict(), "spent": spent}
        typer.echo(json.dumps(finite_json({"format": 1} | made | {"command": options.command_line()}), indent=2, allow_nan=False))
    elif not quiet:
        _show(found)
        if spent:
            say(spent_line(spent))
        say(f"Written to {path}: public, like every schema.")
        more = [] if client_column is None else ["--client-column", client_column]
        more += [] if unit == "point" else ["--unit", unit]
        say(f"Next: {shlex.join(['feddp', 'fit', clients, *more, '--schema', str(path)])} -k 5 --epsilon 1")
    if len(found.knots) < len(asked):
        if quiet or as_json:
            log.warning("feddp: written, but %s.", "; ".join(found.remarks))
        raise typer.Exit(USELESS)


def _show(found: "PrivateKnots") -> None:
    for remark in found.remarks:
        out.print(f"Warning: {remark}.", style="yellow", highlight=False, markup=False, soft_wrap=True)
    table = new_table("Knots, and how far their ranks may be off", "column", "knots", "ranks")
    for name, error in found.rank_errors.items():
        table.add_row(escape(name), ", ".join(f"{knot:.6g}" for knot in found.knots[name]), f"± {100 * error:.2g} %")
    if found.knots:
        out.print(table)
    show_ledger(list(found.privacy.ledger), "What was released")
    out.print(found.privacy.sentence(), style="bold", highlight=False)
