"""The profile of clusters: shares of classes and means of columns in each, from one noisy sum.

A class of a cluster is a count with noise of one known standard deviation. Shares are counts over the cluster's size, which all columns of
the profile show: every point is in one class of each. Errors are those of the noise, carried to first order through the quotient.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball
from feddp_kmeans.statistics.norms import SHARE_STEPS
from feddp_kmeans.statistics.profile_sums import CLIENT_PROFILE, CLUSTERED, POINT_PROFILE, VALUE

PROFILE_RELEASE = "profile"
LEAST_SIZE = 50
"""Smallest noisy size of a cluster that is shown, unless another is asked for."""
_CREDIBLE = 3.0
"""A cluster is shown only if its size is this many standard deviations of its noise."""
_ROOM = 16.0
"""Radius of the ball that points are compared with centers in, relative to the distance of the farthest center from their mean."""
_QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Counted:
    """One column of a profile: the share of each class in each cluster, and in all; of a number also its mean and its quartiles.

    A row per cluster, and a last one for all. NaN where a cluster is too small to be shown.
    """

    name: str
    classes: tuple[str, ...]
    shares: FloatArray
    errors: FloatArray
    """Standard deviations of the noise in the shares."""
    edges: FloatArray | None = None
    """Edges of the classes of a number; the last class has none: it is that of missing values."""
    means: FloatArray | None = None
    mean_errors: FloatArray | None = None
    quartiles: FloatArray | None = None

    @property
    def differs(self) -> BoolArray:
        """Return which shares of clusters differ from that of all by more than two standard deviations of the noise."""
        with np.errstate(invalid="ignore"):
            found: BoolArray = np.abs(self.shares[:-1] - self.shares[-1]) > 2 * np.hypot(self.errors[:-1], self.errors[-1])
        return found

    @property
    def is_noise(self) -> BoolArray:
        """Return which shares are too noisy to tell: two standard deviations are more than half of them, and more than a tenth."""
        with np.errstate(invalid="ignore"):
            found: BoolArray = 2 * self.errors[:-1] > np.maximum(0.1, self.shares[:-1] / 2)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data."""
        made: dict[str, Any] = {"column": self.name, "classes": list(self.classes)}
        for name in ("shares", "errors", "edges", "means", "mean_errors", "quartiles"):
            if (array := getattr(self, name)) is not None:
                made[name] = array.tolist()
        return made | {"differs": self.differs.tolist(), "too_noisy": self.is_noise.tolist()}


