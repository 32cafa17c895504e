"""What must be refused, each tried once on real code: without the refusal there is no guarantee."""

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.finding import AuditFinding, all_right
from feddp_kmeans.audit.places import ARRAYS, Asked, LoopbackFederation, Place, answers, places
from feddp_kmeans.audit.statistic_checks import SHAPES, question
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import SeededStream
from feddp_kmeans.privacy.odometer import Limit, Odometer
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query

_POINTS = [np.array([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]]), np.full((1, 3), 0.5), np.full((1, 3), 0.7)]
_COUNT = Query(REGISTRY["point-count"], {}, 3)
_RELEASE = Release("count", Mechanism.GAUSSIAN, 1.0, 1.0, 2.0, 1)
_PLAN = Plan(PrivacyUnit.POINT, 8.0, 1e-6, (_RELEASE,))
_WORDS = 64

Attempts = Iterator[tuple[str, Callable[[], Any]]]


def refusal_findings() -> list[AuditFinding]:
    """Return whether everything that breaks the promise is refused."""
    with tempfile.TemporaryDirectory(prefix="feddp-audit-") as name:
        attempts = [*_budgets(), *_everywhere(), *_limits(Path(name)), *_records(Path(name)), *_sites()]
        allowed = [what for what, attempt in attempts if not _refused(attempt)]
    return [all_right("what breaks the promise is refused", f"{len(attempts)} attempts", allowed)]


