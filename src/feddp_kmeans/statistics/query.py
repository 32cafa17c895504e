"""Statistic and query: what clients are asked to compute, and how far one unit can move the answer."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import BudgetError, InputError
from feddp_kmeans.privacy.mechanism import Release, Sensitivity
from feddp_kmeans.privacy.noise import MAX_SCALE
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.gate import ROWS, Argument, parse

MOST_VALUES = 1 << 28
"""Most numbers of a release: this many squares add up to within 2**-25 of their sum in any order, for which scaling leaves room."""

_TOLERANCE = 1e-12
"""Relative difference that two ways to compute the same sensitivity may have in floating point."""


@dataclass(frozen=True)
class Statistic:
    """What clients compute of their own points: a named function to integers that add up over clients.

    ``unit`` is whose contribution the function bounds: a statistic of points is one of clients that hold one point each. ``sensitivity``
    is that bound as a function of the public arguments, so that whoever is asked can tell whether the noise is enough. ``arguments`` and
    ``check`` say which public arguments it takes: those for which the bound is proved. ``values`` is the number of integers that come
    out, from the arguments and their sizes.
    """

    name: str
    compute: Callable[..., IntArray] = field(repr=False)
    unit: PrivacyUnit
    sensitivity: Callable[..., Sensitivity] = field(repr=False)
    arguments: Mapping[str, Argument] = field(repr=False)
    values: Callable[..., int] = field(repr=False)
    check: Callable[..., None] = field(default=lambda **_: None, repr=False)
    sees_gaps: bool = False
    """Whether rows with missing cells are part of what it counts."""

    @property
    def whole_clients(self) -> bool:
        """Return whether the function must see all points of a client at once; otherwise they may come in pieces."""
        return self.unit is PrivacyUnit.CLIENT

    def __call__(self, batch: ClientBatch, **public: Any) -> IntArray:
        """Return the sum of the bounded contributions of this batch."""
        return Query(self, public, int(batch.points.shape[1]))(batch)


@dataclass(frozen=True)
class Query:
    """A statistic with public arguments that have passed the gate. Only a query computes, so nothing is computed with other arguments."""

    statistic: Statistic
    public: Mapping[str, Any] = field(repr=False)
    dimension: int
    size: int = field(init=False)
    """How many numbers come out."""
    own: Mapping[str, Any] = field(init=False, repr=False)
    """The arguments of the statistic itself, without those that say how rows are read."""

    def __post_init__(self) -> None:
        statistic = self.statistic
        own = {name: value for name, value in self.public.items() if name not in ROWS}
        parsed, sizes = parse(statistic.arguments, statistic.check, own, self.dimension)
        rows, _ = parse(ROWS, _check_rows, {name: value for name, value in self.public.items() if name in ROWS}, self.dimension)
        size = statistic.values(**parsed, **sizes)
        if size > MOST_VALUES:
            raise InputError(f"statistic {statistic.name!r} must have at most {MOST_VALUES} values, got {size}.")
        object.__setattr__(self, "own", MappingProxyType(parsed))
        object.__setattr__(self, "public", MappingProxyType(parsed | {name: value for name, value in rows.items() if value is not None}))
        object.__setattr__(self, "size", size)
        stated = self.sensitivity
        if not 1 <= stated.l2 <= max(stated.l2, stated.l1 or 0.0) <= MAX_SCALE:
            raise InputError(f"bound must give {statistic.name!r} a sensitivity from 1 to {MAX_SCALE:g} integer steps, got {stated}.")

    def nothing(self) -> IntArray:
        """Return the sum over no points."""
        return np.zeros(self.size, dtype=np.int64)

    def __call__(self, batch: ClientBatch) -> IntArray:
        """Return the sum of the bounded contributions of this batch, without noise."""
        if batch.points.shape[1] != self.dimension:
            raise InputError(f"points must have {self.dimension} coordinates, got {batch.points.shape[1]}.")
        units = self.public.get("units")
        if units is not None:
            batch = batch.read_as(units, self.public.get("fill"))
        elif self.statistic.sees_gaps:
            batch = batch.with_gaps or batch
        return self.statistic.compute(batch if self.statistic.whole_clients else batch.single_points, **self.own)

    @property
    def sensitivity(self) -> Sensitivity:
        """Return how far one unit can move the sum."""
        return self.statistic.sensitivity(**self.own)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made in another process: by passing the gate there."""
        return Query, (self.statistic, dict(self.public), self.dimension)

    @property
    def digest(self) -> str:
        """Return a digest of what clients are asked."""
        return query_digest(self.statistic, self.public)


def _check_rows(*, units: FloatArray | None, fill: FloatArray | None) -> None:
    if fill is not None and units is None:
        raise InputError("fill must be given together with units, got no units.")


def query_digest(statistic: Statistic, public: Mapping[str, Any]) -> str:
    """Return a digest of what clients are asked: the statistic's name and the public arguments with their types, bit by bit."""
    parts = [statistic.name.encode()]
    for name in sorted(public):
        value = public[name]
        kind = "float" if isinstance(value, float) else type(value).__name__
        array = np.empty(0) if value is None else np.asarray(value)
        parts += [name.encode(), repr((kind, array.dtype.str, array.shape)).encode(), array.tobytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def constant(sensitivity: Sensitivity) -> Callable[..., Sensitivity]:
    """Return a sensitivity that is the same whatever the public arguments are."""
    return lambda **_: sensitivity


def check_query(query: Query, release: Release, unit: PrivacyUnit) -> None:
    """Refuse a statistic of another unit than the plan protects, or one more sensitive than the release's noise allows for."""
    statistic = query.statistic
    if statistic.unit is not unit:
        raise BudgetError(f"privacy unit must be {statistic.unit.value!r} for statistic {statistic.name!r}, got {unit.value!r}.")
    stated = query.sensitivity.under(release.mechanism)
    if stated is None:
        raise BudgetError(
            f"noise of release {release.name!r} must be Gaussian for statistic {statistic.name!r}, which states no L1 sensitivity, "
            f"got {release.mechanism.value!r}."
        )
    if not stated <= release.integer_sensitivity * (1 + _TOLERANCE):
        raise BudgetError(
            f"integer_sensitivity of release {release.name!r} must be at least {stated:.17g} for statistic {statistic.name!r}, "
            f"got {release.integer_sensitivity:.17g}."
        )
    release.check_size(query.size)
