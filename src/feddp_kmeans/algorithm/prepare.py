"""A plan and the method that carries it out, made from public facts only: settings, server data, and the number of clients."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.client_bounds import DEFAULT_CLIENT_SIZE, simulated_bounds
from feddp_kmeans.algorithm.column_looks import REASON
from feddp_kmeans.algorithm.column_units import COLUMNS, beside_ranges, units_of
from feddp_kmeans.algorithm.feddp_init import Steps
from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.algorithm.methods import following, grid, refined, serverless
from feddp_kmeans.algorithm.methods.following import FollowingMethod, usual_steps
from feddp_kmeans.algorithm.methods.grid import GridMethod
from feddp_kmeans.algorithm.methods.paper import PaperMethod
from feddp_kmeans.algorithm.methods.refined import RefinedMethod
from feddp_kmeans.algorithm.methods.serverless import ServerlessMethod
from feddp_kmeans.algorithm.settings import AUTO, BY_COLUMN, OFF, MethodName, Settings
from feddp_kmeans.algorithm.tuning import CHOOSING, GRID, REFINED, SERVERLESS
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Composition, Plan, calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.threads import one_thread

_ROOM = 2.0
"""Radius of the refined method's ball relative to the server points' reach: client points may lie farther out."""


class Method(Protocol):
    """Which releases are made; it holds public numbers only."""

    def bind(self, run: Run) -> Steps:
        """Return the steps of this method in one run."""


@dataclass(frozen=True)
class Prepared:
    """A plan and the method that will carry it out: public, and made without any client data."""

    settings: Settings
    server_points: FloatArray | None
    plan: Plan
    method: Method
    lloyd_steps: int
    units: FloatArray | None = None
    """Public units of the columns, in which the method works; None if it takes them as they are, or finds units by itself."""

    @property
    def n_server_points(self) -> int:
        """Return the number of server points; 0 if there are no server data."""
        return 0 if self.server_points is None else len(self.server_points)


@one_thread()
def prepare(settings: Settings, server_points: FloatArray | None, n_clients: int, dimension: int | None = None) -> Prepared:
    """Return the plan for these settings and public facts.

    Whether there are server data is decided here and nowhere else. Without them the dimension must be given; with them it is
    checked if given. A plan that simulates takes about a second: keep it if several runs are made under it.
    """
    if (units := _public_units(settings, server_points, dimension)) is not None:
        inner = prepare(_in_units(settings, units), None if server_points is None else server_points / units, n_clients, len(units))
        return replace(inner, settings=settings, server_points=server_points, units=units)
    if server_points is None:
        if settings.method is not MethodName.REFINED:
            raise InputError(f"server_data must be given for method '{settings.method}', got None.")
        if dimension is None:
            raise InputError("dimension must be given if there are no server data, got None.")
        return _prepare_serverless(settings, dimension, n_clients)
    server_points = _checked(settings, server_points, dimension)
    make = _prepare_paper if settings.method is MethodName.PAPER else _prepare_refined
    return make(settings, server_points, n_clients)


def _public_units(settings: Settings, server_points: FloatArray | None, dimension: int | None) -> FloatArray | None:
    """Return units where public facts show columns of very different ranges: the widths of a box, else the spread of the server data."""
    if settings.scale == OFF or settings.radius is not None or settings.bounds is not None:
        return None
    if settings.open_columns is not None:
        if server_points is None:
            return None
        spreads, ranges = server_points.std(axis=0), np.ptp(server_points, axis=0)
        return np.where(settings.open_columns, beside_ranges(spreads, ranges), 1.0)
    if settings.box is not None:
        region = settings.region(int(max(map(np.size, settings.box))) if dimension is None else dimension)
        widths = stddevs = region.high - region.low if region is not None else np.zeros(0)
    elif server_points is not None and server_points.ndim == 2 and len(server_points) and np.isfinite(server_points).all():
        widths, stddevs = np.ptp(server_points, axis=0), server_points.std(axis=0)
    else:
        return None
    units = units_of(stddevs, widths, widths)
    return None if (units == units[0]).all() else units


def _in_units(settings: Settings, units: FloatArray) -> Settings:
    if settings.box is None:
        return replace(settings, scale=OFF, open_columns=None)
    low, high = (np.asarray(side, dtype=np.float64) / units for side in settings.box)
    return replace(settings, scale=OFF, box=(low, high))


def prepare_lloyds(settings: Settings, server_points: FloatArray, n_clients: int, start: str, default_steps: int) -> Prepared:
    """Return the plan of the paper's FedDP-Lloyds only: the start named here touches no client data, so they have the whole budget."""
    steps = default_steps if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    return _prepare_paper(replace(settings, lloyd_steps=steps), _checked(settings, server_points), n_clients, start)


@one_thread()
def prepare_after(settings: Settings, last: LastRun, n_clients: int, dimension: int) -> Prepared:
    """Return the plan of a run that goes on from an earlier one."""
    k, before = last.centers.shape
    if dimension != before:
        raise InputError(f"tables must have the {before} coordinates of the earlier run, got {dimension}.")
    if settings.method is not MethodName.REFINED:
        raise InputError(f"method must be 'refined' for a run that goes on from an earlier one, got '{settings.method}'.")
    if settings.n_clusters != k:
        raise InputError(f"n_clusters must be the {k} of the earlier run, got {settings.n_clusters}.")
    if settings.unit is not last.unit:
        raise InputError(f"privacy_unit must be the '{last.unit.value}' of the earlier run, got '{settings.unit.value}'.")
    units = None if last.units is None else last.units.units
    region = (settings if units is None else _in_units(settings, units)).region(dimension)
    steps = usual_steps(last) if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    method = FollowingMethod(settings.unit, last, steps, region)
    facts = _facts(settings, dimension, 0, n_clients, method.ball.radius) | {"lloyd_steps": steps}
    return Prepared(settings, None, _plan(settings, method.requests(), facts, following.REASONS), method, steps, units)


