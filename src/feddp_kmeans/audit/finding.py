"""The finding of one check, and how certain a check must be."""

from collections.abc import Iterable
from dataclasses import dataclass

FAILURE_CHANCE = 1e-4
"""Chance that an audit refutes correct code, over all its checks."""

CHANCE = FAILURE_CHANCE / 4000
"""The same for each check that involves chance: an audit makes at most 4,000 of them."""


@dataclass(frozen=True)
class AuditFinding:
    """What one check found. ``failure_chance`` is the chance of refuting correct code: zero for checks without chance."""

    check: str
    about: str
    told: str
    refuted: bool
    failure_chance: float = 0.0


def by_chance(check: str, about: str, told: str, likelihood: float) -> AuditFinding:
    """Return the finding of a check whose outcome has at most this likelihood in correct code."""
    return AuditFinding(check, about, told, bool(likelihood < CHANCE), CHANCE)


def all_right(check: str, about: str, wrong: Iterable[str]) -> AuditFinding:
    """Return the finding of a check that lists what is wrong."""
    names = list(dict.fromkeys(wrong))
    return AuditFinding(check, about, f"wrong: {', '.join(names) or 'nothing'}", bool(names))
