"""Who took part in a run between machines, as result.json says it: in one line, and as the facts of a section of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feddp_kmeans._text import counted, finite

_NAMED = 3
"""Missing sites that the line names."""


@dataclass(frozen=True)
class MissingSite:
    """A site that was missing: from how many releases, and why."""

    name: str
    releases: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class TakingPart:
    """The facts of who took part."""

    participants: tuple[str, ...]
    releases: int
    """Releases that were made; several that were made as one count as that many."""
    missing: tuple[MissingSite, ...]
    sampled: bool
    least_factor: float
    most_factor: float
    """Real noise as a multiple of the planned one, smallest and largest of all releases."""

    @property
    def line(self) -> str:
        """Return one line on who took part and who was missing."""
        who = f"{counted(len(self.participants), 'site')} took part"
        if self.sampled:
            return f"{who}; each release is made of a secret sample of them."
        parts = [
            f"{site.name} was missing in {site.releases} of {counted(self.releases, 'release')} ({', '.join(site.reasons)})"
            for site in self.missing[:_NAMED]
        ]
        more = [f"{counted(len(self.missing) - _NAMED, 'more site')} missing in some"] if len(self.missing) > _NAMED else []
        return f"{'; '.join([who, *parts, *more])}." if self.missing else f"{who} in all {counted(self.releases, 'release')}."


def taking_part(result: Mapping[str, Any]) -> TakingPart | None:
    """Return who took part; None for a run on one machine, of an older version, or without a record that can be read."""
    names, rows = result.get("participants"), result.get("attendance")
    if not isinstance(names, list) or not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return None
    times = [int(finite(row.get("times")) or 1) for row in rows]
    factors = [finite(row.get("noise_factor")) or 1.0 for row in rows]
    absent: dict[str, list[tuple[int, str]]] = {}
    for row, number in zip(rows, times, strict=True):
        missing = row.get("missing")
        for name, why in missing.items() if isinstance(missing, dict) else ():
            absent.setdefault(str(name), []).append((number, str(why)))
    told = [MissingSite(name, sum(n for n, _ in found), tuple(dict.fromkeys(why for _, why in found))) for name, found in absent.items()]
    told.sort(key=lambda site: (-site.releases, site.name))
    sampled = any(row.get("sampled") is True for row in rows)
    return TakingPart(tuple(map(str, names)), sum(times), () if sampled else tuple(told), sampled, min(factors), max(factors))
