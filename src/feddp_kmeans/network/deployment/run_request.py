"""A run as the server's operator requests it, and its steps: wait for sites, plan, ask, write the result."""

import json
import logging
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import read_dataclass
from feddp_kmeans._logs import about
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.settings import MethodName, NoiseName, Settings
from feddp_kmeans.algorithm.usefulness import total_doubt
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.attendance import ATTENDANCE, Attendance, read_attendance
from feddp_kmeans.network.deployment.kit import read_kit
from feddp_kmeans.network.deployment.metrics import ServerFacts, State, WatchedTransport
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.roster import KnownSites
from feddp_kmeans.network.schema_digests import schema_digests
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.transport import Transport
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit, Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.questions import Question
from feddp_kmeans.report.about import about_text
from feddp_kmeans.report.finished_run import read_result, read_run
from feddp_kmeans.report.going_on import Start
from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.report.spent import spent_so_far
from feddp_kmeans.tables.client_files import open_table
from feddp_kmeans.tables.frames import schema_of_coordinates
from feddp_kmeans.tables.inputs import prepared_for
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.schema_source import read_or_learn
from feddp_kmeans.tables.stated_columns import StatedColumns

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of the request in a run folder."""

REQUEST, RELEASES = "job.json", "releases"
"""In a run folder: what was asked for, and every release on record, with the sum that sites are being asked to open."""

_LOOK = 0.5
_SHORTEST = 0.1
"""Least time for an answer, in seconds."""
_FEWEST = 2
"""Sites to wait for if no kit says how many there are."""


@dataclass(frozen=True)
class RunRequest(StatedColumns):
    """One run on a federation of machines; every field is public. Paths are as seen from the server."""

    run: str
    settings: Settings
    out: str
    command: str
    server: str | None = None
    reading: Reading = AS_THE_HEADER_SAYS
    """How the server's table is read; may be given as plain data."""
    min_sites: int | None = None
    """Sites that must be there when the run starts; None: all of the kit, or two without a kit."""
    wait: float = 3600.0
    """Seconds to wait for them."""
    trust: Trust = Trust.SECURE_SUM
    """May be given by its name."""
    threshold: int | None = None
    colluders: int | None = None
    """Sites that may side with the server; None: a tenth of them, and at least one."""
    confirmed: bool | None = None
    """Whether sites confirm who is in a sum; None: if they have keys."""
    round_timeout: float = 300.0
    seed: int | None = None
    kit: str | None = None
    """The public folder that says who the sites are; None for trials on one machine."""
    odometer: str | None = None
    """Where the server books the run too: for simulations, whose clients are this machine's files."""
    limit: float | None = None
    limit_delta: float = LIMIT_DELTA
    expected_points: int | None = None
    """The number of points that the sites agreed on in public; sizes that add up to something else get a remark."""
    last: str | None = None
    """Folder of a finished run to go on from."""
    about: str | None = None
    """Folder of a finished run that the schema, a question, is about: then nothing is clustered."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trust", Trust.parse(self.trust))
        object.__setattr__(self, "reading", Reading.of(self.reading))
        for name, least in (("wait", 0.0), ("round_timeout", _SHORTEST)):
            seconds = getattr(self, name)
            if isinstance(seconds, int | float) and not least <= seconds < math.inf:
                raise InputError(f"{name} must be at least {least:g} and finite, in seconds, got {seconds}.")


def read_request(path: Path) -> RunRequest:
    """Return the request in a file; refuse anything else."""
    return read_dataclass(path, "state a run of feddp serve", FORMAT, _request)


def _request(given: dict[str, Any]) -> RunRequest:
    asked = given["settings"]
    settings = Settings(**asked | {"box": None if asked["box"] is None else tuple(asked["box"])})
    return RunRequest(**given | {"settings": settings})


def opened(request: RunRequest) -> RunRequest:
    """Write the request into its folder and return it, with the id of an unfinished run there: no release is paid for twice.

    Public data that cannot be read are refused here. A finished run in the folder, which may be replaced, is removed first.
    """
    _public_inputs(request)
    out = Path(request.out)
    out.mkdir(parents=True, exist_ok=True)
    if (out / "result.json").exists():
        shutil.rmtree(out / RELEASES, ignore_errors=True)
        for name in (REQUEST, "result.json"):
            (out / name).unlink(missing_ok=True)
    if (out / REQUEST).exists():
        before = read_request(out / REQUEST)
        if replace(before, run=request.run, command=request.command) != request:
            raise InputError(
                f"--out holds an unfinished run with other options, got {request.out!r}: finish it with the same, or use another folder."
            )
        request = replace(request, run=before.run)
    write_whole(out / REQUEST, (json.dumps({"format": FORMAT} | asdict(request), indent=2) + "\n").encode())
    return request


def carry_out(transport: Transport, request: RunRequest, facts: ServerFacts | None = None) -> None:
    """Run the request to its end: the result is in the run folder afterwards. How it goes on is told to ``facts``, for metrics."""
    facts = facts or ServerFacts()
    transport = WatchedTransport(transport, facts)
    out = Path(request.out)
    columns, points, schema = _public_inputs(request)
    kit = None if request.kit is None else read_kit(Path(request.kit))
    facts.expected = request.min_sites or (_FEWEST if kit is None else len(kit.sites()))
    _wait_for_sites(transport, facts.expected, request.wait)
    roster = None if kit is None else kit.roster()  # as it is now: a key may have been revoked meanwhile
    needed = request.min_sites or (_FEWEST if roster is None else len(roster.usable))
    facts.state = State.RUNNING
    remote = RemoteFederation(
        transport,
        trust=request.trust,
        threshold=request.threshold,
        colluders=request.colluders,
        columns=columns,
        schema=lambda found: schema_digests(schema or schema_of_coordinates(found, request.fields())),
        confirmed=request.confirmed,
        roster=None if roster is None else KnownSites(roster),
        journal=out / RELEASES / "pending",
        timeout=request.round_timeout,
    ).connect()
    if remote.n_clients < needed:
        left_out = "".join(f" {why}." for why in remote.sites.left_out)
        raise InputError(f"sites must be at least {needed}, got {remote.n_clients} whose data can be used.{left_out}")
    federation = RecordedFederation(remote, out / RELEASES, run=request.run)
    if request.odometer is not None:
        limit = None if request.limit is None else Limit(request.limit, request.limit_delta)
        federation.books = Books(Odometer(Path(request.odometer)), limit, request.command)
    if request.about is None:
        schema = schema or schema_of_coordinates(remote.columns, request.fields())
        useless = _cluster(federation, request, remote.columns, points, schema, facts)
    else:
        useless = _ask(federation, request, facts)
    logger.info("the result is written", extra=about("finished", run=request.run, useless=useless))
    facts.state = State.FINISHED


def _ask(federation: RecordedFederation, request: RunRequest, facts: ServerFacts) -> str | None:
    """Ask the sites about the clusters of a finished run; write the answer, and show it on the page of that run."""
    question, out, place = asked_question(request), Path(request.out), Path(str(request.about))
    plan = question.plan(request.settings.epsilon, request.settings.delta, federation.n_clients)
    with federation.open(plan, request.seed, lambda _: facts.look(run)) as run:
        facts.look(run)
        told = question.answer(run).to_dict() | {"command": request.command}
    write_whole(out / question.file, about_text(read_result(place, ("centers",)), told).encode(errors="replace"))
    return None


def _cluster(
    federation: RecordedFederation,
    request: RunRequest,
    columns: Sequence[str],
    points: FloatArray | None,
    schema: Schema | None,
    facts: ServerFacts,
) -> str | None:
    """Cluster the points of the sites and write the result; return why it is useless, if it is."""
    start, out = _start(request), Path(request.out)
    settings = request.settings
    if request.trust is Trust.SECURE_SUM:  # clients can only add Gaussian noise in shares
        settings = replace(settings, noise=NoiseName.GAUSSIAN)
    prepared = prepared_for(settings, points, schema, federation.dimension, federation.n_clients, None if start is None else start.last)
    clustering.check(prepared, federation.dimension)
    with federation.open(prepared.plan, request.seed, lambda _: facts.look(run)) as run:
        facts.look(run)
        found = clustering.carry_out(run, prepared)
    public = prepared.server_points
    spent = spent_so_far(request.odometer, prepared.plan)
    attendance = read_attendance(out / RELEASES / ATTENDANCE, request.run)
    result = result_dict(
        replace(found, remarks=(*found.remarks, *_remarks(found, request, attendance))),
        columns=columns,
        seed=request.seed,
        server_points=public,
        command=request.command,
        schema=schema,
        spent=spent,
        attendance=None if attendance is None else attendance.to_dict(),
    )
    write_result(out, result if start is None else start.told(result))
    return found.useless


def _remarks(found: Clustering, request: RunRequest, attendance: Attendance | None) -> Iterator[str]:
    """Yield what to say where sizes do not add up to the agreed number of points, and where centers mix releases of different sites."""
    if request.expected_points is not None:
        bounded = request.settings.privacy_unit is PrivacyUnit.CLIENT
        doubt = total_doubt(found.counts, found.count_stddev, request.expected_points, bounded=bounded)
        yield from [] if doubt is None else [doubt]
    # Other methods release the sums and counts that make a center together.
    if attendance is not None and attendance.uneven and request.settings.method == MethodName.PAPER:
        yield (
            f"{', '.join(attendance.uneven)} was missing in some releases: sums and counts of method 'paper' are then of different points, "
            "and centers may be too long or too short by the share of these"
        )


def _public_inputs(request: RunRequest) -> tuple[tuple[str, ...] | None, FloatArray | None, Schema | None]:
    """Return what the server knows of the coordinates: their names, public points in them, and their encoding."""
    if request.about is not None:
        asked = asked_question(request).schema
        return asked.columns, None, asked
    if (start := _start(request)) is not None:
        start.like.check_alone(request, request.server)
        return start.like.columns, None, start.like.schema
    server = None if request.server is None else Path(request.server)
    schema = read_or_learn(server, request, request.ignore, request.reading)
    if server is None:
        return None if schema is None else schema.columns, None, schema
    table = open_table(server, schema, ignore=request.ignore, reading=request.reading)
    return table.columns, table.read(), schema


def asked_question(request: RunRequest) -> Question:
    """Return the question that the schema of the request is."""
    place, unit = Path(str(request.about)), request.settings.privacy_unit
    if request.schema is None or request.server is not None or request.last is not None:
        raise InputError("--about must be given with --schema, a question made by feddp ask, and without --server and --from.")
    if unit.value != read_result(place, ("centers", "privacy_unit"))["privacy_unit"]:
        raise InputError(f"--unit must be that of the run of --about, got {unit.value!r}.")
    return Question.read(Path(request.schema), read_run(place), unit, request.settings.client_size or 1)


def _start(request: RunRequest) -> Start | None:
    """Return the run that this one goes on from, if there is one."""
    return Start.read(None if request.last is None else Path(request.last))


def _wait_for_sites(transport: Transport, needed: int, wait: float) -> None:
    end, logged = time.monotonic() + wait, -1
    while (there := len(transport.nodes())) < needed:
        if there != logged:
            logger.info("%d of %d sites are connected", there, needed, extra=about("waiting", sites=there, needed=needed))
            logged = there
        if time.monotonic() > end:
            raise InputError(f"sites must be at least {needed} within {wait:g} s, got {there}.")
        time.sleep(_LOOK)
