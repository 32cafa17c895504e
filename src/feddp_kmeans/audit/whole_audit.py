"""The whole audit: the product itself, and one case of settings, in parts that can run in parallel."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from feddp_kmeans._processes import side_by_side
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import AUTO, MethodName, NoiseName, Settings
from feddp_kmeans.audit.attack import FEWEST_RUNS, AttackVerdict
from feddp_kmeans.audit.books import account_findings, book_findings
from feddp_kmeans.audit.case import WHOLE, AuditCase, Trials, judge, trials, worst_unit
from feddp_kmeans.audit.federation_checks import federation_findings, record_findings
from feddp_kmeans.audit.finding import AuditFinding
from feddp_kmeans.audit.knots_checks import knots_findings
from feddp_kmeans.audit.places import places
from feddp_kmeans.audit.refusals import refusal_findings
from feddp_kmeans.audit.statistic_checks import SHAPES, statistic_findings
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit

RUNS = 1000
"""Number of runs with the unit, and of runs without it."""

_CHUNK = 50
"""Number of runs per task."""

_FAILURES = (FedDPError, ArithmeticError, ValueError, TypeError, IndexError, KeyError, AttributeError, OSError, AssertionError)
_PAPER, _CLIENT = MethodName.PAPER, PrivacyUnit.CLIENT
_CASES: dict[str, tuple[Settings, dict[str, Any]]] = {
    "paper, points": (Settings(2, 8.0, method=_PAPER, lloyd_steps=2), {}),
    "paper, naive composition": (Settings(2, 8.0, method=_PAPER, lloyd_steps=1, composition=Composition.PAPER_NAIVE), {}),
    "paper, clients": (Settings(2, 8.0, method=_PAPER, lloyd_steps=1, privacy_unit=_CLIENT, client_size=3), {}),
    "paper, clients, Gaussian counts": (
        Settings(3, 4.0, 1e-7, method=_PAPER, privacy_unit=_CLIENT, client_size=4, noise=NoiseName.GAUSSIAN),
        {"dimension": 2},
    ),
    "refined, points": (Settings(2, 2.0, 1e-5, lloyd_steps=2), {}),
    "refined, clients": (Settings(2, 8.0, lloyd_steps=1, privacy_unit=_CLIENT), {}),
    "sampled clients": (Settings(2, 4.0, method=_PAPER, lloyd_steps=1, privacy_unit=_CLIENT, client_size=1, sampling_rate=0.3), {}),
    "no server data, points": (Settings(2, 8.0, lloyd_steps=1), {"with_server": False}),
    "no server data, clients": (Settings(2, 8.0, lloyd_steps=0, privacy_unit=_CLIENT), {"with_server": False}),
    "grid": (Settings(2, 8.0, radius=5.0), {"dimension": 2, "with_server": False}),
    "chosen number of clusters": (Settings(AUTO, 8.0, lloyd_steps=1, max_clusters=4), {}),
}
"""Cases whose books are checked, independent of the audited settings."""

_FEDERATIONS = ("files", "a Dask cluster", "tensors", "kept on record", "sites, aggregator", "sites, secure sum")
"""The same for federations."""


@dataclass(frozen=True)
class Audit:
    """All that an audit found."""

    case: AuditCase
    findings: tuple[AuditFinding, ...]
    verdicts: dict[str, AttackVerdict] = field(repr=False)
    """Verdicts on every attacked release, and on whole runs."""

    @property
    def refuted(self) -> bool:
        """Return whether any check refutes what is claimed."""
        return any(finding.refuted for finding in self.findings)

    @property
    def failure_chance(self) -> float:
        """Return the chance that correct code is refuted, over all checks that were made."""
        return math.fsum(finding.failure_chance for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data."""
        settings = self.case.settings
        return {
            "refuted": self.refuted,
            "epsilon_claimed": settings.epsilon,
            "delta": settings.delta,
            "privacy_unit": settings.privacy_unit,
            "relation": "add-remove",
            "method": settings.method,
            "n_clusters": settings.n_clusters,
            "dimension": self.case.dimension,
            "server_data": self.case.with_server,
            "failure_chance": self.failure_chance,
            "verdicts": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
            "findings": [asdict(finding) for finding in self.findings],
        }