def _refused(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except FedDPError:
        return True
    return False


def _ask(place: Place, plan: Plan, asked: Asked) -> None:
    answers(place.make(_POINTS, plan.unit), plan, asked, 1)


def _budgets() -> Attempts:
    for epsilon, delta in ((0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (1e9, 1e-6), (1.0, 0.0), (1.0, 1.0)):
        yield f"epsilon {epsilon:g} and delta {delta:g}", partial(check_budget, epsilon, delta)
    yield "a plan of sampled points", lambda: calibrated_plan(PrivacyUnit.POINT, 1.0, 1e-6, [_RELEASE], sampling_rate=0.5)
    yield "settings of sampled points", lambda: Settings(2, 1.0, sampling_rate=0.5)
    shares = replace(_RELEASE, mechanism=Mechanism.LAPLACE)
    yield "shares of Laplace noise", lambda: shares.with_noise(np.zeros(1, dtype=np.int64), SeededStream(0), 3)


def _everywhere() -> Attempts:
    """Yield questions that no place may answer: beyond the plan, or a statistic with too little noise for its sensitivity."""
    for place in places():
        again = [(_COUNT, _RELEASE)] * 2
        yield f"{place.name}: a release once more than planned", partial(_ask, place, _PLAN, again)
        yield f"{place.name}: more releases as one than planned", partial(_ask, place, _PLAN, [(_COUNT, _RELEASE, 2)])
        yield f"{place.name}: a release with less noise", partial(_ask, place, _PLAN, [(_COUNT, replace(_RELEASE, noise_multiplier=1.0))])
        for name in sorted(REGISTRY) if place is ARRAYS or "sites" in place.name else ["cluster-sums"]:
            query = question(name, SHAPES[0])
            enough = query.sensitivity.l2
            right = Release("r", Mechanism.GAUSSIAN, enough, enough, 2.0, query.size)
            laplace = replace(right, mechanism=Mechanism.LAPLACE, integer_sensitivity=(query.sensitivity.l1 or 1.01 * enough) / 1.01)
            wrong = {"too little noise": replace(right, integer_sensitivity=enough / 1.01), "too little Laplace noise": laplace}
            wrong |= {"too many numbers": replace(right, values=query.size - 1)} if query.size > 1 else {}
            for what, release in wrong.items():
                plan = Plan(query.statistic.unit, 8.0, 1e-6, (release,))
                yield f"{place.name}: {name} with {what}", partial(_ask, place, plan, [(query, release)])
            other = next(unit for unit in PrivacyUnit if unit is not query.statistic.unit)
            yield f"{place.name}: {name} for another unit", partial(_ask, place, Plan(other, 8.0, 1e-6, (right,)), [(query, right)])


def _limits(folder: Path) -> Attempts:
    def run(limit: float, times: int, name: str, delta: float = 1e-6) -> None:
        for _ in range(times):
            federation = InMemoryFederation(_POINTS)
            federation.books = Books(Odometer(folder / name), Limit(limit, delta))
            answers(federation, _PLAN, [(_COUNT, _RELEASE)], None)

    spent = _PLAN.epsilon_spent
    run(1.3 * spent, 1, "within.jsonl")
    yield "a run beyond the limit", lambda: run(0.9 * spent, 1, "first.jsonl")
    yield "a second run beyond the limit", lambda: run(1.3 * spent, 2, "second.jsonl")
    yield "a run within the limit at another delta", lambda: run(1.01 * spent, 1, "delta.jsonl", 1e-9)


def _records(folder: Path) -> Attempts:
    release = replace(_RELEASE, times=2)
    plan, asked = replace(_PLAN, releases=(release,)), [(_COUNT, release)]

    def recorded(name: str, plan: Plan = plan, seed: int = 1) -> None:
        federation = RecordedFederation(InMemoryFederation(_POINTS), folder / name)
        federation.books = Books(Odometer(folder / f"{name}.jsonl"))
        answers(federation, plan, asked, seed)
        if len(federation.books.odometer.entries()) == 2:
            raise BudgetError("a record that is gone is a new run, and booked again.")

    for name in ("kept", "lost", "changed", "emptied"):
        recorded(name)
    for path in [*(folder / "lost").glob("*.npy"), *(folder / "emptied").iterdir()]:
        path.unlink()
    for path in (folder / "changed").glob("*.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"\1")
    yield "another plan on a record", lambda: recorded("kept", replace(plan, epsilon=9.0))
    yield "another seed on a record", lambda: recorded("kept", seed=2)
    yield from ((f"a record that was {name}", partial(recorded, name)) for name in ("lost", "changed", "emptied"))


def _sites() -> Attempts:
    """Yield what a site must refuse, whatever the server says."""

    def site(plan: Plan = _PLAN, unit: PrivacyUnit = PrivacyUnit.POINT, what: Any = None, **more: Any) -> None:
        answers(LoopbackFederation(_POINTS, unit=unit, **more), plan, what or [(_COUNT, plan.releases[0])], 1)

    site()
    many = replace(_RELEASE, values=99)
    clients, sizes = replace(_PLAN, unit=PrivacyUnit.CLIENT, releases=(many,)), [(Query(REGISTRY["client-sizes"], {}, 3), many)]
    site(clients, PrivacyUnit.CLIENT, sizes)
    yield "a plan for another unit, at a site", lambda: site(clients, what=sizes)
    yield "a plan beyond a site's limit", lambda: site(epsilon=0.5)
    yield "a plan that says it spends less, at a site", lambda: site(replace(_PLAN, epsilon=0.5))
    yield "a larger delta than a site's", lambda: site(replace(_PLAN, delta=1e-3))
    yield "a threshold that is not safe", lambda: site(threshold=2)
    yield "fewer colluders than a site assumes", lambda: site(colluders=0)
    yield "sampling under secure sum", lambda: site(replace(clients, sampling_rate=0.5), PrivacyUnit.CLIENT, sizes)
    yield "Laplace noise under secure sum", lambda: site(replace(_PLAN, releases=(replace(_RELEASE, mechanism=Mechanism.LAPLACE),)))
    restarted, asked = LoopbackFederation(_POINTS, run="again"), [(_COUNT, _RELEASE)]
    answers(restarted, _PLAN, asked, 1)
    yield "a release again, by a server that starts anew", partial(answers, restarted, _PLAN, asked, 1)
    few = LoopbackFederation([*_POINTS, *_POINTS])
    few.loopback.absent = {1, 2, 3}
    yield "a sum of fewer sites than the threshold", partial(answers, few, _PLAN, asked, None)
    for kind in ("agree", "mask", "unmask", "sum"):
        yield f"a message {kind!r} that comes again, in other words", partial(_again, kind)


def _again(kind: str) -> None:
    """Send every site the message of this kind again, as it was and with another list or question: only an old answer may come."""
    federation = LoopbackFederation(_POINTS, trust=Trust.AGGREGATOR if kind == "sum" else Trust.SECURE_SUM)
    answers(federation, _PLAN, [(_COUNT, _RELEASE)], 1)
    turn, answered = 99, {_content(reply) for _, _, reply in federation.loopback.sent}
    for node, message in [(node, unpack(request)) for node, request, _ in federation.loopback.sent]:
        fewer = {"survivors": message.fields.get("survivors", [])[:-1]}
        changes = [{}, fewer, {"number": 1}, {"round": 1}, {"round": 1, "times": 2}, {"round": 1, "seed": 5}]
        for changed in changes if message.kind == kind else ():
            turn += 1
            fields = dict(message.fields) | {name: value for name, value in (changed | {"turn": turn}).items() if name in message.fields}
            reply = federation.loopback.exchange({node: pack(kind, **fields)}, 1.0, [])[node]
            if isinstance(reply, bytes) and unpack(reply).kind not in {"refused", "failed"} and _content(reply) not in answered:
                return
    raise BudgetError("all sites refused it.")


def _content(reply: bytes) -> str:
    return repr({name: value for name, value in unpack(reply).fields.items() if name != "turn"})
