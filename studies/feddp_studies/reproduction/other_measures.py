"""What is measured besides the cost of a run: the elbow of its first steps, and what the theorem assumes of the data."""

import math
from functools import lru_cache
from typing import Any

from feddp_kmeans.algorithm.clustering import choose_k
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import AUTO, MethodName, Settings
from feddp_studies.reproduction.data_set import Problem
from feddp_studies.theory.assumptions import MixtureFacts, ServerSizeForm, check_radius, check_server_size, data_radius, proxy_facts

LARGEST_K = 20
"""k' of the elbow: the number of clusters that steps 1 and 2 are run for."""


@lru_cache(maxsize=1)
def elbow_costs(problem: Problem, method: str, epsilon: float) -> tuple[float, ...]:
    """Return the cost a point for 1 to k' clusters, from steps 1 and 2 of a run whose whole budget is epsilon."""
    settings = Settings(AUTO, epsilon, method=MethodName(method), max_clusters=LARGEST_K)
    prepared = prepare(settings, problem.data.server_points, len(problem.data.clients))
    costs = choose_k(problem.federation, prepared, seed=problem.seed).costs
    grid = prepared.method.ball.grid  # type: ignore[attr-defined]
    return tuple(grid**2 * cost for cost in costs)


def assumption_facts(problem: Problem, optimal_cost: float) -> dict[str, Any]:
    """Return the radius and the verdicts at epsilon 1: known facts for a mixture, the paper's stand-ins for anything else."""
    data, k, epsilon = problem.data, problem.known.k, 1.0
    radius, n = data_radius(data.server_points), data.n_points
    facts = MixtureFacts(n, 1 / k, math.sqrt(0.5)) if data.means is not None else proxy_facts(n, optimal_cost)
    first = check_radius(radius, k, data.dimension, epsilon, facts)
    second = [check_server_size(len(data.server_points), radius, k, epsilon, facts, form) for form in ServerSizeForm]
    return {"cost": math.nan, "radius": radius, "assumption_1": str(first), "assumption_2": "; ".join(map(str, second))}
