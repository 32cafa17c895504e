"""The paper's method with its published code's noise: step 1 has noise for Delta where the sensitivity is Delta squared. NOT PRIVATE."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.feddp_kmeans import Clustering, prepare, run
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.plan import Plan

NAME = "published-noise"


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,
) -> Clustering:
    """Return the clustering that too little noise in step 1 gives; its report states the epsilon that was really spent."""
    prepared = prepare(replace(settings, method="paper"), np.asarray(server_points), federation.n_clients)
    plan = under_noised(prepared.plan)
    found = run(federation, replace(prepared, plan=plan), seed=seed, on_release=on_release)
    spent = plan.epsilon_spent
    share, real = step_1_epsilons(prepared.plan, plan)
    caveat = (
        f"NOT PRIVATE as stated: step 1 spends {real / share:.0f} times its part of the budget, the whole run epsilon = {spent:.3g} "
        f"where {settings.epsilon:g} is stated."
    )
    return replace(found, privacy=replace(found.privacy, epsilon=spent, epsilon_spent=spent, caveat=caveat), remarks=(caveat,))


def under_noised(plan: Plan) -> Plan:
    """Return the plan with the outer product's noise divided by Delta."""
    radius = plan.facts["radius"]
    releases = tuple(replace(r, noise_multiplier=r.noise_multiplier / radius) if r.name == "outer product" else r for r in plan.releases)
    return replace(plan, releases=releases)


def step_1_epsilons(right: Plan, wrong: Plan) -> tuple[float, float]:
    """Return the epsilon of step 1 alone under the right noise and under the published code's."""
    return tuple(composed_epsilon([plan["outer product"]], plan.delta) for plan in (right, wrong))  # type: ignore[return-value]
