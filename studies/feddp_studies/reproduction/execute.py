"""One run of an experiment: a trial in, a row of results out."""

import math
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._files import npy_bytes, write_whole
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.clustering import Clustering, choose_k
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.settings import AUTO, MethodName, Settings
from feddp_studies.reproduction import published_code
from feddp_studies.reproduction.problems import CENTRAL, FROM_TABLES, Problem, load_problem
from feddp_studies.reproduction.spec import Trial
from feddp_studies.rivals import BASELINES, oracle_floor
from feddp_studies.theory.assumptions import MixtureFacts, ServerSizeForm, check_radius, check_server_size, data_radius, proxy_facts

OURS = ("refined", "paper")
ELBOW = "elbow of "
LARGEST_K = 20
"""k' of the elbow: the number of clusters that steps 1 and 2 are run for."""


def execute(trial: Trial, tables: Path | None, optima: Path) -> dict[str, Any]:
    """Return the row of one run; optimal centers are kept in the folder ``optima``."""
    from feddp_kmeans import __version__

    problem = _problem(trial.problem, trial.seed, tables)
    row: dict[str, Any] = {
        "key": repr(trial.key),
        "version": __version__,
        "dataset": trial.problem,
        "method": trial.config.method,
        "unit": problem.unit.value,
        "seed": trial.seed,
        "n_clusters": trial.n_clusters if problem.box is None else problem.k,
        "epsilon": trial.epsilon,
        "delta": 1e-6,
        "n_points": problem.data.n_points,
        "n_clients": len(problem.data.clients),
    }
    if trial.config.method.startswith(ELBOW):
        costs = _elbow(trial.problem, trial.seed, trial.config.method.removeprefix(ELBOW), trial.epsilon)
        return row | {"cost": costs[trial.n_clusters - 1], "optimal_cost": math.nan}
    best = _optimal(problem, optima)
    row["optimal_cost"] = kmeans_cost(problem.points, best)
    if trial.config.method == "assumptions":
        return row | _assumptions(problem, row["optimal_cost"])
    began = time.perf_counter()
    found = _cluster(trial, problem, best)
    row["seconds"] = time.perf_counter() - began
    return row | {
        "lloyd_steps": int(found.plan.facts.get("lloyd_steps", 0)),
        "shares": list(trial.config.shares or ()),
        "epsilon_spent": found.privacy.epsilon_spent,
        "step_1_times": found.plan.facts.get("step_1_times"),
        "private": not found.privacy.caveat,
        "guarantee": found.privacy.sentence(),
        "cost": kmeans_cost(problem.points, found.centers),
    }


def _cluster(trial: Trial, problem: Problem, best: FloatArray) -> Clustering:
    config = trial.config
    settings = Settings(
        problem.k,
        trial.epsilon,
        privacy_unit=problem.unit,
        method=MethodName(config.method) if config.method in OURS else MethodName.REFINED,
        lloyd_steps=AUTO if config.lloyd_steps is None else config.lloyd_steps,
        shares=config.shares,
        client_size=problem.client_size,
        box=problem.box,
    )
    if problem.box is not None and config.method == "refined":
        return clustering.cluster(problem.federation, settings, None, seed=trial.seed)
    if problem.box is not None:
        # Rivals start from the box: made-up uniform points stand for server data that nobody has.
        return BASELINES[config.method](problem.federation, settings, _uniform(problem, trial.seed), seed=trial.seed)
    where = (problem.federation, settings, problem.data.server_points)
    if config.method in OURS:
        return clustering.cluster(*where, seed=trial.seed)
    if config.method == published_code.NAME:
        return published_code.cluster(*where, seed=trial.seed)
    if config.method == oracle_floor.NAME:
        return oracle_floor.cluster(*where, seed=trial.seed, optimal_centers=best)
    return BASELINES[config.method](*where, seed=trial.seed)


@lru_cache(maxsize=1)
def _problem(name: str, seed: int, tables: Path | None) -> Problem:
    return load_problem(name, seed, tables)


def _optimal(problem: Problem, optima: Path) -> FloatArray:
    """Return optimal centers, found once for each mixture and once for each table (a seed moves 20 of its rows to the server)."""
    path = optima / f"{problem.name}-{0 if problem.name in (*FROM_TABLES, *CENTRAL) else problem.seed}.npy"
    if not path.exists():
        optima.mkdir(parents=True, exist_ok=True)
        centers = problem.optimal_centers()
        write_whole(path, npy_bytes(centers))
    loaded: FloatArray = np.load(path, allow_pickle=False)
    return loaded


def _uniform(problem: Problem, seed: int) -> FloatArray:
    corners = problem.data.server_points
    inside = np.random.default_rng(seed).uniform(corners[0], corners[1], (30 * problem.k, corners.shape[1]))
    return np.vstack([corners, inside])


@lru_cache(maxsize=1)
def _elbow(name: str, seed: int, method: str, epsilon: float) -> tuple[float, ...]:
    """Return the costs for 1 to k' clusters, from steps 1 and 2 of a run whose whole budget is epsilon."""
    problem = _problem(name, seed, None)
    settings = Settings(AUTO, epsilon, method=MethodName(method), max_clusters=LARGEST_K)
    prepared = prepare(settings, problem.data.server_points, len(problem.data.clients))
    return choose_k(problem.federation, prepared, seed=seed).costs


def _assumptions(problem: Problem, optimal_cost: float) -> dict[str, Any]:
    """Return the radius and the verdicts at epsilon 1: known facts for a mixture, the paper's stand-ins for anything else."""
    data, epsilon = problem.data, 1.0
    radius, n = data_radius(data.server_points), data.n_points
    facts = MixtureFacts(n, 1 / problem.k, math.sqrt(0.5)) if data.means is not None else proxy_facts(n, optimal_cost)
    first = check_radius(radius, problem.k, data.dimension, epsilon, facts)
    second = [check_server_size(len(data.server_points), radius, problem.k, epsilon, facts, form) for form in ServerSizeForm]
    return {"cost": math.nan, "radius": radius, "assumption_1": str(first), "assumption_2": "; ".join(map(str, second))}
