"""One run of an experiment: a trial in, a row of results out."""

import math
import time
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._files import npy_bytes, write_whole
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import DEFAULT_CLIENT_SIZE, ClientBounds, simulated_bounds
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_studies.reproduction import data_set as data_sets
from feddp_studies.reproduction import other_measures
from feddp_studies.reproduction.data_set import DataSet, Problem
from feddp_studies.reproduction.methods import METHODS
from feddp_studies.reproduction.other_measures import assumption_facts, elbow_costs
from feddp_studies.reproduction.problems import data_set
from feddp_studies.reproduction.sources import code_hash
from feddp_studies.reproduction.spec import ASSUMPTIONS, COST, ELBOW, Trial
from feddp_studies.rivals import oracle_floor


def execute(trial: Trial, tables: Path | None, optima: Path) -> dict[str, Any]:
    """Return the row of one run; optimal centers are kept in the folder ``optima``."""
    problem = _problem(trial.data_set, trial.seed, tables)
    known = problem.known
    row: dict[str, Any] = {
        "key": trial.key,
        "measures": trial.measures,
        "dataset": known.name,
        "method": trial.config.method,
        "unit": known.unit.value,
        "seed": trial.seed,
        "n_clusters": trial.n_clusters or known.k,
        "epsilon": trial.epsilon,
        "delta": 1e-6,
        "n_points": problem.data.n_points,
        "n_clients": len(problem.data.clients),
        **provenance(trial.config.method, trial.measures, known, tables),
    }
    if trial.measures == ELBOW:
        return row | {"cost": elbow_costs(problem, trial.config.method, trial.epsilon)[trial.n_clusters - 1], "optimal_cost": math.nan}
    best = _optimal(problem, optima, tables)
    row["optimal_cost"] = kmeans_cost(problem.points, best)
    if trial.measures == ASSUMPTIONS:
        return row | assumption_facts(problem, row["optimal_cost"])
    began = time.perf_counter()
    found = _cluster(trial, problem, best)
    row["seconds"] = time.perf_counter() - began
    return row | {
        "lloyd_steps": int(found.plan.facts.get("lloyd_steps", 0)),
        "shares": list(trial.config.shares or ()),
        "bounds": trial.config.bounds,
        "sampling_rate": trial.config.sampling_rate,
        "epsilon_spent": found.privacy.epsilon_spent,
        "step_1_times": found.plan.facts.get("step_1_times"),
        "private": not found.privacy.caveat,
        "guarantee": found.privacy.sentence(),
        "cost": kmeans_cost(problem.points, found.centers),
    }


def provenance(method: str, measures: str, known: DataSet, tables: Path | None) -> dict[str, str]:
    """Return hashes of what computes a row: the code of method, accounting, data and this file; and the files that the data are from."""
    modules = [METHODS[method].source, known.make.__module__, data_sets.__name__]
    modules += [other_measures.__name__] if measures != COST else []
    facts = (known.arguments, known.k, known.unit, known.client_size, known.first_seed, known.in_box)
    code = code_hash(*modules, alone=(__name__,), without=METHODS[method].without, facts=repr(facts))
    return {"code": code, "data": known.digest(tables)}


def _cluster(trial: Trial, problem: Problem, best: FloatArray) -> Clustering:
    config, known = trial.config, problem.known
    settings = Settings(
        known.k,
        trial.epsilon,
        privacy_unit=known.unit,
        lloyd_steps=AUTO if config.lloyd_steps is None else config.lloyd_steps,
        shares=config.shares,
        client_size=known.client_size,
        sampling_rate=config.sampling_rate,
        box=problem.box,
    )
    if config.bounds != 1.0:
        settings = replace(settings, bounds=_bounds(settings, problem, config.bounds))
    server: FloatArray | None = problem.data.server_points
    if known.in_box:
        # Rivals start from the box: made-up uniform points stand for server data that nobody has.
        server = None if config.method == "refined" else _uniform(problem, trial.seed)
    if config.method == oracle_floor.NAME:
        return oracle_floor.cluster(problem.federation, settings, problem.data.server_points, seed=trial.seed, optimal_centers=best)
    return METHODS[config.method].cluster(problem.federation, settings, server, seed=trial.seed)  # type: ignore[arg-type]


def _bounds(settings: Settings, problem: Problem, times: float) -> ClientBounds:
    """Return the clipping bounds that are simulated from the server data, times a factor."""
    server, size = problem.data.server_points, settings.client_size or DEFAULT_CLIENT_SIZE
    ball = settings.ball(server, np.zeros(server.shape[1]))
    made = simulated_bounds(server, ball, settings.fixed_k, size)
    return ClientBounds(**{name: times * bound for name, bound in asdict(made).items()})


@lru_cache(maxsize=1)
def _problem(name: str, seed: int, tables: Path | None) -> Problem:
    return data_set(name).load(seed, tables)


def _optimal(problem: Problem, optima: Path, tables: Path | None) -> FloatArray:
    """Return optimal centers, found once for each draw, or once for each table."""
    known = problem.known
    facts = repr((known.arguments, known.k, known.first_seed, known.digest(tables), problem.seed if known.drawn else 0))
    path = optima / f"{known.name}-{code_hash(known.make.__module__, data_sets.__name__, facts=facts)}.npy"
    if not path.exists():
        optima.mkdir(parents=True, exist_ok=True)
        write_whole(path, npy_bytes(problem.optimal_centers()))
    loaded: FloatArray = np.load(path, allow_pickle=False)
    return loaded


def _uniform(problem: Problem, seed: int) -> FloatArray:
    corners = problem.data.server_points
    inside = np.random.default_rng(seed).uniform(corners[0], corners[1], (30 * problem.known.k, corners.shape[1]))
    return np.vstack([corners, inside])
