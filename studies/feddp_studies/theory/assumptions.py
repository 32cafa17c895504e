"""What the theorems assume of the data, as functions with a verdict in one line each.

The paper writes sigma_max for a variance in words and for a length in formulas; here it is the length, the largest standard deviation
of any component in any direction. Universal constants are taken as 1: a verdict says whether the orders of magnitude are right.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.errors import InputError


@dataclass(frozen=True)
class MixtureFacts:
    """What the theory is given about a Gaussian mixture: public, like everything a plan is made of."""

    n_points: int
    min_weight: float
    max_stddev: float

    def __post_init__(self) -> None:
        if self.n_points < 2:
            raise InputError(f"n_points must be at least 2, got {self.n_points}.")
        if not 0 < self.min_weight <= 1:
            raise InputError(f"min_weight must be above 0 and at most 1, got {self.min_weight}.")
        if not (math.isfinite(self.max_stddev) and self.max_stddev > 0):
            raise InputError(f"max_stddev must be positive and finite, got {self.max_stddev}.")


class ServerSizeForm(StrEnum):
    """The two places where the paper states assumption (2), which differ by a factor of log n."""

    BODY = "body"
    """Section 4 and the lemma that uses it: ``|Q| <= epsilon n k sigma^2 / Delta^2``."""
    APPENDIX = "appendix"
    """"Verifying our assumptions": ``|Q| <= epsilon n k log(n) sigma^2 / Delta^2``."""


@dataclass(frozen=True)
class Condition:
    """One assumption, checked: ``value`` against ``limit``."""

    assumption: str
    value: float
    limit: float
    holds: bool

    def __str__(self) -> str:
        """Return the verdict in one line."""
        return f"{self.assumption}: {'holds' if self.holds else 'DOES NOT HOLD'} ({self.value:.4g} against {self.limit:.4g})"


def separation_constant(means: FloatArray, weights: FloatArray, max_stddev: float, n_points: int) -> float:
    """Return the largest c for which the mixture is c-separated: the least of ``|mu_i - mu_j| / (sqrt(k / w_i) sigma log n)``."""
    k = len(means)
    if k < 2:
        return math.inf
    gaps = np.sqrt(np.square(means[:, None] - means[None]).sum(axis=2))
    np.fill_diagonal(gaps, np.inf)
    needed = np.sqrt(k / np.asarray(weights)) * max_stddev * math.log(n_points)
    return float((gaps / needed[:, None]).min())


def check_separation(means: FloatArray, weights: FloatArray, max_stddev: float, n_points: int, constant: float = 1.0) -> Condition:
    """Return whether the mixture is c-separated for this constant (the paper leaves it to be "large enough")."""
    found = separation_constant(means, weights, max_stddev, n_points)
    return Condition("separation constant", found, constant, found >= constant)


def data_radius(points: FloatArray) -> float:
    """Return Delta, the largest norm of a point: the paper's table of radii, computed from server points or (not private) from all."""
    return float(np.sqrt(np.square(points).sum(axis=1).max()))


def check_radius(radius: float, k: int, dimension: int, epsilon: float, facts: MixtureFacts) -> Condition:
    """Return whether assumption (1) holds: ``Delta <= k log^2(n) sqrt(d) sigma / (epsilon w_min)``."""
    limit = k * math.log(facts.n_points) ** 2 * math.sqrt(dimension) * facts.max_stddev / (epsilon * facts.min_weight)
    return Condition("assumption (1), radius", radius, limit, radius <= limit)


def check_server_size(n_server: int, radius: float, k: int, epsilon: float, facts: MixtureFacts, form: ServerSizeForm) -> Condition:
    """Return whether assumption (2) holds in this form."""
    limit = epsilon * facts.n_points * k * facts.max_stddev**2 / radius**2
    if form is ServerSizeForm.APPENDIX:
        limit *= math.log(facts.n_points)
    return Condition(f"assumption (2), size of the server data ({form})", n_server, limit, n_server <= limit)


def proxy_facts(n_points: int, optimal_cost: float) -> MixtureFacts:
    """Return the paper's stand-ins for data that is no mixture: ``w_min = 1`` and ``sigma = sqrt(opt / n)``, both upper bounds."""
    return MixtureFacts(n_points, 1.0, math.sqrt(optimal_cost))