def product_parts() -> dict[str, Callable[[], list[AuditFinding]]]:
    """Return all parts of the audit of the product by name."""
    found = places()
    parts: dict[str, Callable[[], list[AuditFinding]]] = {
        "accounts": account_findings,
        "records": record_findings,
        "refusals": refusal_findings,
    }
    parts |= {f"federation: {place.name}": partial(federation_findings, place) for place in found}
    parts |= {
        f"statistics: {unit.value}, {number}": partial(statistic_findings, unit, shape)
        for unit in PrivacyUnit
        for number, shape in enumerate(SHAPES)
    }
    parts |= {f"knots: {unit.value}": partial(knots_findings, unit) for unit in PrivacyUnit}
    cases = [*_CASES, *(place.name for place in found if place.name in _FEDERATIONS)]
    return parts | {f"books: {name}": partial(book_findings, product_case(name), name) for name in cases}


def product_case(name: str) -> AuditCase:
    """Return the case of this name, whose books are checked."""
    if name in _CASES:
        settings, more = _CASES[name]
        return AuditCase(settings, seed=1, **more)
    place = next(place for place in places() if place.name == name)
    return AuditCase(Settings(2, 8.0, lloyd_steps=1), seed=1, federation=lambda clients: place.make(clients, PrivacyUnit.POINT))


def product_findings(name: str) -> list[AuditFinding]:
    """Return the findings of one part of the audit of the product."""
    return part_findings(name, product_parts()[name])


def part_findings(name: str, find: Callable[[], list[AuditFinding]]) -> list[AuditFinding]:
    """Return the findings of one part. A part that fails counts as refuted: it asks for nothing that must be refused.

    Refusals that sites log are not shown: they are expected.
    """
    sites = logging.getLogger("feddp_kmeans.network")
    level = sites.level
    sites.setLevel(logging.CRITICAL)
    try:
        return find()
    except _FAILURES as error:
        return [_failed(name, error)]
    finally:
        sites.setLevel(level)


def audit(
    case: AuditCase,
    *,
    runs: int = RUNS,
    names: Sequence[str] = (),
    parts: Sequence[str] | None = None,
    jobs: int = 1,
    on_part: Callable[..., Any] = lambda **_: None,
) -> Audit:
    """Return the audit of a case and of the product.

    With ``names``, only these releases are attacked, and not whole runs. ``parts`` are those of the product (``product_parts``): by default
    all, and none where ``names`` are given. ``on_part`` gets the number of ``completed`` parts, and once their ``total``. Code that cannot
    be audited because it fails on some data is refuted as well: an error that depends on the points tells about them.
    """
    if runs < FEWEST_RUNS:
        raise InputError(f"runs must be at least {FEWEST_RUNS}, got {runs}.")
    planned = [release.name for release in case.plan.releases]
    for name in names:
        if name not in planned:
            raise InputError(f"release must be one of {planned}, got {name!r}.")
    chosen = (() if names else list(product_parts())) if parts is None else parts
    findings: list[AuditFinding] = []
    verdicts: dict[str, AttackVerdict] = {}
    try:
        made, unit, together = {seen.release.name for seen in case.asked}, worst_unit(case), Trials()
        attacked = [name for name in (names or [*planned, WHOLE]) if name in {*made, WHOLE}]
        findings += book_findings(case, "settings")
        tasks = [(name, None, None, 0) for name in chosen] + [("", case, unit, first) for first in range(0, runs, _CHUNK)]
        on_part(completed=0, total=len(tasks))
        for done, found in enumerate(side_by_side(_do, [(*task, runs) for task in tasks], jobs), 1):
            if isinstance(found, Trials):
                together.add(found)
            else:
                findings += found
            on_part(completed=done)
        verdicts, judged = judge(case, together, attacked)
        findings += judged
    except _FAILURES as error:
        findings.append(_failed(WHOLE, error))
    return Audit(case, tuple(findings), verdicts)


def _failed(about: str, error: Exception) -> AuditFinding:
    return AuditFinding("runs do not fail, whatever the points are", about, f"{type(error).__name__}: {error}", refuted=True)


def _do(part: str, case: AuditCase | None, unit: FloatArray | None, first: int, runs: int) -> Trials | list[AuditFinding]:
    if case is None or unit is None:
        return product_findings(part)
    return trials(case, unit, range(first, min(first + _CHUNK, runs)))
