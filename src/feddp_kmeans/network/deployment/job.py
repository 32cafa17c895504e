"""A run as the server's operator asks for it, and its course: wait for clients, plan, ask, write the result."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_fields, parse_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import NoiseName, Settings
from feddp_kmeans.errors import BudgetError, FedDPError, without_text
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.deployment.kit import read_kit
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.transport import Transport
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit, Odometer
from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.tables.client_files import open_table
from feddp_kmeans.tables.inputs import prepared_for, read_or_learn
from feddp_kmeans.tables.schema import Schema, open_encoded

JOB, PROGRESS, DONE, RELEASES = "job.json", "progress.log", "done.json", "releases"
"""Files of a run folder: what was asked for, the lines told, how it ended, and every release on record."""

PENDING = "pending"
"""File beside the releases: the sum that sites are being asked to open."""

_LOOK = 0.5
_FEWEST = 2
"""Sites to wait for where no kit says how many there are."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One run on a federation of machines; every field is public. Paths are as seen from the server."""

    run: str
    settings: Settings
    out: str
    command: str
    server: str | None = None
    schema: str | None = None
    ignore: tuple[str, ...] = ()
    min_sites: int | None = None
    """Sites that must be there when the run starts; None: all of the kit, or two where there is none."""
    wait: float = 3600.0
    """Seconds to wait for them."""
    trust: str = Trust.SECURE_SUM.value
    threshold: int | None = None
    colluders: int | None = None
    """Sites that may side with the server; None: a tenth of them, and at least one."""
    confirmed: bool | None = None
    """Whether sites confirm who is in a sum; None: where they have keys."""
    round_timeout: float = 300.0
    seed: int | None = None
    kit: str | None = None
    """The public folder that says who the sites are; None for trials on one machine."""
    odometer: str | None = None
    """Where the run is booked by the server too: for simulations, whose clients are this machine's files."""
    limit: float | None = None
    limit_delta: float = LIMIT_DELTA

    def __post_init__(self) -> None:
        Trust.parse(self.trust)


def read_job(path: Path) -> Job:
    """Return the job in a file; refuse anything else."""
    try:
        given = parse_json(path.read_bytes())
        asked = given["settings"]
        settings = Settings(**asked | {"box": None if asked["box"] is None else tuple(asked["box"])})
        job = Job(**given | {"settings": settings, "ignore": tuple(given["ignore"])})
        check_fields(job, path.name)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise FedDPError(f"{path.name} must state a job of feddp serve, got {type(error).__name__}.") from None
    return job


def opened(job: Job) -> Job:
    """Write the job into its folder and return it, under the name of the run that the folder holds unfinished: no release is paid twice.

    Public data that cannot be read are refused here. A folder with a finished run, which may be replaced, is cleared first.
    """
    _public_inputs(job)
    out = Path(job.out)
    out.mkdir(parents=True, exist_ok=True)
    if (out / "result.json").exists():
        shutil.rmtree(out / RELEASES, ignore_errors=True)
        for name in (JOB, "result.json"):
            (out / name).unlink(missing_ok=True)
    tidy(out)
    job = _going_on(job, out / JOB)
    write_whole(out / JOB, (json.dumps(asdict(job), indent=2) + "\n").encode())
    return job


def tidy(out: Path) -> None:
    """Remove what is of use only while a run is under way."""
    for name in (DONE, PROGRESS):
        (out / name).unlink(missing_ok=True)


def _going_on(job: Job, path: Path) -> Job:
    if not path.exists():
        return job
    before = read_job(path)
    if replace(before, run=job.run, command=job.command) != job:
        raise FedDPError(
            f"--out holds an unfinished run with other options, got {job.out!r}: finish it with the same, or use another folder."
        )
    return replace(job, run=before.run)


def run_job(transport: Transport, job: Job, tell: Tell) -> None:
    """Run the job to its end: the result is in the run folder afterwards."""
    out = Path(job.out)
    public = _public_inputs(job)
    roster = None if job.kit is None else read_kit(Path(job.kit)).sites()
    needed = job.min_sites or (_FEWEST if roster is None else len(roster))
    _wait_for_sites(transport, needed, job.wait, tell)
    remote = RemoteFederation(
        transport,
        trust=Trust.parse(job.trust),
        threshold=job.threshold,
        colluders=job.colluders,
        columns=public.columns,
        confirmed=job.confirmed,
        roster=roster,
        journal=out / RELEASES / PENDING,
        timeout=job.round_timeout,
        tell=tell,
    ).connect()
    if remote.n_clients < needed:
        raise FedDPError(f"sites must be at least {needed}, got {remote.n_clients} whose data can be used.")
    prepared = prepared_for(_shareable(job), public.points, public.schema, remote.dimension, remote.n_clients)
    federation = RecordedFederation(remote, out / RELEASES, run=job.run)
    _book(job, federation)
    found = clustering.run(federation, prepared, seed=job.seed, on_release=lambda name: tell(f"release: {name}"))
    result = result_dict(
        found, columns=remote.columns, seed=job.seed, server_points=prepared.server_points, command=job.command, schema=public.schema
    )
    write_result(out, result)


def run_and_report(transport: Transport, job: Job, tell: Tell) -> None:
    """Run the job; how it ended goes to a file of the run folder, in one line where it failed."""
    error = "the server's program ended"
    try:
        run_job(transport, job, tell)
        error = ""
    except (FedDPError, BudgetError) as refused:
        error = str(refused)
    except Exception as failed:
        error = f"the server's program failed: {without_text(failed)}"
        raise
    finally:
        write_whole(Path(job.out) / DONE, json.dumps({"error": error}).encode())


def _shareable(job: Job) -> Settings:
    """Return the job's settings; where clients each add a share of the noise it is Gaussian alone."""
    if Trust.parse(job.trust) is Trust.SECURE_SUM:
        return replace(job.settings, noise=NoiseName.GAUSSIAN.value)
    return job.settings


def _book(job: Job, federation: RecordedFederation) -> None:
    """Have a run booked whose clients have no odometers of their own; one that goes on must be booked already."""
    if job.odometer is not None:
        limit = None if job.limit is None else Limit(job.limit, job.limit_delta)
        federation.books = Books(Odometer(Path(job.odometer)), limit, job.command)


@dataclass(frozen=True)
class _Public:
    """What the server knows of the coordinates."""

    columns: tuple[str, ...] | None
    points: FloatArray | None
    schema: Schema | None


def _public_inputs(job: Job) -> _Public:
    server = None if job.server is None else Path(job.server)
    schema = read_or_learn(server, None if job.schema is None else Path(job.schema), job.ignore)
    if schema is not None:
        return _Public(schema.columns, None if server is None else open_encoded(server, schema).read(), schema)
    if server is None:
        return _Public(None, None, None)
    table = open_table(server, ignore=job.ignore)
    return _Public(table.columns, table.read(), None)


def _wait_for_sites(transport: Transport, needed: int, wait: float, tell: Tell) -> None:
    end, told = time.monotonic() + wait, -1
    while (there := len(transport.nodes())) < needed:
        if there != told:
            tell(f"{there} of {needed} sites are connected")
            told = there
        if time.monotonic() > end:
            raise FedDPError(f"sites must be at least {needed} within {wait:g} s, got {there}.")
        time.sleep(_LOOK)