def _checked(settings: Settings, server_points: FloatArray, dimension: int | None = None) -> FloatArray:
    """Return the server points in one layout in memory, so that the same public points give the same bits however they came."""
    server_points = np.ascontiguousarray(server_points, dtype=np.float64)
    settings.check_server(server_points, server_points.shape[1] if dimension is None else dimension)
    return server_points


def _prepare_serverless(settings: Settings, dimension: int, n_clients: int) -> Prepared:
    region, k = settings.region(dimension), settings.largest_k
    unscaled = _unscaled(settings, dimension) if region is None else ()
    facts = _facts(settings, dimension, 0, n_clients, None if region is None else region.ball.radius)
    why = (REASON,) if any(unscaled) else ()
    if dimension <= GRID.largest_dimension and settings.unit is PrivacyUnit.POINT and settings.lloyd_steps == AUTO:
        method = GridMethod(dimension, k, region, settings.count_noise, unscaled)
        plan = _plan(settings, method.requests(), facts | {"lloyd_steps": 0}, (*why, *grid.REASONS))
        return Prepared(settings, None, plan, method, 0)
    steps = SERVERLESS.lloyd_steps if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    is_wide = region is None and settings.scale == AUTO and dimension > COLUMNS.most
    many = ServerlessMethod(settings.unit, dimension, k, steps, region, _choosing(settings), unscaled, is_wide)
    plan = _plan(settings, many.requests(), facts | {"lloyd_steps": steps}, (*why, *serverless.REASONS))
    return Prepared(settings, None, plan, many, steps)


def _unscaled(settings: Settings, dimension: int) -> tuple[bool, ...]:
    """Return which columns are looked at to find their units: those without a public range."""
    chosen = settings.open_columns or (True,) * dimension
    most = {OFF: 0, AUTO: COLUMNS.most, BY_COLUMN: dimension}[settings.scale]
    return chosen if 0 < sum(chosen) <= most else ()


def _prepare_paper(settings: Settings, server_points: FloatArray, n_clients: int, start: str | None = None) -> Prepared:
    k = settings.largest_k
    ball = settings.ball(server_points, np.zeros(server_points.shape[1]))
    steps = 0 if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    facts = _facts(settings, ball.dimension, len(server_points), n_clients, ball.radius) | {"lloyd_steps": steps}
    bounds = None
    if settings.unit is PrivacyUnit.CLIENT:
        size = settings.client_size or DEFAULT_CLIENT_SIZE
        bounds = settings.bounds or simulated_bounds(server_points, ball, k, size)
        facts |= {"client_size": size, "bounds": asdict(bounds)}
    method = PaperMethod(settings.unit, ball, k, server_points, steps, bounds, settings.count_noise)
    requests = method.requests(settings.epsilon, settings.delta, settings.shares, with_init=start is None)
    reason = f"{start}: first centers without client data, the whole budget for the paper's Lloyd steps"
    if start is None:
        proportions = "the proportions given" if settings.shares else "the paper's proportions"
        reason = f"{proportions} of the budget, and no Lloyd step unless asked for"
    return Prepared(settings, server_points, _plan(settings, requests, facts, (reason,), settings.composition), method, steps)


def _prepare_refined(settings: Settings, server_points: FloatArray, n_clients: int) -> Prepared:
    unit = settings.unit
    # The ball only fixes the resolution: contributions have bounds of their own.
    ball = settings.ball(server_points, server_points.mean(axis=0), _ROOM)
    facts = _facts(settings, ball.dimension, len(server_points), n_clients, ball.radius)
    if unit is PrivacyUnit.CLIENT:
        facts["client_size"] = settings.client_size
    steps = REFINED.lloyd_steps if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    n_points = settings.n_points if unit is PrivacyUnit.POINT else None
    as_one, k = settings.sampling_rate == 1, settings.largest_k
    method = RefinedMethod(unit, ball, k, server_points, steps, settings.client_size, n_points, as_one, _choosing(settings))
    plan = _plan(settings, method.requests(), facts | {"lloyd_steps": steps}, refined.REASONS)
    return Prepared(settings, server_points, plan, method, steps)


def _choosing(settings: Settings) -> int:
    """Return how many looks k is chosen by."""
    return CHOOSING.rounds.looks if settings.n_clusters == AUTO else 0


def _plan(
    settings: Settings, requests: list[Release], facts: dict[str, Any], reasons: tuple[str, ...], how: Composition = Composition.TIGHT
) -> Plan:
    unit, epsilon, delta, rate = settings.unit, settings.epsilon, settings.delta, settings.sampling_rate
    return calibrated_plan(unit, epsilon, delta, requests, composition=how, sampling_rate=rate, facts=facts, reasons=reasons)


def _facts(settings: Settings, dimension: int, n_server_points: int, n_clients: int, radius: float | None) -> dict[str, Any]:
    return {
        "method": str(settings.method),
        "n_clusters": settings.n_clusters,
        **({"max_clusters": settings.max_clusters} if settings.n_clusters == AUTO and n_server_points else {}),
        "dimension": dimension,
        "n_server_points": n_server_points,
        "n_clients": n_clients,
        "radius": radius,
    }
