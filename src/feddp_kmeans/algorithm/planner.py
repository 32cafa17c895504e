"""The planner of the refined method: it tries candidates on clients simulated from the server data, and says why it chose one.

It knows public facts only: the settings, the server data, the number of clients, and the number of points if the user gives one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from feddp_kmeans.algorithm.feddp_init import feddp_init, feddp_proxies
from feddp_kmeans.algorithm.feddp_lloyds import feddp_lloyds
from feddp_kmeans.algorithm.methods.refined import RefinedMethod
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.tuning import DEFAULT_SPLIT, REFINED
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.plan import Plan

T = TypeVar("T")


def choose(make: Callable[..., tuple[RefinedMethod, Plan]], n_units: int | None) -> tuple[RefinedMethod, Plan]:
    """Return method and plan with the Lloyd steps, then the split of the budget, that do best on server data.

    ``make`` returns method and calibrated plan for a number of steps, a split and the reasons for them. They are tried at the noise that
    ``n_units`` units will see: a simulation has fewer units than the real run, and less noise in the same proportion.
    """
    if n_units is None:
        unknown = "the number of points is not public, so nothing was simulated"
        steps, split = REFINED.default_steps, DEFAULT_SPLIT
        return make(steps, split, f"{steps} Lloyd step, split {split!r}: {unknown}")
    costs = {steps: _simulated_cost(*make(steps, DEFAULT_SPLIT), n_units) for steps in REFINED.candidate_steps}
    steps = _best(costs, REFINED.default_steps)
    others = {split: _simulated_cost(*make(steps, split), n_units) for split in REFINED.splits if split != DEFAULT_SPLIT}
    split_costs = {DEFAULT_SPLIT: costs[steps]} | others
    split = _best(split_costs, DEFAULT_SPLIT)
    where = "cost per point on clients simulated from server data was"
    return make(steps, split, f"{steps} Lloyd steps: {where} {_listed(costs)}", f"split {split!r}: {where} {_listed(split_costs)}")


def _best(costs: dict[T, float], default: T) -> T:
    """Return the candidate of the least cost; the default unless another is clearly better."""
    best = min(costs, key=lambda candidate: costs[candidate])
    return best if costs[best] < (1 - REFINED.planner_margin) * costs[default] else default


def _listed(costs: dict[T, float]) -> str:
    return ", ".join(f"{candidate}: {cost:.4g}" for candidate, cost in costs.items())


def _simulated_cost(method: RefinedMethod, plan: Plan, n_units: int) -> float:
    rng = np.random.default_rng(0)
    points = method.server_points
    size = min(method.client_size or 1, REFINED.largest_planned_unit)
    method = replace(method, client_size=None if method.client_size is None else size)
    chosen = rng.integers(len(points), size=REFINED.simulated_units * size)
    ratio = REFINED.simulated_units / n_units
    releases = tuple(replace(r, noise_multiplier=r.noise_multiplier * ratio) for r in plan.releases)
    quieter = replace(plan, releases=releases, sampling_rate=1.0)
    federation = InMemoryFederation.from_offsets(points[chosen], np.arange(0, len(chosen) + 1, size))
    with federation.open(quieter, seed=0) as run:
        run.server_seed = 0
        steps = method.bind(run)
        start = feddp_init(steps, feddp_proxies(steps), method.k, seed=0)
        return kmeans_cost(points, feddp_lloyds(steps, start, method.lloyd_steps).centers)
