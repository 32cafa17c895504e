"""What a user asks for: public numbers and names, checked before any data is touched."""

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from feddp_kmeans import plugins
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import ClientBounds
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.accounting import check_budget
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit, check_sampling
from feddp_kmeans.statistics.fixed_point import Ball

AUTO, BY_COLUMN, OFF = "auto", "columns", "off"

FEDDP = "feddp"
"""The start of Algorithm 1; the other starts are those of installed plugins."""

_MOST = 1 << 53
"""Largest count: floating point cannot distinguish larger whole numbers."""

Box = tuple[Any, Any]
"""Least and largest value of the coordinates: two numbers, or two vectors."""

T = TypeVar("T", bound=StrEnum)


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
    """Gaussian noise only: clients can add it in shares."""


@dataclass(frozen=True)
class Region:
    """A public region that holds all points: a box and a ball, of which one is given and the other encloses it."""

    ball: Ball
    low: FloatArray
    high: FloatArray

    @classmethod
    def of_box(cls, low: FloatArray, high: FloatArray) -> "Region":
        """Return the box and the ball around it."""
        center = low + (high - low) / 2
        return cls(Ball(center, float(np.linalg.norm(high - center))), low, high)

    @classmethod
    def of_ball(cls, ball: Ball) -> "Region":
        """Return the ball and the cube around it."""
        return cls(ball, ball.center - ball.radius, ball.center + ball.radius)

    def ball_around(self, center: FloatArray) -> Ball:
        """Return the ball around this center that holds the region."""
        return Ball(center, self.ball.radius + float(np.linalg.norm(self.ball.center - center)))

    def clip(self, points: FloatArray) -> FloatArray:
        """Return the points moved into the box."""
        return np.clip(points, self.low, self.high)


@dataclass(frozen=True)
class Settings:
    """The settings of one clustering; every field is public. Names may be given as plain text: they are parsed here, once."""

    n_clusters: int | str = 8
    epsilon: float = 1.0
    delta: float = 1e-6
    privacy_unit: PrivacyUnit = PrivacyUnit.POINT
    method: MethodName = MethodName.REFINED
    init: str = FEDDP
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
    max_clusters: int = 30
    scale: str = AUTO
    open_columns: tuple[bool, ...] | None = None
    """Which columns have no public range, where others have been scaled to one of about 1; None if no column has, or all have."""

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        for name, low, instead in (("n_clusters", 1, AUTO), ("lloyd_steps", 0, AUTO), ("client_size", 1, None), ("n_points", 1, None)):
            if getattr(self, name) != instead:
                _check_count(name, getattr(self, name), low, " or 'auto'" if instead else "")
        _check_count("max_clusters", self.max_clusters, 3)
        self._check_region()
        if self.scale not in (AUTO, BY_COLUMN, OFF):
            raise InputError(f"scale must be 'auto', 'columns' or 'off', got {self.scale!r:.80}.")
        if self.scale == BY_COLUMN and self.radius is not None:
            raise InputError(f"radius must be None if scale is 'columns': it is a length in columns as they are, got {self.radius!r}.")
        for name, kind in (("method", MethodName), ("composition", Composition), ("noise", NoiseName)):
            object.__setattr__(self, name, _parsed(name, kind, getattr(self, name)))
        object.__setattr__(self, "privacy_unit", PrivacyUnit.parse(self.privacy_unit))
        if self.init != FEDDP and self.init not in (starts := plugins.names(plugins.STARTS)):
            advice = plugins.advice(plugins.STARTS, self.init)
            raise InputError(f"init must be one of {[FEDDP, *starts]}, got {self.init!r}. {advice}".rstrip())
        if self.shares is not None and not (len(self.shares) == 4 and all(map(_is_positive, self.shares))):
            raise InputError(f"shares must be four positive numbers (epsilon_1, epsilon_2, epsilon_3G, epsilon_3L), got {self.shares!r}.")
        check_sampling(self.unit, self.sampling_rate)

    def _check_region(self) -> None:
        if self.radius is not None and not _is_positive(self.radius):
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
        """Return the number of clusters that a plan is made for: if it is to be chosen, the largest one."""
        return self.max_clusters if self.n_clusters == AUTO else int(self.n_clusters)

    @property
    def fixed_k(self) -> int:
        """Return the number of clusters, which must not be "auto"."""
        if self.n_clusters == AUTO:
            raise InputError("n_clusters must be a whole number here, got 'auto'.")
        return int(self.n_clusters)

    def region(self, dimension: int) -> Region | None:
        """Return the public region that box or radius state; None if neither is given."""
        if self.box is not None:
            try:
                low, high = (np.array(np.broadcast_to(np.asarray(side, dtype=np.float64), (dimension,))) for side in self.box)
            except ValueError:
                raise InputError(f"box must hold numbers or vectors of {dimension} coordinates, got {self.box!r}.") from None
            return Region.of_box(low, high)
        return None if self.radius is None else Region.of_ball(Ball(np.zeros(dimension), float(self.radius)))

    def ball(self, server_points: FloatArray, center: FloatArray, room: float = 1.0) -> Ball:
        """Return a public ball around ``center``: it holds the stated region; without one, ``room`` times the reach of the server data."""
        if (region := self.region(len(center))) is not None:
            return region.ball_around(center)
        reach = float(np.linalg.norm(server_points - center, axis=1).max())
        if reach == 0:
            raise InputError("radius must be given if all server points are the same, got a server radius of 0.")
        return Ball(center, room * reach)

    def check_server(self, server_points: FloatArray, dimension: int) -> None:
        """Refuse server data that does not fit the clients or the number of clusters."""
        n, columns = server_points.shape
        if columns != dimension:
            raise InputError(f"server data must have as many columns as the clients: clients have {dimension}, the server has {columns}.")
        if not np.isfinite(server_points).all():
            raise InputError("server data must be finite numbers, got a NaN or an infinity.")
        if n < self.largest_k:
            name = "max_clusters" if self.n_clusters == AUTO else "n_clusters"
            raise InputError(f"{name} must be at most the number of server points, {n}, got {self.largest_k}.")


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf


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
