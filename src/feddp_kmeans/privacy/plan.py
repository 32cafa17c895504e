"""The plan: every release of a run with its noise, fixed before any data is read, from public numbers only."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from feddp_kmeans._json import field_of
from feddp_kmeans.errors import BudgetError, InputError
from feddp_kmeans.privacy.accounting import calibrate_scale, check_budget, composed_epsilon, gaussian_mu
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.unit import RELATION, PrivacyUnit, check_sampling

_DISCRETISATION = 5e-4
"""Part of epsilon set aside, so that an accountant that rounds privacy losses up to a grid finds no more than was asked for."""


class Composition(StrEnum):
    """How the releases' costs are added up."""

    TIGHT = "tight"
    """The exact or tightly bounded composition of all releases meets the budget."""
    PAPER_NAIVE = "paper-naive"
    """Theorem 1: every release meets its own share of epsilon and of delta, and the shares add up. For comparison."""


@dataclass(frozen=True)
class Plan:
    """Everything that a run may release, and what it costs.

    Examples
    --------
    A fitted model keeps its plan. ``feddp plan`` shows one without any data.

    >>> import numpy as np
    >>> from feddp_kmeans import FedDPKMeans
    >>> X = np.repeat([[0.0] * 5, [1.0] * 5], 1000, axis=0)
    >>> plan = FedDPKMeans(2, epsilon=1.0, box=(0, 1)).fit(X).plan_
    >>> plan.epsilon, plan.delta, plan.unit.value
    (1.0, 1e-06, 'point')
    >>> len(plan.releases) >= 1
    True

    """

    unit: PrivacyUnit
    epsilon: float
    delta: float
    releases: tuple[Release, ...]
    composition: Composition = Composition.TIGHT
    sampling_rate: float = 1.0
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The public facts and settings that the plan was made from."""
    reasons: tuple[str, ...] = ()
    """Why the plan is what it is, one sentence each."""

    def __post_init__(self) -> None:
        check_sampling(self.unit, self.sampling_rate)

    @property
    def epsilon_spent(self) -> float:
        """Return the epsilon of the tight composition, the sampler's error included; never above ``epsilon``.

        Examples
        --------
        >>> from feddp_kmeans import Plan
        >>> from feddp_kmeans.privacy.unit import PrivacyUnit
        >>> Plan(PrivacyUnit.POINT, epsilon=1.0, delta=1e-6, releases=()).epsilon_spent  # nothing is released
        0.0

        """
        spent = composed_epsilon(self.releases, self.delta, self.sampling_rate)
        return spent + sum(r.sampler_epsilon for r in self.releases)

    def __getitem__(self, name: str) -> Release:
        """Return the release of this name."""
        for release in self.releases:
            if release.name == name:
                return release
        raise BudgetError(f"the plan holds no release named {name!r}; it holds {[r.name for r in self.releases]}.")

    def __contains__(self, name: str) -> bool:
        """Return whether the plan holds a release of this name."""
        return any(release.name == name for release in self.releases)

    def adds_up(self, release: Release) -> bool:
        """Return whether several of these releases may be made as one, with less noise and at the same cost.

        Only the costs of Gaussian noise on all clients add up like this. Sampling amplifies the privacy of each release by itself, and of
        one with less noise by less.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0] * 5, [1.0] * 5], 1000, axis=0)
        >>> plan = FedDPKMeans(2, box=(0, 1)).fit(X).plan_
        >>> all(plan.adds_up(release) for release in plan.releases)  # all its noise is Gaussian
        True

        """
        return release.mechanism is Mechanism.GAUSSIAN and self.sampling_rate == 1

    def ledger_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the ledger after a run that made every release.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0] * 5, [1.0] * 5], 1000, axis=0)
        >>> plan = FedDPKMeans(2, box=(0, 1)).fit(X).plan_
        >>> {row["mechanism"] for row in plan.ledger_rows()}
        {'gaussian'}

        """
        return [release.to_dict() for release in self.releases]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data.

        Examples
        --------
        >>> from feddp_kmeans import Plan
        >>> from feddp_kmeans.privacy.unit import PrivacyUnit
        >>> Plan(PrivacyUnit.CLIENT, epsilon=1.0, delta=1e-6, releases=()).to_dict()["privacy_unit"]
        'client'

        """
        return {
            "privacy_unit": self.unit.value,
            "relation": RELATION,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "epsilon_spent": self.epsilon_spent,
            "composition": self.composition.value,
            "sampling_rate": self.sampling_rate,
            "releases": self.ledger_rows(),
            "facts": dict(self.facts),
            "reasons": list(self.reasons),
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Plan":
        """Return the plan that this plain data states, without facts and reasons; refuse anything else. It may come from the network.

        Examples
        --------
        >>> from feddp_kmeans import Plan
        >>> from feddp_kmeans.privacy.unit import PrivacyUnit
        >>> plan = Plan(PrivacyUnit.POINT, epsilon=1.0, delta=1e-6, releases=())
        >>> Plan.from_dict(plan.to_dict()) == plan
        True

        """
        what = "a plan"
        unit = field_of(given, "privacy_unit", PrivacyUnit, what)
        epsilon, delta, rate = (field_of(given, name, float, what) for name in ("epsilon", "delta", "sampling_rate"))
        if not (epsilon > 0 and 0 < delta < 1 and 0 < rate <= 1):
            raise InputError(f"epsilon, delta and sampling_rate of a plan must be within bounds, got {epsilon:g}, {delta:g} and {rate:g}.")
        releases = tuple(Release.from_dict(row) for row in field_of(given, "releases", list, what))
        composition = field_of(given, "composition", Composition, what) if "composition" in given else Composition.TIGHT
        return cls(unit, epsilon, delta, releases, composition, rate)


def calibrated_plan(
    unit: PrivacyUnit,
    epsilon: float,
    delta: float,
    requests: Sequence[Release],
    *,
    composition: Composition = Composition.TIGHT,
    sampling_rate: float = 1.0,
    facts: Mapping[str, Any] | None = None,
    reasons: Sequence[str] = (),
) -> Plan:
    """Return the plan that makes these releases and meets (epsilon, delta).

    The requests' noise multipliers state the *proportions* of the noise; tight composition scales all of them by one factor, as small
    as the budget allows. Under ``paper-naive`` they are taken as they are. At infinite epsilon all are zero.
    """
    check_budget(epsilon, delta)
    factor = 0.0 if math.isinf(epsilon) else 1.0
    if factor and composition is Composition.TIGHT:
        factor = _tight_factor(requests, epsilon, delta, sampling_rate)
    releases = tuple(replace(r, noise_multiplier=r.noise_multiplier * factor) for r in requests)
    return Plan(unit, epsilon, delta, releases, composition, sampling_rate, dict(facts or {}), tuple(reasons))


def _tight_factor(requests: Sequence[Release], epsilon: float, delta: float, sampling_rate: float) -> float:
    target = epsilon * (1 - _DISCRETISATION) - sum(r.sampler_epsilon for r in requests)
    if target <= 0:
        raise InputError(f"epsilon must be above {epsilon - target:.1e}, the samplers' own error, got {epsilon}.")
    if not requests:
        return 1.0
    if sampling_rate == 1.0 and all(r.mechanism is Mechanism.GAUSSIAN for r in requests):
        return math.sqrt(sum(r.times / r.noise_multiplier**2 for r in requests)) / gaussian_mu(target, delta)

    def epsilon_at(factor: float, coarseness: float) -> float:
        scaled = [replace(r, noise_multiplier=r.noise_multiplier * factor) for r in requests]
        return composed_epsilon(scaled, delta, sampling_rate, coarseness)

    return calibrate_scale(epsilon_at, target)


def epsilon_share_multiplier(mechanism: Mechanism, epsilon: float, delta: float) -> float:
    """Return the noise multiplier that makes one release by itself (epsilon, delta)-private, as in the paper.

    Laplace: ``1 / epsilon``. Gaussian: ``sqrt(2 log(1.25/delta)) / epsilon``, which is proved only for epsilon < 1; the exact multiplier is
    used where it is larger.
    """
    if mechanism is Mechanism.LAPLACE:
        return 1.0 / epsilon
    classical = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return max(classical, 1.0 / gaussian_mu(epsilon, delta))
