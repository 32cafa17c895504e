"""Cases whose books are checked whatever the audited settings are: every method, both units, and every federation."""

from collections.abc import Callable
from functools import partial
from typing import Any

from feddp_kmeans.algorithm.settings import AUTO, MethodName, NoiseName, Settings
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.audit.books import book_findings
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.federation_checks import FEDERATIONS
from feddp_kmeans.audit.places import places
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit

_PAPER, _CLIENT = MethodName.PAPER, PrivacyUnit.CLIENT
_SETTINGS: dict[str, Callable[[], AuditCase]] = {
    "paper, points": lambda: AuditCase(Settings(2, 8.0, method=_PAPER, lloyd_steps=2), seed=1),
    "paper, naive composition": lambda: AuditCase(
        Settings(2, 8.0, method=_PAPER, lloyd_steps=1, composition=Composition.PAPER_NAIVE), seed=2
    ),
    "paper, clients, Gaussian counts": lambda: AuditCase(
        Settings(3, 4.0, 1e-7, method=_PAPER, privacy_unit=_CLIENT, client_size=4, noise=NoiseName.GAUSSIAN),
        dimension=2,
        seed=3,
    ),
    "refined, points": lambda: AuditCase(Settings(2, 2.0, 1e-5, lloyd_steps=2), seed=4),
    "refined, clients": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=1, privacy_unit=_CLIENT), seed=5),
    "sampled clients": lambda: AuditCase(
        Settings(2, 4.0, method=_PAPER, lloyd_steps=1, privacy_unit=_CLIENT, client_size=1, sampling_rate=0.3), seed=6
    ),
    "no server data, points": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=1), with_server=False, seed=7),
    "no server data, clients": lambda: AuditCase(Settings(2, 8.0, lloyd_steps=0, privacy_unit=_CLIENT), with_server=False, seed=8),
    "grid": lambda: AuditCase(Settings(2, 8.0, radius=5.0), dimension=2, with_server=False, seed=9),
    "chosen number of clusters": lambda: AuditCase(Settings(AUTO, 8.0, lloyd_steps=1, max_clusters=4), seed=10),
}


def companions() -> list[str]:
    """Return the names of all cases: of settings, and of federations."""
    installed = {place.name for place in places()}
    return [*_SETTINGS, *(name for name in FEDERATIONS if name in installed and name != "arrays")]


def companion(name: str) -> AuditCase:
    """Return the case of this name."""
    if name in _SETTINGS:
        return _SETTINGS[name]()
    return AuditCase(Settings(2, 8.0, lloyd_steps=1), seed=11, federation=partial(_made, name))


def companion_findings(name: str) -> list[AuditFinding]:
    """Return the findings on the books of one case."""
    return book_findings(companion(name), name)


def _made(name: str, clients: Any) -> Federation:
    place = next(place for place in places() if place.name == name)
    return place.make(clients, PrivacyUnit.POINT)
