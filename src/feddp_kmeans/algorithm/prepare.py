"""A plan and the method that carries it out, made from public facts only: settings, server data, and the number of clients."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import DEFAULT_CLIENT_SIZE, simulated_bounds
from feddp_kmeans.algorithm.feddp_init import InitSteps
from feddp_kmeans.algorithm.feddp_lloyds import LloydSteps
from feddp_kmeans.algorithm.methods.grid import LARGEST_DIMENSION, GridMethod
from feddp_kmeans.algorithm.methods.grid import REASONS as GRID_REASONS
from feddp_kmeans.algorithm.methods.paper import PaperMethod
from feddp_kmeans.algorithm.methods.refined import REASONS, RefinedMethod
from feddp_kmeans.algorithm.methods.serverless import LLOYD_STEPS, ServerlessMethod
from feddp_kmeans.algorithm.methods.serverless import REASONS as SERVERLESS_REASONS
from feddp_kmeans.algorithm.planner import DEFAULT_SPLIT, Choice, choose
from feddp_kmeans.algorithm.settings import AUTO, Box, MethodName, Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.plan import Composition, Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.threads import one_blas_thread
from feddp_kmeans.statistics.fixed_point import Ball

_REMEMBERED = 8
_PREPARED: dict[Any, "Prepared"] = {}
"""The latest plans, by the public facts that they were made from: a planner that simulates takes seconds."""


class Steps(InitSteps, LloydSteps, Protocol):
    """A method at work in one run."""

    server_weights: FloatArray
    """Weight of each server point, once step 2 is done."""
    center_stddev: FloatArray
    """Standard deviation of the noise in a coordinate of each of the latest centers."""
    count_stddev: float
    """Standard deviation of the noise in each of the latest counts."""
    remarks: list[str]
    """What a reader of the result should know; made of public facts and released numbers alone."""


class Method(Protocol):
    """What is released, before any data is read."""

    def bind(self, run: Run, seed: int) -> Steps:
        """Return the method at work in one run."""
        ...


@dataclass(frozen=True)
class Prepared:
    """A plan and the method that will carry it out: public, and made without any client data."""

    settings: Settings
    server_points: FloatArray | None
    plan: Plan
    method: Method
    lloyd_steps: int


def prepare_serverless(settings: Settings, dimension: int, n_clients: int) -> Prepared:
    """Return the plan of a run without server data, from the settings, the dimension and the number of clients alone."""
    if settings.method != MethodName.REFINED:
        raise FedDPError(f"server_data must be given for method {settings.method!r}, got None.")
    region = settings.region(dimension)
    steps = LLOYD_STEPS if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    method: ServerlessMethod | GridMethod
    reasons: tuple[str, ...]
    if dimension <= LARGEST_DIMENSION and settings.unit is PrivacyUnit.POINT and settings.lloyd_steps == AUTO:
        method, reasons, steps = GridMethod(dimension, settings.largest_k, region, settings.count_noise), GRID_REASONS, 0
    else:
        method, reasons = ServerlessMethod(settings.unit, dimension, settings.largest_k, steps, region), SERVERLESS_REASONS
    plan = calibrated_plan(
        settings.unit,
        settings.epsilon,
        settings.delta,
        method.requests(),
        sampling_rate=settings.sampling_rate,
        facts={
            "method": settings.method,
            "n_clusters": settings.n_clusters,
            "dimension": dimension,
            "n_server_points": 0,
            "n_clients": n_clients,
            "radius": None if region is None else region.ball.radius,
            "lloyd_steps": steps,
        },
        reasons=reasons,
    )
    return Prepared(settings, None, plan, method, steps)


@one_blas_thread()
def prepare(settings: Settings, server_points: FloatArray, n_clients: int) -> Prepared:
    """Return the plan for these settings, from public facts alone: the settings, the server data and the number of clients."""
    server_points = _checked(settings, server_points)
    asked = repr(replace(settings, box=None)), _bits(settings.box)
    key = (*asked, n_clients, server_points.shape, hashlib.sha256(server_points.tobytes()).digest())
    if key not in _PREPARED:
        while len(_PREPARED) >= _REMEMBERED:
            del _PREPARED[next(iter(_PREPARED))]
        make = _prepare_paper if settings.method == MethodName.PAPER else _prepare_refined
        _PREPARED[key] = make(settings, server_points, n_clients)
    return _PREPARED[key]


def prepare_lloyds(settings: Settings, server_points: FloatArray, n_clients: int, start: str, default_steps: int) -> Prepared:
    """Return the plan of the paper's FedDP-Lloyds alone: the start named here touches no client data, so they have the whole budget."""
    steps = default_steps if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    return _prepare_paper(replace(settings, lloyd_steps=steps), _checked(settings, server_points), n_clients, start)


