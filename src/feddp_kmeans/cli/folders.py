"""Folders of runs on this machine: which are allowed, and what happens to them if a run stops."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import typer

from feddp_kmeans.cli import options
from feddp_kmeans.cli.terminal import progress
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.recorded import RECORD, read_record
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.plan import Plan

log = logging.getLogger(__name__)

RELEASES, LOOK = "releases", "choose_k.json"
"""Names in a run folder: the saved releases, and the result of feddp choose-k."""
INTERRUPTED = 130


def new_folder() -> Path:
    """Return a new folder in the current one, named after the time. What a run writes there is never read as a client."""
    while True:
        folder = Path(datetime.now(UTC).strftime("feddp-%Y-%m-%dT%H.%M.%S"))
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
        time.sleep(0.1)  # another run began in this second


def checked_folder(folder: Path | None, resume: Path | None, clients: options.Where, *, force: bool) -> Path | None:
    """Return the folder of the result, None for a new one; refuse an impossible one before anything is read or spent.

    A fit that continues a fit writes into the same folder; one that continues a choose-k writes into another.
    """
    from feddp_kmeans.report.result import check_folder

    if resume is not None:
        if not read_record(resume / RELEASES):
            raise InputError(f"--resume must be a folder with the releases of a feddp fit or choose-k, got {str(resume)!r}.")
        is_own = not (resume / LOOK).exists() if folder is None else folder.resolve() == resume.resolve()
        folder = resume if is_own else folder
    check_folder(folder or Path(), force=force or folder in {None, resume})
    if folder is not None and folder != resume:
        check_no_client(clients, folder)
        if (folder / RELEASES / RECORD).exists() and not force:
            raise InputError(
                f"--out must not hold releases already, got {str(folder)!r}: --resume {folder} continues with them, --force pays again."
            )
    return folder


def check_no_client(clients: options.Where, folder: Path) -> None:
    """Refuse the folder of the clients: a result among their tables could replace one, and looks like one to other programs."""
    if isinstance(clients, str) and folder.resolve() == Path(clients).resolve():
        raise InputError(f"--out must be another folder than that of the clients, got {str(folder)!r}: --out {folder / 'run'} is one.")


def folder_of(run: Path) -> Path:
    """Return the folder of a run that is given as its folder or as its result.json."""
    return run if run.is_dir() else run.parent


def check_new_file(path: Path, *, force: bool) -> None:
    """Refuse a file that exists and may not be replaced, or whose folder does not exist."""
    if path.exists() and not force:
        raise InputError(f"--out must not exist already (use --force to replace it), got {str(path)!r}.")
    if not path.parent.is_dir():
        raise InputError(f"--out must be in a folder that exists, got {str(path)!r}.")


@contextmanager
def files_at_hand() -> Iterator[None]:
    """Say in one line that a file cannot be read or written: a folder that is gone, a full disk."""
    try:
        yield
    except OSError as error:
        raise InputError(f"the run must be able to read its data and to write its folder, got {error}.") from None


@contextmanager
def kept_run(federation: Federation, plan: Plan, seed: int | None, folder: Path, how: str, *, quiet: bool) -> Iterator[Run]:
    """Yield a run and show its progress. If it stops, log ``how`` to continue it, and remove its folder if that is empty.

    Ctrl-C becomes exit status 130.
    """
    run = None
    try:
        with files_at_hand(), progress(plan, quiet=quiet) as on_release, federation.open(plan, seed, on_release) as run:
            log.info("Releases are kept in %s", folder)
            yield run
    except BaseException as error:
        if run or isinstance(error, KeyboardInterrupt):
            kept = f"what was released is kept. Continue with the same options and {how}" if run else "nothing was released."
            log.warning("feddp: stopped; %s", kept)
        for place in (folder / RELEASES, folder):
            with suppress(OSError):
                place.rmdir()
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        raise
