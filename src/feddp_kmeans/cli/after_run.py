"""What ``feddp profile`` and ``feddp words`` have in common: one release about the clusters of a finished run, in a file of its own."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import typer

from feddp_kmeans._files import write_whole
from feddp_kmeans.cli import options
from feddp_kmeans.cli.budget import odometer_of, table_of
from feddp_kmeans.cli.folders import RELEASES, check_new_file, folder_of, kept_run
from feddp_kmeans.cli.report import write_report
from feddp_kmeans.cli.show import show_ledger, spent_line
from feddp_kmeans.cli.terminal import out, say, show_log
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.reading import Reading

if TYPE_CHECKING:
    from feddp_kmeans.federation.base import Federation
    from feddp_kmeans.federation.run import Run
    from feddp_kmeans.privacy.ledger import PrivacyReport
    from feddp_kmeans.privacy.plan import Plan
    from feddp_kmeans.report.finished_run import FinishedRun
    from feddp_kmeans.tables.column import Column
    from feddp_kmeans.tables.inputs import Inputs
    from feddp_kmeans.tables.schema import ProfileSchema


class Told(Protocol):
    """What such a release tells."""

    @property
    def privacy(self) -> "PrivacyReport":
        """Return the guarantee."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""


Found = TypeVar("Found", bound=Told)


@dataclass(frozen=True)
class AfterRun:
    """The options that every such command has, and the run that it is about."""

    made: Path
    clients: options.Where
    epsilon: float
    delta: float
    limit: float | None
    limit_delta: float
    odometer: Path | None
    seed: int | None
    force: bool
    as_json: bool
    quiet: bool
    reading: Reading

    def begin(self) -> tuple["FinishedRun", PrivacyUnit]:
        """Return the finished run and what it protects; refuse impossible options before anything is read."""
        from feddp_kmeans.report.finished_run import read_result, read_run

        show_log(quiet=self.quiet)
        check_budget(self.epsilon, self.delta)
        options.warn_of_weakness(self.epsilon, self.delta)
        return read_run(self.made, self.reading), PrivacyUnit.parse(read_result(self.made)["privacy_unit"])

    def path(self, given: Path | None, name: str) -> Path:
        """Return the file that is written: the given one, or one of this name in the run's folder."""
        path = given or folder_of(self.made) / name
        check_new_file(path, force=self.force)
        return path

    def carry_out(
        self,
        federation: "Federation",
        plan: "Plan",
        path: Path,
        ask: Callable[["Run"], Found],
        show: Callable[[Found], None],
        how: str | None = None,
    ) -> Found:
        """Make the release, or take it up where it stopped; write and show what it tells. ``how`` to go on is said if it stops."""
        from feddp_kmeans.report.about import PROFILE, WORDS, about_text
        from feddp_kmeans.report.finished_run import read_result
        from feddp_kmeans.report.spent import spent_so_far

        folder = path.with_name(f"{path.name}.run")
        if path.exists():  # with --force: the run that wrote it has ended
            shutil.rmtree(folder, ignore_errors=True)
        most = options.limit_of(self.limit, self.limit_delta)
        recorded = RecordedFederation(federation, folder / RELEASES)
        recorded.books = books = Books(odometer_of(self.clients, self.odometer), most, options.command_line(), table_of(self.clients))
        with kept_run(recorded, plan, self.seed, folder, how or f"--out {path}", quiet=self.quiet) as run:
            found = ask(run)
            spent = spent_so_far(books.odometer, plan)
            told = found.to_dict() | {"spent": spent, "command": options.command_line()}
            text = about_text(read_result(self.made, ("centers",)), told)
            write_whole(path, text.encode(errors="replace"))
        shutil.rmtree(folder)
        is_shown = path.name in {PROFILE, WORDS} and (path.parent / "report.html").exists()
        if is_shown:
            write_report(path.parent, None)
        if self.as_json:
            typer.echo(text, nl=False)
        elif not self.quiet:
            show(found)
            show_ledger(list(found.privacy.ledger), "What was released")
            out.print(found.privacy.sentence(), style="bold", highlight=False)
            if spent:
                say(spent_line(spent))
            say(f"Written to {path}{' and report.html' if is_shown else ''}.")
        return found


def asked_federation(
    clients: options.Where, schema: "ProfileSchema", client_column: str | None, engine: str | None, *, skip_broken: bool, reading: Reading
) -> "Federation":
    """Return the clients' tables, read as the question says."""
    from feddp_kmeans.federation.local import LocalFederation
    from feddp_kmeans.tables.engines import engine_silo
    from feddp_kmeans.tables.inputs import open_federation

    if engine is not None:
        return LocalFederation(engine_silo(engine, clients, schema, client_column))
    return open_federation(clients, schema, client_column, skip_broken=skip_broken, reading=reading)[0]


def clustered_columns(run: "FinishedRun | Inputs") -> "tuple[Column, ...]":
    """Return the columns that a run clustered, or will."""
    from feddp_kmeans.tables.columns import OpenColumn

    return run.schema.fields if run.schema else tuple(map(OpenColumn, run.columns))
