"""What must be refused, each tried once on real code: a refusal that is gone is a guarantee that is gone."""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.loopback import LoopbackFederation
from feddp_kmeans.audit.places import answers
from feddp_kmeans.errors import BudgetError, FedDPError, InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import RandomStream, SeededStream, SystemStream
from feddp_kmeans.privacy.odometer import Limit, Odometer
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query

_POINTS = [np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5, 0.6]]), np.array([[0.7, 0.8]])]
_COUNT = Query(REGISTRY["point-count"], {}, 2)
_SUMS = {"center": np.zeros(2), "radius": 1.0, "centers": np.zeros((2, 2))}
_WORDS = 64


def refusal_findings() -> list[AuditFinding]:
    """Return, for each thing that must be refused, whether it is; and what else is yes or no about random bits."""
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as name:
        found = [_tried(what, attempt) for what, attempt in _attempts(Path(name))]
    return [*found, _streams(), _booked_first()]


def _tried(what: str, attempt: Callable[[], Any]) -> AuditFinding:
    try:
        attempt()
        refuted, told = True, "it was not refused"
    except FedDPError as error:
        refuted, told = False, str(error)
    return AuditFinding("what breaks the promise is refused", what, told, refuted)


def _attempts(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    release = Release("count", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    plan = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,))
    yield "a release that is not in the plan", lambda: _ask(plan, [(_COUNT, replace(release, noise_multiplier=1.0))])
    yield "a release once more than planned", lambda: _ask(plan, [(_COUNT, release)] * 2)
    sums = Query(REGISTRY["cluster-sums"], _SUMS, 2)
    yield "a statistic that is more sensitive than its noise", lambda: _ask(plan, [(sums, release)])
    wide = replace(release, sensitivity=1e9, integer_sensitivity=1e9)
    yield "more numbers than the release holds", lambda: _ask(replace(plan, releases=(wide,)), [(sums, wide)])
    laplace = replace(wide, mechanism=Mechanism.LAPLACE, values=9)
    yield "Laplace noise without a bound in its norm", lambda: _ask(replace(plan, releases=(laplace,)), [(sums, laplace)])
    sizes = Query(REGISTRY["client-sizes"], {}, 2)
    many = replace(release, values=99)
    yield "a statistic of another unit", lambda: _ask(replace(plan, releases=(many,)), [(sizes, many)])
    yield "points where clients are sampled", lambda: _ask(replace(plan, sampling_rate=0.5), [(_COUNT, release)])
    yield "a plan of sampled points", lambda: calibrated_plan(PrivacyUnit.POINT, 1.0, 1e-6, [release], sampling_rate=0.5)
    yield "settings of sampled points", lambda: Settings(2, 1.0, sampling_rate=0.5)
    for epsilon, delta in ((0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (1e9, 1e-6), (1.0, 0.0), (1.0, 1.0)):
        yield f"epsilon {epsilon:g} and delta {delta:g}", partial(check_budget, epsilon, delta)
    yield "public arguments that are not numbers", lambda: Query(REGISTRY["cluster-sums"], _SUMS | {"radius": math.nan}, 2)
    yield "centers beyond exact arithmetic", lambda: Query(REGISTRY["cluster-sums"], _SUMS | {"centers": np.full((2, 2), 1e12)}, 2)
    for bound in (1e-30, 1e30):
        public = _SUMS | {"bound": bound}
        yield f"a bound of {bound:g}", partial(Query, REGISTRY["client-cluster-sums"], public, 2)
    yield "a projection that stretches", lambda: Query(REGISTRY["cluster-sums"], _SUMS | {"projection": 2 * np.eye(2)}, 2)
    yield "shares of Laplace noise", lambda: laplace.with_noise(np.zeros(1, dtype=np.int64), SeededStream(0), 3)
    yield from _beyond_limits(folder, plan)
    yield from _records(folder, plan)
    yield from _sites(plan)


def _beyond_limits(folder: Path, plan: Plan) -> Iterator[tuple[str, Callable[[], Any]]]:
    asked = [(_COUNT, plan.releases[0])]

    def run(limit: float, times: int, name: str) -> None:
        for _ in range(times):
            federation = InMemoryFederation(_POINTS)
            federation.books = Books(Odometer(folder / name), Limit(limit))
            answers(federation, plan, asked, None)

    spent = plan.epsilon_spent
    run(1.3 * spent, 1, "within.jsonl")
    yield "a run beyond the limit", lambda: run(0.9 * spent, 1, "first.jsonl")
    yield "a second run beyond the limit", lambda: run(1.3 * spent, 2, "second.jsonl")


def _records(folder: Path, plan: Plan) -> Iterator[tuple[str, Callable[[], Any]]]:
    release = replace(plan.releases[0], times=2)
    plan, asked = replace(plan, releases=(release,)), [(_COUNT, release)]

    def recorded(name: str, plan: Plan = plan, seed: int = 1, asked: Any = asked) -> None:
        federation = RecordedFederation(InMemoryFederation(_POINTS), folder / name)
        federation.books = Books(Odometer(folder / f"{name}.jsonl"))
        answers(federation, plan, asked, seed)

    for name in ("plan", "seed", "lost", "changed", "once more", "query", "copy"):
        recorded(name)
    recorded("copy", asked=asked * 2)
    for path in (folder / "lost").glob("*.npy"):
        path.unlink()
    for path in (folder / "changed").glob("*.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"\1")
    yield "another plan on a record", lambda: recorded("plan", replace(plan, epsilon=9.0))
    yield "another seed on a record", lambda: recorded("seed", seed=2)
    yield "a release whose record is lost", lambda: recorded("lost")
    yield "a release whose record was changed", lambda: recorded("changed")
    yield "a release once more than planned, on record", lambda: recorded("once more", asked=asked * 3)
    counts = Query(REGISTRY["cluster-counts"], {**_SUMS, "centers": np.zeros((1, 2))}, 2)
    yield "another question on a record", lambda: recorded("query", asked=[(counts, release)])

    def set_back() -> None:
        os.unlink(folder / "copy" / "releases.json")  # noqa: PTH108
        for path in (folder / "copy").glob("*.npy"):
            path.unlink()
        recorded("copy")
        entries = Odometer(folder / "copy.jsonl").entries()
        if len(entries) == 2:
            raise BudgetError("a record that is gone is a new run, and booked again.")

    yield "a record that was emptied, for nothing", set_back


def _sites(plan: Plan) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what a site must refuse, whatever the server says."""
    release = plan.releases[0]

    def site(plan: Plan = plan, trust: Trust = Trust.SECURE_SUM, *, seed: int | None = 1, asked: Any = None, **more: Any) -> None:
        answers(LoopbackFederation(_POINTS, trust=trust, **more), plan, asked or [(_COUNT, release)], seed)

    site()
    many = replace(release, values=99)
    clients, sizes = replace(plan, unit=PrivacyUnit.CLIENT, releases=(many,)), [(Query(REGISTRY["client-sizes"], {}, 2), many)]
    site(clients, unit=PrivacyUnit.CLIENT, asked=sizes)
    yield "a plan for another unit, at a site", lambda: site(clients, asked=sizes)
    yield "a plan beyond a site's limit", lambda: site(epsilon=0.5)
    yield "a plan that says it spends less, at a site", lambda: site(replace(plan, epsilon=0.5))
    yield "a threshold that is not safe", lambda: site(threshold=2)
    yield "fewer colluders than a site assumes", lambda: site(colluders=0)
    yield "sampling under secure sum", lambda: site(replace(clients, sampling_rate=0.5), unit=PrivacyUnit.CLIENT, asked=sizes)
    laplace = replace(release, mechanism=Mechanism.LAPLACE)
    yield "Laplace noise under secure sum", lambda: site(replace(plan, releases=(laplace,)), asked=[(_COUNT, laplace)])
    for kind in ("agree", "mask", "unmask", "sum"):
        yield f"a message {kind!r} that comes again, in other words", partial(_again, plan, kind)


def _again(plan: Plan, kind: str) -> None:
    """Send every site the message of this kind again, as new: in the next turn, and with another list or question."""
    federation = LoopbackFederation(_POINTS, trust=Trust.AGGREGATOR if kind == "sum" else Trust.SECURE_SUM)
    answers(federation, plan, [(_COUNT, plan.releases[0])], 1)
    requests = [(node, unpack(request)) for node, request in federation.loopback.requests]
    for node, message in [(node, message) for node, message in requests if message.kind == kind]:
        changed = {"turn": 99, "survivors": message.fields.get("survivors", [])[:-1], "number": 1} | {"seed": 5}
        fields = dict(message.fields) | {name: value for name, value in changed.items() if name in message.fields}
        reply = unpack(federation.loopback.exchange({node: pack(kind, **fields)}, 1.0, [])[node])  # type: ignore[arg-type]
        if reply.kind not in {"refused", "failed"}:
            return
    raise BudgetError("all sites refused it.")


def _ask(plan: Plan, asked: list[tuple[Query, Release]]) -> list[FloatArray]:
    return answers(InMemoryFederation(_POINTS), plan, asked, 1)


class _Unreadable:
    """A client whose points cannot be read."""

    columns = ("x0", "x1")
    dimension = 2
    size = 1

    def read(self) -> FloatArray:
        """Fail, as a broken disk does."""
        raise InputError("points must be readable, got a broken disk.")

    def pieces(self, rows: int) -> Iterator[FloatArray]:
        """Fail likewise."""
        del rows
        yield self.read()


def _booked_first() -> AuditFinding:
    """Return whether a run is on the odometer before any point is looked at."""
    release = Release("count", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
    plan = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (release,))
    lines = []
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as name:
        for kind in ("plain", "recorded"):
            odometer = Odometer(Path(name) / f"{kind}.jsonl")
            federation: Federation = FileFederation([_Unreadable()])
            federation = federation if kind == "plain" else RecordedFederation(federation, Path(name) / kind)
            federation.books = Books(odometer)
            try:
                answers(federation, plan, [(_COUNT, release)], None)
            except FedDPError:
                lines.append(len(odometer.entries()))
    return AuditFinding("a run is booked before points are looked at", "books", f"lines written: {lines}", lines != [1, 1])


def _streams() -> AuditFinding:
    """Return whether streams of random bits differ: of other seeds, labels and processes, and of one process twice."""
    made: list[RandomStream] = [SystemStream(), SystemStream(), SeededStream(1, "a"), SeededStream(1, "b"), SeededStream(2, "a")]
    words = [stream.uint64(_WORDS).tobytes() for stream in made]
    words += [made[0].uint64(_WORDS).tobytes(), made[2].uint64(_WORDS).tobytes()]
    if hasattr(os, "fork"):
        words += _after_fork(made[0])
    bits = np.unpackbits(np.frombuffer(SystemStream().uint64(1 << 14).tobytes(), dtype=np.uint8))
    biased = abs(bits.mean() - 0.5) > 5 / math.sqrt(bits.size)
    told = f"{len(words)} pieces of streams, {len(set(words))} different; {100 * bits.mean():.2f} % ones"
    return AuditFinding("streams of random bits differ", "streams", told, len(set(words)) < len(words) or bool(biased), 1e-6)


def _after_fork(stream: RandomStream) -> list[bytes]:
    """Return what this process and a forked one draw next from one stream."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, stream.uint64(_WORDS).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    drawn = os.read(read, 8 * _WORDS)
    os.close(read)
    os.close(write)
    return [drawn, stream.uint64(_WORDS).tobytes()]