@dataclass(frozen=True)
class Profile:
    """What the clusters of a run are about."""

    sizes: FloatArray
    """Noisy sizes of the clusters."""
    size_errors: FloatArray
    shown: BoolArray
    """Which clusters are large enough to be shown."""
    columns: tuple[Counted, ...]
    plan: Plan = field(repr=False)
    privacy: PrivacyReport = field(repr=False)

    def __getitem__(self, name: str) -> Counted:
        """Return the column of this name."""
        return next(column for column in self.columns if column.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data."""
        made = {"sizes": self.sizes.tolist(), "size_errors": self.size_errors.tolist(), "shown": self.shown.tolist()}
        made |= {"columns": [column.to_dict() for column in self.columns]}
        return made | {"guarantee": self.privacy.sentence(), "ledger": list(self.privacy.ledger), "plan": self.plan.to_dict()}


@dataclass(frozen=True)
class AskedColumn:
    """A column that is asked for: its classes, and the edges of those of a number."""

    name: str
    classes: tuple[str, ...]
    edges: FloatArray | None = None

    @property
    def kinds(self) -> list[float]:
        """Return what its coordinates are to the statistic."""
        return [float(len(self.classes)), *([] if self.edges is None else [VALUE])]


def profile_plan(
    unit: PrivacyUnit, epsilon: float, delta: float, *, n_clients: int, k: int, asked: Sequence[AskedColumn], bound: int = 1
) -> Plan:
    """Return the plan of one release: all columns in all clusters. ``bound`` is how many points of a client count in full."""
    kinds = [kind for column in asked for kind in column.kinds]
    most = float(bound if unit is PrivacyUnit.CLIENT else 1)
    sensitivity = math.sqrt(len(kinds)) * most
    values = int(k * sum(abs(kind) for kind in kinds))
    request = Release(PROFILE_RELEASE, Mechanism.GAUSSIAN, sensitivity, sensitivity * SHARE_STEPS, 1.0, values)
    facts = {"n_clients": n_clients, "columns": [column.name for column in asked], "n_clusters": k, "bound": bound}
    return calibrated_plan(unit, epsilon, delta, [request], facts=facts)


def profile_of(
    run: Run,
    centers: FloatArray,
    units: ColumnUnits | None,
    asked: Sequence[AskedColumn],
    *,
    bound: int = 1,
    least_size: float = LEAST_SIZE,
) -> Profile:
    """Return the profile of clusters around released centers. Clients' points have the coordinates of the centers, then those asked for."""
    extra = [kind for column in asked for kind in column.kinds]
    kinds = np.array([CLUSTERED] * centers.shape[1] + extra)
    ball, placed = placed_centers(run, centers, units, len(extra))
    is_client = run.plan.unit is PrivacyUnit.CLIENT
    public: dict[str, Any] = {"center": ball.center, "radius": ball.radius, "centers": placed, "kinds": kinds}
    public |= {"bound": float(bound)} if is_client else {}
    statistic = CLIENT_PROFILE if is_client else POINT_PROFILE
    values = run.noisy_sum(statistic, run.plan[PROFILE_RELEASE], **public).reshape(len(centers), -1)
    return _read(run, values, run.made[PROFILE_RELEASE].stddev, asked, least_size)


def placed_centers(run: Run, centers: FloatArray, units: ColumnUnits | None, extra: int) -> tuple[Ball, FloatArray]:
    """Return a ball around released centers, and the centers in its steps; points have so many coordinates more, which are zero here.

    The run reads its rows in the units of the centers from now on.
    """
    if units is not None:
        run.units = np.concatenate([units.units, np.ones(extra)])
        run.fill = None if units.fill is None else np.concatenate([units.fill, np.zeros(extra)])
        centers = np.asarray(units.read(centers))
    middle = centers.mean(axis=0)
    reach = float(np.sqrt(np.square(centers - middle).sum(axis=1).max())) or 1.0
    ball = Ball(np.concatenate([middle, np.zeros(extra)]), _ROOM * reach)
    placed = np.zeros((len(centers), len(ball.center)))
    placed[:, : centers.shape[1]] = np.rint((centers - middle) / ball.grid)
    return ball, placed


def _read(run: Run, values: FloatArray, noise: float, asked: Sequence[AskedColumn], least_size: float) -> Profile:
    """Return the profile that these noisy numbers state, each with noise of the same standard deviation."""
    values = np.vstack([values, values.sum(axis=0)])  # the last row is that of all points
    noises = noise * np.array([1.0] * (len(values) - 1) + [math.sqrt(len(values) - 1)])
    ends = np.cumsum([kind if kind > 0 else 1 for column in asked for kind in column.kinds])[:-1].astype(int)
    blocks = iter(np.split(values, ends, axis=1))
    counts, places = [], []
    for column in asked:
        counts.append(next(blocks))
        places.append(None if column.edges is None else next(blocks)[:, 0])
    # Every column shows a cluster's size, with the noise of as many counts as it has classes.
    trust = 1 / np.array([len(column.classes) for column in asked])
    sizes = sum(part * block.sum(axis=1) for part, block in zip(trust, counts, strict=True)) / trust.sum()
    size_errors = noises / math.sqrt(trust.sum())
    shown = sizes >= np.maximum(least_size, _CREDIBLE * size_errors)
    shown[-1] = sizes[-1] >= _CREDIBLE * size_errors[-1]
    found = [
        _column(column, block, place, np.where(shown, sizes, np.nan), noises, 1 / (len(column.classes) * trust.sum()), size_errors)
        for column, block, place in zip(asked, counts, places, strict=True)
    ]
    return Profile(sizes[:-1], size_errors[:-1], shown[:-1], tuple(found), run.plan, run.report())


def _column(
    column: AskedColumn,
    counts: FloatArray,
    places: FloatArray | None,
    sizes: FloatArray,
    noises: FloatArray,
    common: float,
    size_errors: FloatArray,
) -> Counted:
    """Return one column. ``common`` is the part of a count's noise variance that it shares with the size."""
    shares = counts / sizes[:, None]
    variances = noises[:, None] ** 2 * (1 - 2 * shares * common) + np.square(shares * size_errors[:, None])
    errors = np.sqrt(np.maximum(variances, 0.0)) / sizes[:, None]
    if places is None or column.edges is None:
        return Counted(column.name, column.classes, shares, errors)
    low, high = float(column.edges[0]), float(column.edges[-1])
    present = sizes - counts[:, -1]  # those that are not missing; a missing value has the place 0
    means = places / present
    lacks = np.square(size_errors) + noises**2 * (1 - 2 * common)
    mean_errors = np.sqrt(noises**2 + np.square(means) * lacks) / np.abs(present)
    half = (high - low) / 2
    return Counted(
        column.name,
        column.classes,
        shares,
        errors,
        column.edges,
        np.clip(low + half * (means + 1), low, high),
        half * mean_errors,
        np.array([_quartiles(row, column.edges) for row in shares[:, :-1]]),
    )


def _quartiles(shares: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the quartiles of a histogram, linear within its classes; NaN where nothing is shown."""
    if not np.isfinite(shares).all():
        return np.full(len(_QUARTERS), np.nan)
    ranks = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(np.maximum(shares, 0.0))]))
    if not ranks[-1] > 0:
        return np.full(len(_QUARTERS), np.nan)
    ranks += np.linspace(0, 1e-9 * ranks[-1], len(ranks))  # so that they ascend
    found: FloatArray = np.interp(np.array(_QUARTERS) * ranks[-1], ranks, edges)
    return found
