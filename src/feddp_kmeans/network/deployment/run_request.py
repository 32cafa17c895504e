"""A run as the server's operator asks for it, and its course: wait for sites, plan, ask, write the result."""

import json
import logging
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_fields, parse_json
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import NoiseName, Settings
from feddp_kmeans.errors import FedDPError, InputError, without_text
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
from feddp_kmeans.tables.schema import Schema

logger = logging.getLogger(__name__)

REQUEST, PROGRESS, DONE, RELEASES = "job.json", "progress.log", "done.json", "releases"
"""Files of a run folder: what was asked for, the lines of its log, how it ended, and every release on record."""

PENDING = "pending"
"""File next to the releases: the sum that sites are being asked to open."""

_LOOK = 0.5
_FEWEST = 2
"""Sites to wait for where no kit says how many there are."""


@dataclass(frozen=True)
class RunRequest:
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


def read_request(path: Path) -> RunRequest:
    """Return the request in a file; refuse anything else."""
    try:
        given = parse_json(path.read_bytes())
        asked = given["settings"]
        settings = Settings(**asked | {"box": None if asked["box"] is None else tuple(asked["box"])})
        request = RunRequest(**given | {"settings": settings, "ignore": tuple(given["ignore"])})
        check_fields(request, path.name)
    except OSError as error:
        raise InputError(f"{path.name} must state a run of feddp serve: {without_text(error)}.") from None
    except FedDPError as error:
        raise InputError(f"{path.name} must state a run of feddp serve: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{path.name} must state a run of feddp serve, got {type(error).__name__}: {error}.") from None
    return request


def opened(request: RunRequest) -> RunRequest:
    """Write the request into its folder and return it, under the name of an unfinished run that is there: no release is paid twice.

    Public data that cannot be read are refused here. A folder with a finished run, which may be replaced, is cleared first.
    """
    _public_inputs(request)
    out = Path(request.out)
    out.mkdir(parents=True, exist_ok=True)
    if (out / "result.json").exists():
        shutil.rmtree(out / RELEASES, ignore_errors=True)
        for name in (REQUEST, "result.json"):
            (out / name).unlink(missing_ok=True)
    tidy(out)
    request = _going_on(request, out / REQUEST)
    write_whole(out / REQUEST, (json.dumps(asdict(request), indent=2) + "\n").encode())
    return request


def tidy(out: Path) -> None:
    """Remove what is of use only while a run is under way."""
    for name in (DONE, PROGRESS):
        (out / name).unlink(missing_ok=True)


def _going_on(request: RunRequest, path: Path) -> RunRequest:
    if not path.exists():
        return request
    before = read_request(path)
    if replace(before, run=request.run, command=request.command) != request:
        raise InputError(
            f"--out holds an unfinished run with other options, got {request.out!r}: finish it with the same, or use another folder."
        )
    return replace(request, run=before.run)


def carry_out(transport: Transport, request: RunRequest) -> None:
    """Run the request to its end: the result is in the run folder afterwards."""
    out = Path(request.out)
    public = _public_inputs(request)
    roster = None if request.kit is None else read_kit(Path(request.kit)).sites()
    needed = request.min_sites or (_FEWEST if roster is None else len(roster))
    _wait_for_sites(transport, needed, request.wait)
    remote = RemoteFederation(
        transport,
        trust=Trust.parse(request.trust),
        threshold=request.threshold,
        colluders=request.colluders,
        columns=public.columns,
        confirmed=request.confirmed,
        roster=roster,
        journal=out / RELEASES / PENDING,
        timeout=request.round_timeout,
    ).connect()
    if remote.n_clients < needed:
        raise InputError(f"sites must be at least {needed}, got {remote.n_clients} whose data can be used.")
    prepared = prepared_for(_shareable(request), public.points, public.schema, remote.dimension, remote.n_clients)
    federation = RecordedFederation(remote, out / RELEASES, run=request.run)
    _book(request, federation)
    found = clustering.run(federation, prepared, seed=request.seed, on_release=lambda name: logger.info("release: %s", name))
    result = result_dict(
        found,
        columns=remote.columns,
        seed=request.seed,
        server_points=prepared.server_points,
        command=request.command,
        schema=public.schema,
    )
    write_result(out, result)


def run_and_report(transport: Transport, request: RunRequest) -> None:
    """Run the request; how it ended goes to a file of the run folder, in one line where it failed."""
    error = "the server's program ended"
    try:
        carry_out(transport, request)
        error = ""
    except FedDPError as refused:
        error = str(refused)
    except Exception as failed:
        error = f"the server's program failed: {without_text(failed)}"
        raise
    finally:
        write_whole(Path(request.out) / DONE, json.dumps({"error": error}).encode())


def _shareable(request: RunRequest) -> Settings:
    """Return the request's settings; where clients each add a share of the noise it must be Gaussian."""
    if Trust.parse(request.trust) is Trust.SECURE_SUM:
        return replace(request.settings, noise=NoiseName.GAUSSIAN)
    return request.settings


def _book(request: RunRequest, federation: RecordedFederation) -> None:
    """Have a run booked whose clients have no odometers of their own; one that goes on must be booked already."""
    if request.odometer is not None:
        limit = None if request.limit is None else Limit(request.limit, request.limit_delta)
        federation.books = Books(Odometer(Path(request.odometer)), limit, request.command)


@dataclass(frozen=True)
class _Public:
    """What the server knows of the coordinates."""

    columns: tuple[str, ...] | None
    points: FloatArray | None
    schema: Schema | None


def _public_inputs(request: RunRequest) -> _Public:
    server = None if request.server is None else Path(request.server)
    schema = read_or_learn(server, None if request.schema is None else Path(request.schema), request.ignore)
    if server is None:
        return _Public(None if schema is None else schema.columns, None, schema)
    table = open_table(server, schema, ignore=request.ignore)
    return _Public(table.columns, table.read(), schema)


def _wait_for_sites(transport: Transport, needed: int, wait: float) -> None:
    end, logged = time.monotonic() + wait, -1
    while (there := len(transport.nodes())) < needed:
        if there != logged:
            logger.info("%d of %d sites are connected", there, needed)
            logged = there
        if time.monotonic() > end:
            raise InputError(f"sites must be at least {needed} within {wait:g} s, got {there}.")
        time.sleep(_LOOK)