def _checked(settings: Settings, server_points: FloatArray) -> FloatArray:
    """Return the server points in one layout in memory, so that the same public points give the same bits however they came."""
    server_points = np.ascontiguousarray(server_points, dtype=np.float64)
    settings.check_server(server_points, server_points.shape[1])
    return server_points


def _bits(box: Box | None) -> Any:
    """Return what tells a box from every other: numpy writes long vectors with dots, and numbers with eight digits."""
    return None if box is None else tuple((np.shape(side), np.asarray(side, dtype=np.float64).tobytes()) for side in box)


def _prepare_paper(settings: Settings, server_points: FloatArray, n_clients: int, start: str | None = None) -> Prepared:
    unit, k = settings.unit, settings.largest_k
    ball = settings.ball(server_points, np.zeros(server_points.shape[1]))
    steps = 0 if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    facts = _facts(settings, server_points, n_clients) | {"radius": ball.radius, "lloyd_steps": steps}
    bounds = None
    if unit is PrivacyUnit.CLIENT:
        size = settings.client_size or DEFAULT_CLIENT_SIZE
        bounds = settings.bounds or simulated_bounds(server_points, ball, k, size)
        facts |= {"client_size": size, "bounds": bounds.to_dict()}
    method = PaperMethod(unit, ball, k, server_points, steps, bounds, settings.count_noise)
    plan = calibrated_plan(
        unit,
        settings.epsilon,
        settings.delta,
        method.requests(settings.epsilon, settings.delta, settings.shares, with_init=start is None),
        composition=Composition(settings.composition),
        sampling_rate=settings.sampling_rate,
        facts=facts,
        reasons=(
            ("the proportions given" if settings.shares else "the paper's proportions")
            + " of the budget, and no Lloyd step unless asked for"
            if start is None
            else f"{start}: first centers without client data, the whole budget for the paper's Lloyd steps",
        ),
    )
    return Prepared(settings, server_points, plan, method, steps)


def _prepare_refined(settings: Settings, server_points: FloatArray, n_clients: int) -> Prepared:
    unit = settings.unit
    center = server_points.mean(axis=0)
    ball = _roomy_ball(settings, server_points, center)
    facts = _facts(settings, server_points, n_clients) | {"radius": ball.radius}
    if unit is PrivacyUnit.CLIENT:
        facts["client_size"] = settings.client_size

    def make(steps: int, split: str, reasons: tuple[str, ...] = ()) -> tuple[RefinedMethod, Plan]:
        method = RefinedMethod(unit, ball, settings.largest_k, server_points, steps, settings.client_size, split)
        plan = calibrated_plan(
            unit,
            settings.epsilon,
            settings.delta,
            method.requests(),
            sampling_rate=settings.sampling_rate,
            facts=facts | {"lloyd_steps": steps, "split": split},
            reasons=reasons + REASONS,
        )
        return method, plan

    if settings.lloyd_steps == AUTO:
        n_units = max(1, int(n_clients * settings.sampling_rate)) if unit is PrivacyUnit.CLIENT else settings.n_points
        choice = choose(make, n_units)
    else:
        choice = Choice(int(settings.lloyd_steps), DEFAULT_SPLIT, (f"{settings.lloyd_steps} Lloyd steps, as asked for",))
    method, plan = make(choice.lloyd_steps, choice.split, choice.reasons)
    return Prepared(settings, server_points, plan, method, choice.lloyd_steps)


def _roomy_ball(settings: Settings, server_points: FloatArray, center: FloatArray) -> Ball:
    """Return a ball around the server mean that holds the points: it fixes the resolution only, contributions are bounded by themselves."""
    if settings.radius is not None:
        return Ball(center, settings.radius + float(np.linalg.norm(center)))
    if settings.box is not None:
        return settings.ball(server_points, center)
    return replace(ball := settings.ball(server_points, center), radius=2 * ball.radius)


def _facts(settings: Settings, server_points: FloatArray, n_clients: int) -> dict[str, Any]:
    return {
        "method": settings.method,
        "n_clusters": settings.n_clusters,
        **({"max_clusters": settings.max_clusters} if settings.n_clusters == AUTO else {}),
        "dimension": server_points.shape[1],
        "n_server_points": len(server_points),
        "n_clients": n_clients,
    }
