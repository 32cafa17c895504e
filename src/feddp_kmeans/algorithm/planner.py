"""The planner of the refined method: tries its candidates on made-up clients drawn from the server data, and says why it chose one.

It knows public facts only: the settings, the server data, the number of clients, and the number of points if the user gives one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.feddp_init import feddp_init
from feddp_kmeans.algorithm.feddp_lloyds import feddp_lloyds
from feddp_kmeans.algorithm.refined import RefinedMethod
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.plan import Plan

DEFAULT_STEPS = 1
"""Lloyd steps where nothing is known of the number of units: best or near it in most measurements (docs/refined.md)."""

CANDIDATES = (0, 1, 2)

_SIMULATED_UNITS = 1000
_MARGIN = 0.005
"""Part of the simulated cost by which a candidate must win to replace the default."""


@dataclass(frozen=True)
class Choice:
    """What the planner chose, and why."""

    lloyd_steps: int
    reason: str


def choose_lloyd_steps(make: Callable[[int], tuple[RefinedMethod, Plan]], n_units: int | None) -> Choice:
    """Return the number of Lloyd steps that does best on server data, at the noise that ``n_units`` units will see.

    ``make`` returns the method and the calibrated plan for a number of steps. A simulation has fewer units than the real run, and just as
    much less noise.
    """
    if n_units is None:
        return Choice(DEFAULT_STEPS, f"{DEFAULT_STEPS} Lloyd step: the number of points is not public, so nothing was simulated")
    costs = {steps: _simulated_cost(*make(steps), n_units) for steps in CANDIDATES}
    best = min(costs, key=lambda steps: costs[steps])
    chosen = best if costs[best] < (1 - _MARGIN) * costs[DEFAULT_STEPS] else DEFAULT_STEPS
    tried = ", ".join(f"{steps}: {cost:.4g}" for steps, cost in costs.items())
    return Choice(chosen, f"{chosen} Lloyd steps: cost per point on clients made up from server data was {tried}")


def _simulated_cost(method: RefinedMethod, plan: Plan, n_units: int) -> float:
    rng = np.random.default_rng(0)
    points = method.server_points
    size = method.client_size or 1
    units = [points[rng.integers(len(points), size=size)] for _ in range(_SIMULATED_UNITS)]
    ratio = _SIMULATED_UNITS / n_units
    quieter = replace(plan, releases=tuple(replace(r, noise_multiplier=r.noise_multiplier * ratio) for r in plan.releases))
    federation = InMemoryFederation(units)
    federation.begin(quieter, seed=0)
    steps = method.bind(federation, quieter, seed=0)
    centers, counts, _ = feddp_init(steps, method.k, seed=0)
    centers, _ = feddp_lloyds(steps, centers, counts, method.lloyd_steps)
    return _cost(points, centers)


def _cost(points: FloatArray, centers: FloatArray) -> float:
    distances = np.square(points).sum(axis=1)[:, None] - 2 * points @ centers.T + np.square(centers).sum(axis=1)
    return float(distances.min(axis=1).mean())
