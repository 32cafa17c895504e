"""The product at large: all that a run can reach, whatever settings are audited. A list of parts that can be done side by side."""

import logging
from collections.abc import Callable
from functools import partial

from feddp_kmeans.audit import federation_checks
from feddp_kmeans.audit.accounts import account_findings
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.companions import companion_findings, companions
from feddp_kmeans.audit.noise_law import law_checks, law_findings
from feddp_kmeans.audit.places import places
from feddp_kmeans.audit.refusals import refusal_findings
from feddp_kmeans.audit.statistic_checks import SHAPES, statistic_findings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY

Part = Callable[[], list[AuditFinding]]

STATISTICAL_CHECKS = law_checks() + federation_checks.STATISTICAL_CHECKS


def product_parts(chance: float) -> dict[str, Part]:
    """Return all parts by name; every statistical check of theirs refutes right code with ``chance`` at most."""
    installed = {place.name for place in places()}
    parts: dict[str, Part] = {f"books: {name}": partial(companion_findings, name) for name in companions()}
    for name in federation_checks.FEDERATIONS:
        if name in installed:
            parts[f"federation: {name}"] = partial(federation_checks.federation_findings, chance, [name])
    for unit in PrivacyUnit:
        names = [name for name, statistic in sorted(REGISTRY.items()) if statistic.unit is unit]
        for number, shape in enumerate(SHAPES):
            parts[f"statistics: {unit.value} {number}"] = partial(statistic_findings, names, [shape])
    parts["records"] = federation_checks.replay_findings
    parts["accounts"] = account_findings
    parts["refusals"] = refusal_findings
    parts["samplers"] = partial(law_findings, chance)
    return parts


def product_findings(name: str, chance: float) -> list[AuditFinding]:
    """Return the findings of one part. One that fails is refuted as well: it asks for nothing that must be refused.

    What sites log of their refusals is kept back: they are asked for it.
    """
    sites = logging.getLogger("feddp_kmeans.network")
    level = sites.level
    sites.setLevel(logging.CRITICAL)
    try:
        return product_parts(chance)[name]()
    except (FedDPError, ArithmeticError, ValueError, TypeError, IndexError, KeyError, AttributeError, OSError) as error:
        return [AuditFinding("what is allowed does not fail", name, f"{type(error).__name__}: {error}", refuted=True)]
    finally:
        sites.setLevel(level)
