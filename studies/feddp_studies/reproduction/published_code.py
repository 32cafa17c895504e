"""The paper's method with its published code's noise: step 1 has noise for Delta where the sensitivity is Delta squared. NOT PRIVATE."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.clustering import Clustering, run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import MethodName, Settings
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
    prepared = prepare(replace(settings, method=MethodName.PAPER), np.asarray(server_points), federation.n_clients)
    plan = under_noised(prepared.plan)
    found = run(federation, replace(prepared, plan=plan), seed=seed, on_release=on_release)
    spent = plan.epsilon_spent
    caveat = (
        f"NOT PRIVATE as stated: step 1 spends {plan.facts['step_1_times']:.0f} times its part of the budget, the whole run epsilon = "
        f"{spent:.3g} where {settings.epsilon:g} is stated."
    )
    return replace(found, privacy=replace(found.privacy, epsilon=spent, epsilon_spent=spent, caveat=caveat), remarks=(caveat,))


def under_noised(plan: Plan) -> Plan:
    """Return the plan with the outer product's noise divided by Delta; its facts say how many times its epsilon step 1 then spends."""
    right = plan["outer product"]
    wrong = replace(right, noise_multiplier=right.noise_multiplier / plan.facts["radius"])
    times = composed_epsilon([wrong], plan.delta) / composed_epsilon([right], plan.delta)
    releases = tuple(wrong if release is right else release for release in plan.releases)
    return replace(plan, releases=releases, facts={**plan.facts, "step_1_times": times})
