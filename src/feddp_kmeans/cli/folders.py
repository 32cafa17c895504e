"""Where a run of this machine keeps its releases and its result, and what becomes of them if it stops."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import typer

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.cli.options import err
from feddp_kmeans.federation.recorded import RECORD, RecordedFederation

RELEASES = "releases"
INTERRUPTED = 130
_WRITTEN = ("result.json", "centers.parquet", "report.html", f"{RELEASES}/{RECORD}", f"{RELEASES}/0.npy")
"""What a run writes, by example."""


def new_folder(clients: str) -> Path:
    """Make a folder here that is named by the time, and return it."""
    name = datetime.now(UTC).strftime("feddp-%Y-%m-%dT%H.%M.%S")
    for number in count(1):
        folder = Path(name if number == 1 else f"{name}-{number}")
        check_no_client(clients, folder)
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError


def check_holds_no_run(folder: Path, *, force: bool) -> None:
    """Refuse a folder in which a run was stopped, since it is paid for; where it may be replaced, take its releases away."""
    if force:
        shutil.rmtree(folder / RELEASES, ignore_errors=True)
    elif (folder / RELEASES / RECORD).exists():
        raise FedDPError(
            f"--out must not hold releases already, got {str(folder)!r}: --resume {folder} goes on with them, --force pays for new ones."
        )


def check_no_client(clients: str, folder: Path) -> None:
    """Refuse a folder whose files would be read as clients the next time."""
    pattern = Path(clients).absolute()
    pattern = pattern / "*" if pattern.is_dir() else pattern
    if any((folder.absolute() / name).match(str(pattern)) for name in _WRITTEN):
        raise FedDPError(f"--out must be a folder that is not read as clients, got {str(folder)!r} for the clients {clients!r}.")


@contextmanager
def keeping(recorded: RecordedFederation, folder: Path, how: str) -> Iterator[None]:
    """Say how a run that stops goes on, if it had begun, and take its folder away if nothing is in it. Ctrl-C is exit status 130."""
    try:
        yield
    except BaseException as error:
        if recorded.begun or isinstance(error, KeyboardInterrupt):
            kept = f"what was released is kept. Go on with the same options and {how}" if recorded.begun else "nothing was released."
            err.print(f"feddp: stopped; {kept}", highlight=False, markup=False, soft_wrap=True)
        for place in (folder / RELEASES, folder):
            with suppress(OSError):
                place.rmdir()
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        if isinstance(error, OSError):
            raise FedDPError(f"the run must be able to read its data and to write its folder, got {error}.") from None
        raise
