"""Who was in each release of a run and who was missing, kept next to the releases: a run that goes on keeps the rows of earlier sessions.

A row is on disk before its release is opened. If clients are sampled no row says who was in it: the guarantee rests on that secret.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_fields, read_dataclass
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.network.transport import Absence

ATTENDANCE = "sites.json"
"""Name of the file, in the folder of the releases."""
FORMAT = 1


@dataclass(frozen=True)
class AttendanceRow:
    """One sum: the releases of the plan that it is, its query, who was in it, and the noise that it really holds."""

    release: str
    number: int
    times: int
    statistic: str
    query: str
    """Digest of what was asked: release, statistic and public arguments."""
    planned_scale: float
    noise_factor: float
    """Real scale of the noise as a multiple of the planned one, if all sites in the sum added their share. Stated errors use it."""
    least_noise_factor: float
    """The same if the colluders that the terms allow for added none: at least 1."""
    sites: tuple[str, ...] | None
    """Names; None if clients are sampled."""
    missing: dict[str, str]
    """Why others are missing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", None if self.sites is None else tuple(self.sites))

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return vars(self) | {"sites": None if self.sites is None else list(self.sites)}


def noise_factors(terms: Terms, n_sites: int) -> tuple[float, float]:
    """Return the real scale of the noise in a sum of this many sites, in planned ones: if all added their share, and if colluders did not.

    Under secure sum each site adds a share of 1 / (t - c) of the variance. A trusted server adds the planned noise itself.
    """
    if terms.trust is Trust.AGGREGATOR:
        return 1.0, 1.0
    return math.sqrt(n_sites / terms.shares), math.sqrt((n_sites - terms.colluders) / terms.shares)


@dataclass
class Attendance:
    """The rows of a run, and the terms that they are read by. Without a path they are kept in memory only."""

    path: Path | None
    run: str
    threshold: int
    colluders: int
    confirmed: bool
    expected: set[str] = field(default_factory=set)
    """All sites that could take part in any session."""
    agreed: set[str] = field(default_factory=set)
    """The sites that agreed to the terms in any session, and so have booked the run."""
    rows: dict[str, AttendanceRow] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None, terms: Terms, expected: Iterable[str]) -> "Attendance":
        """Return the attendance of a run, with what earlier sessions kept of it."""
        found = None if path is None else read_attendance(path, terms.run)
        found = found or cls(path, terms.run, terms.threshold, terms.colluders, terms.confirmed)
        found.expected |= set(expected)
        return found

    def agree(self, names: Iterable[str]) -> None:
        """Keep that these sites agreed to the terms."""
        self.agreed |= set(names)
        self._write()

    def add(self, row: AttendanceRow) -> None:
        """Keep a row, in place of an earlier one of the same release, which nobody saw."""
        self.rows[f"{row.release} {row.number}"] = row
        self._write()

    def to_dict(self) -> dict[str, Any]:
        """Return what result.json says of it: participants are the sites in at least one release or, if sampled, those that agreed."""
        rows = list(self.rows.values())
        sampled = any(row.sites is None for row in rows)
        taking_part = self.agreed if sampled else {name for row in rows for name in row.sites or ()}
        told = {name: getattr(self, name) for name in _TERMS}
        return told | {"participants": sorted(taking_part), "attendance": [self._told(row) for row in rows]}

    @property
    def uneven(self) -> list[str]:
        """Return the sites that are in some releases and not in others; none if clients are sampled, which is so in every release."""
        groups = [{*row.sites} for row in self.rows.values() if row.sites is not None]
        return sorted(set().union(*groups) - groups[0].intersection(*groups)) if groups else []

    def _told(self, row: AttendanceRow) -> dict[str, Any]:
        told = row.to_dict() | {"scale": row.noise_factor * row.planned_scale, "sampled": row.sites is None}
        if row.sites is None:
            return told | {"missing": None}
        absent = sorted(self.expected - {*row.sites})
        return told | {"sites": len(row.sites), "missing": {name: row.missing.get(name, str(Absence.NOT_CONNECTED)) for name in absent}}

    def _write(self) -> None:
        if self.path is None:
            return
        kept = {"format": FORMAT} | {name: getattr(self, name) for name in _TERMS}
        kept |= {"expected": sorted(self.expected), "agreed": sorted(self.agreed), "rows": [row.to_dict() for row in self.rows.values()]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(kept, indent=1).encode())


_TERMS = ("run", "threshold", "colluders", "confirmed")


def read_attendance(path: Path, run: str) -> Attendance | None:
    """Return what a file keeps of a run; None if there is none, or of another run only. Refuse anything else."""
    if not path.exists():
        return None
    found = read_dataclass(path, "say which sites were in each release", FORMAT, lambda given: _attendance(path, given))
    return found if found.run == run else None


def _attendance(path: Path, given: dict[str, Any]) -> Attendance:
    rows = [AttendanceRow(**row) for row in given["rows"]]
    for row in rows:
        check_fields(row, "a row")
        if not {*row.missing.values()} <= {*map(str, Absence)}:
            raise InputError(f"missing of a row must be one of {[*map(str, Absence)]}, got another word.")
    names = {key: set(given[key]) for key in ("expected", "agreed")}
    return Attendance(path, **given | names | {"rows": {f"{row.release} {row.number}": row for row in rows}})
