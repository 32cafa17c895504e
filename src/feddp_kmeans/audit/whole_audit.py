"""The whole audit: the product at large, the books of a case, its releases one by one, and whole runs; in several processes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from feddp_kmeans._processes import side_by_side
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit import product, releases
from feddp_kmeans.audit.attack import FAILURE_CHANCE, AttackVerdict, AuditFinding
from feddp_kmeans.audit.books import book_findings
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.neighbours import worst_for_all
from feddp_kmeans.audit.whole_runs import WHOLE, WholeRuns, judge, statistical_checks, whole_runs
from feddp_kmeans.errors import FedDPError, InputError

RUNS = 1000
"""Runs of each kind: with the unit and without it."""

_FOR_ONE = 3
"""Runs of a single release for one whole run: they are far quicker."""

_CHUNK = 50
"""Whole runs that are done at once."""


@dataclass(frozen=True)
class Audit:
    """All that an audit found."""

    case: AuditCase
    findings: tuple[AuditFinding, ...]
    verdicts: dict[str, AttackVerdict] = field(repr=False)
    """On every release that was attacked, and on whole runs."""

    @property
    def refuted(self) -> bool:
        """Return whether any check refutes what is claimed."""
        return any(finding.refuted for finding in self.findings)

    @property
    def failure_chance(self) -> float:
        """Return the chance that code that is right is refuted: all checks that were made together."""
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
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True)
class _Part:
    """A part of the audit that can be done by itself: whole runs from one number to another, one release, or a part of the product."""

    product: str | None = None
    release: str | None = None
    first: int = 0
    end: int = 0


def audit(
    case: AuditCase,
    *,
    runs: int = RUNS,
    names: Sequence[str] = (),
    parts: Sequence[str] | None = None,
    jobs: int = 1,
    failure_chance: float = FAILURE_CHANCE,
    on_part: Callable[[int, int], None] = lambda _done, _all: None,
) -> Audit:
    """Return the audit of a case and of the product at large.

    With ``names``, only these releases are attacked, and no whole runs. ``parts`` are those of the product (``product_parts``): by default
    all, and none where ``names`` are given. Code that cannot be audited because it fails on some data is refuted as well: an error that
    depends on the points tells about them.
    """
    if runs < 20:
        raise InputError(f"runs must be at least 20, got {runs}.")
    planned = [release.name for release in case.plan.releases]
    for name in names:
        if name not in planned:
            raise InputError(f"release must be one of {planned}, got {name!r}.")
    chance = failure_chance / _statistical_checks(case)
    at_large = list(product.product_parts(chance)) if parts is None and not names else list(parts or ())
    tasks = [_Part(product=name) for name in at_large]
    findings: list[AuditFinding] = []
    try:
        made = {query.release.name for query in case.queries}
        attacked = [name for name in names or planned if name in made]
        unit = worst_for_all(case)
        findings += book_findings(case)
        tasks += [_Part(release=name) for name in attacked]
        tasks += [] if names else [_Part(first=first, end=min(first + _CHUNK, runs)) for first in range(0, runs, _CHUNK)]
        together, verdicts = WholeRuns(), {}
        on_part(0, len(tasks))
        for done, found in enumerate(side_by_side(_do, [(case, part, unit, runs, chance) for part in tasks], jobs), 1):
            if isinstance(found, WholeRuns):
                together.add(found)
            elif isinstance(found, releases.ReleaseAudit):
                verdicts[found.name] = found.verdict
                findings += found.findings
            else:
                findings += found
            on_part(done, len(tasks))
        if not names:
            verdicts[WHOLE], judged = judge(case, together, chance)
            findings += judged
    except (FedDPError, ArithmeticError, ValueError, TypeError, IndexError) as error:
        told = f"{type(error).__name__}: {error}"
        return Audit(case, (*findings, AuditFinding("runs do not fail, whatever the points are", WHOLE, told, refuted=True)), {})
    return Audit(case, tuple(findings), {name: verdicts[name] for name in (*attacked, WHOLE) if name in verdicts})


def _statistical_checks(case: AuditCase) -> int:
    return len(case.plan.releases) * releases.STATISTICAL_CHECKS + statistical_checks(case) + product.STATISTICAL_CHECKS


def _do(case: AuditCase, part: _Part, unit: FloatArray, runs: int, chance: float) -> WholeRuns | releases.ReleaseAudit | list[AuditFinding]:
    if part.product is not None:
        return product.product_findings(part.product, chance)
    if part.release is not None:
        return releases.audit_release(case, part.release, runs=_FOR_ONE * runs, chance=chance)
    return whole_runs(case, unit, range(part.first, part.end))
