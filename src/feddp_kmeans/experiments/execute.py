"""One run of an experiment: a job in, a row of results out."""

import math
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._files import write_whole
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import feddp_kmeans
from feddp_kmeans.algorithm.choose_k import elbow_curve
from feddp_kmeans.algorithm.feddp_kmeans import Clustering, prepare
from feddp_kmeans.algorithm.paper import PaperMethod
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.algorithm.theory.assumptions import MixtureFacts, check_radius, check_server_size, data_radius, proxy_facts
from feddp_kmeans.baselines import BASELINES, oracle_floor
from feddp_kmeans.experiments import published_code
from feddp_kmeans.experiments.problems import FROM_TABLES, Problem, load_problem
from feddp_kmeans.experiments.spec import Job
from feddp_kmeans.privacy.plan import calibrated_plan

OURS = ("refined", "paper")
LARGEST_K = 20
"""k' of the elbow: the number of clusters that steps 1 and 2 are run for."""


def execute(job: Job, tables: Path | None, optima: Path) -> dict[str, Any]:
    """Return the row of one run; optimal centers are kept in the folder ``optima``."""
    from feddp_kmeans import __version__

    problem = _problem(job.problem, job.seed, tables)
    row: dict[str, Any] = {
        "key": repr(job.key),
        "version": __version__,
        "dataset": job.problem,
        "method": job.config.method,
        "unit": problem.unit.value,
        "seed": job.seed,
        "n_clusters": job.n_clusters,
        "epsilon": job.epsilon,
        "delta": 1e-6,
        "n_points": problem.data.n_points,
        "n_clients": len(problem.data.clients),
    }
    if job.config.method == "elbow":
        return row | {"cost": float(_elbow(problem, job.epsilon)[job.n_clusters - 1]), "optimal_cost": math.nan}
    best = _optimal(problem, optima)
    row["optimal_cost"] = kmeans_cost(problem.points, best)
    if job.config.method == "assumptions":
        return row | _assumptions(problem, row["optimal_cost"])
    began = time.perf_counter()
    found = _cluster(job, problem, best)
    row["seconds"] = time.perf_counter() - began
    return row | {
        "lloyd_steps": int(found.plan.facts.get("lloyd_steps", 0)),
        "shares": list(job.config.shares or ()),
        "epsilon_spent": found.privacy.epsilon_spent,
        "step_1_times": found.plan.facts.get("step_1_times"),
        "private": not found.privacy.caveat,
        "guarantee": found.privacy.sentence(),
        "cost": kmeans_cost(problem.points, found.centers),
    }


def _cluster(job: Job, problem: Problem, best: FloatArray) -> Clustering:
    config = job.config
    settings = Settings(
        job.n_clusters,
        job.epsilon,
        privacy_unit=problem.unit.value,
        method=config.method if config.method in OURS else "refined",
        lloyd_steps=AUTO if config.lloyd_steps is None else config.lloyd_steps,
        shares=config.shares,
        client_size=problem.client_size,
    )
    where = (problem.federation, settings, problem.data.server_points)
    if config.method in OURS:
        return feddp_kmeans.cluster(*where, seed=job.seed)
    if config.method == published_code.NAME:
        return published_code.cluster(*where, seed=job.seed)
    if config.method == oracle_floor.NAME:
        return oracle_floor.cluster(*where, seed=job.seed, optimal_centers=best)
    return BASELINES[config.method](*where, seed=job.seed)


@lru_cache(maxsize=1)
def _problem(name: str, seed: int, tables: Path | None) -> Problem:
    return load_problem(name, seed, tables)


def _optimal(problem: Problem, optima: Path) -> FloatArray:
    """Return optimal centers, found once for each mixture and once for each table (a seed moves 20 of its rows to the server)."""
    path = optima / f"{problem.name}-{0 if problem.name in FROM_TABLES else problem.seed}.npy"
    if not path.exists():
        optima.mkdir(parents=True, exist_ok=True)
        centers = problem.optimal_centers()
        write_whole(path, _npy(centers))
    loaded: FloatArray = np.load(path, allow_pickle=False)
    return loaded


def _npy(array: FloatArray) -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def _elbow_points(name: str, seed: int, epsilon: float, tables: Path | None) -> tuple[FloatArray, FloatArray]:
    """Return the projected server points and their noisy weights: steps 1 and 2 of the paper for k', with the whole budget."""
    problem = _problem(name, seed, tables)
    prepared = prepare(Settings(LARGEST_K, epsilon, method="paper"), problem.data.server_points, len(problem.data.clients))
    method = prepared.method
    assert isinstance(method, PaperMethod)
    requests = [replace(r) for r in method.requests(epsilon, 1e-6) if r.name in ("outer product", "weights")]
    plan = calibrated_plan(prepared.plan.unit, epsilon, 1e-6, requests, facts=prepared.plan.facts)
    problem.federation.begin(plan, seed)
    steps = method.bind(problem.federation, plan, seed)
    points, weights = steps.proxies(steps.projection())
    return points * method.ball.grid, weights


def _elbow(problem: Problem, epsilon: float) -> FloatArray:
    return _elbow_costs(problem.name, problem.seed, epsilon)


@lru_cache(maxsize=1)
def _elbow_costs(name: str, seed: int, epsilon: float) -> FloatArray:
    points, weights = _elbow_points(name, seed, epsilon, None)
    return elbow_curve(points, weights, range(1, LARGEST_K + 1), seed)


def _assumptions(problem: Problem, optimal_cost: float) -> dict[str, Any]:
    """Return the radius and the verdicts at epsilon 1: known facts for a mixture, the paper's stand-ins for anything else."""
    data, epsilon = problem.data, 1.0
    radius, n = data_radius(data.server_points), data.n_points
    facts = MixtureFacts(n, 1 / problem.k, math.sqrt(0.5)) if data.means is not None else proxy_facts(n, optimal_cost)
    first = check_radius(radius, problem.k, data.dimension, epsilon, facts)
    second = check_server_size(len(data.server_points), radius, problem.k, epsilon, facts)
    return {"cost": math.nan, "radius": radius, "assumption_1": str(first), "assumption_2": str(second)}
