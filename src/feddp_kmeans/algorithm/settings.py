"""What a user asks for: public numbers and names, checked before any data is touched."""

from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from feddp_kmeans import plugins
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.algorithm.domain import Region
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit, check_sampling
from feddp_kmeans.statistics.fixed_point import Ball

AUTO = "auto"

_MOST = 1 << 53
"""Largest count: beyond, floating point does not tell counts apart."""

Box = tuple[Any, Any]
"""Least and largest value of the coordinates: two numbers, or two vectors."""


class MethodName(StrEnum):
    """Which releases are made: those of the paper, or the refined ones."""

    PAPER = "paper"
    REFINED = "refined"

    @classmethod
    def parse(cls, value: str) -> "MethodName":
        """Return the method of this name."""
        return _parsed("method", cls, value)


class NoiseName(StrEnum):
    """Which law the noise has."""

    AUTO = "auto"
    """Laplace noise for counts that are released by themselves, Gaussian noise for all else: the least noise."""
    GAUSSIAN = "gaussian"
    """Gaussian noise alone: clients can add it in shares."""


T = TypeVar("T", bound=StrEnum)

FEDDP = "feddp"
"""The start of Algorithm 1; other names of starts are those of installed plugins."""


@dataclass(frozen=True)
class Settings:
    """The settings of one clustering; every field is public. Names may be given as plain text: they are parsed here, once."""

    n_clusters: int | str = 8
    epsilon: float = 1.0
    delta: float = 1e-6
    privacy_unit: PrivacyUnit = PrivacyUnit.POINT
    method: MethodName = MethodName.REFINED
    init: str = "feddp"
    lloyd_steps: int | str = AUTO
    radius: float | None = None
    box: Box | None = None
    client_size: int | None = None
    n_points: int | None = None
    bounds: ClientBounds | None = None
    composition: Composition = Composition.TIGHT
    noise: NoiseName = NoiseName.AUTO
    sampling_rate: float = 1.0
    shares: tuple[float, float, float, float] | None = None
    max_clusters: int = 20

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        self._check_counts()
        self._check_region()
        for name, kind in (("method", MethodName), ("composition", Composition), ("noise", NoiseName)):
            object.__setattr__(self, name, _parsed(name, kind, getattr(self, name)))
        object.__setattr__(self, "privacy_unit", PrivacyUnit.parse(self.privacy_unit))
        if self.init != FEDDP and self.init not in (starts := plugins.names(plugins.STARTS)):
            raise InputError(
                f"init must be one of {[FEDDP, *starts]}, got {self.init!r}. {plugins.advice(plugins.STARTS, self.init)}".rstrip()
            )
        if self.shares is not None and not (len(self.shares) == 4 and all(_is_real(x) and np.isfinite(x) and x > 0 for x in self.shares)):
            raise InputError(f"shares must be four positive numbers (epsilon_1, epsilon_2, epsilon_3G, epsilon_3L), got {self.shares!r}.")
        check_sampling(self.unit, self.sampling_rate)

    def _check_counts(self) -> None:
        if self.n_clusters != AUTO:
            _check_count("n_clusters", self.n_clusters, 1, " or 'auto'")
        _check_count("max_clusters", self.max_clusters, 3)
        if self.lloyd_steps != AUTO:
            _check_count("lloyd_steps", self.lloyd_steps, 0, " or 'auto'")
        for name in ("client_size", "n_points"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), 1)

    @property
    def unit(self) -> PrivacyUnit:
        """Return the privacy unit."""
        return self.privacy_unit

    @property
    def count_noise(self) -> Mechanism:
        """Return the law of the noise of counts that are released by themselves."""
        return Mechanism.GAUSSIAN if self.noise is NoiseName.GAUSSIAN else Mechanism.LAPLACE

    @property
    def largest_k(self) -> int:
        """Return the number of clusters, the largest one where it is to be chosen: what a plan is made for."""
        return self.max_clusters if self.n_clusters == AUTO else int(self.n_clusters)

    @property
    def fixed_k(self) -> int:
        """Return the number of clusters, where it must be given."""
        if self.n_clusters == AUTO:
            raise InputError("n_clusters must be a whole number here, got 'auto'.")
        return int(self.n_clusters)

    def _check_region(self) -> None:
        if self.radius is not None and not (_is_real(self.radius) and np.isfinite(self.radius) and self.radius > 0):
            raise InputError(f"radius must be positive and finite, got {self.radius!r}.")
        if self.box is None:
            return
        if self.radius is not None:
            raise InputError(f"box must not be given together with radius, got {self.box!r} and {self.radius!r}.")
        try:
            low, high = (np.asarray(side, dtype=np.float64) for side in self.box)
            valid = low.ndim <= 1 and high.ndim <= 1 and bool((np.isfinite(low).all() & np.isfinite(high).all()) and (low < high).all())
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise InputError(f"box must be two finite numbers or vectors (low, high) with low below high, got {self.box!r}.")

    def region(self, dimension: int) -> Region | None:
        """Return the public region that box or radius state; None where neither is given."""
        if self.box is not None:
            try:
                low, high = (np.array(np.broadcast_to(np.asarray(side, dtype=np.float64), (dimension,))) for side in self.box)
            except ValueError:
                raise InputError(f"box must hold numbers or vectors of {dimension} coordinates, got {self.box!r}.") from None
            return Region.of_box(low, high)
        return None if self.radius is None else Region.of_ball(Ball(np.zeros(dimension), float(self.radius)))

    def check_server(self, server_points: FloatArray, dimension: int) -> None:
        """Refuse server data that does not fit the clients or the number of clusters."""
        if server_points.shape[1] != dimension:
            raise InputError(
                f"server data must have as many columns as the clients: clients have {dimension}, the server has {server_points.shape[1]}."
            )
        if not np.isfinite(server_points).all():
            raise InputError("server data must be finite numbers, got a NaN or an infinity.")
        if len(server_points) < self.largest_k:
            name = "max_clusters" if self.n_clusters == AUTO else "n_clusters"
            raise InputError(f"{name} must be at most the number of server points, {len(server_points)}, got {self.largest_k}.")

    def ball(self, server_points: FloatArray, center: FloatArray) -> Ball:
        """Return the public ball around ``center``: of the given radius, else just large enough to hold the server data."""
        radius = self.radius
        if self.box is not None:
            region = self.region(len(center))
            assert region is not None
            radius = region.ball.radius + float(np.linalg.norm(region.ball.center - center))
        elif radius is None:
            radius = float(np.linalg.norm(server_points - center, axis=1).max())
            if radius == 0:
                raise InputError("radius must be given where all server points are the same, got a server radius of 0.")
        return Ball(center, float(radius))


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _parsed(name: str, kind: type[T], value: str) -> T:
    """Return the member of this value; refuse any other."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} must be one of {[member.value for member in kind]}, got {value!r}.") from None


def _check_count(name: str, value: Any, low: int, other: str = "") -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < low:
        raise InputError(f"{name} must be a whole number of at least {low}{other}, got {value!r:.80}.")
    if int(value) > _MOST:
        raise InputError(f"{name} must be at most {_MOST}, got a number of {len(str(int(value)))} digits.")
