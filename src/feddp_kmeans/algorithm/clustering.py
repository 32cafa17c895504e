"""FedDP-KMeans: FedDP-Init, then FedDP-Lloyds, under one plan that is fixed before any data is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from feddp_kmeans._html import line, table
from feddp_kmeans._text import counted, finite, size, uncertain
from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.choose_k import Elbow, find_elbow
from feddp_kmeans.algorithm.closing import Closing
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.algorithm.feddp_init import NoisyCenters, Steps, feddp_init, feddp_proxies
from feddp_kmeans.algorithm.feddp_lloyds import feddp_lloyds
from feddp_kmeans.algorithm.last_run import LastRun, check_useful
from feddp_kmeans.algorithm.prepare import Prepared, prepare, prepare_after
from feddp_kmeans.algorithm.settings import AUTO, Settings
from feddp_kmeans.algorithm.usefulness import column_remarks, doubts, stddevs, why_useless
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.meaning import weakness
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.silos.threads import one_thread

_SPARED = "planned and paid for, but not made, since nothing would have come of it"

_SHOWN = 8
"""Coordinates of a center that a notebook shows."""

OnRelease = Callable[[str], None]
"""Is called with the name of each release just before it is made."""


@dataclass(frozen=True)
class Clustering:
    """The private result of a run."""

    centers: FloatArray
    counts: FloatArray
    center_stddev: FloatArray
    projection: FloatArray
    server_weights: FloatArray
    plan: Plan
    privacy: PrivacyReport
    remarks: tuple[str, ...] = ()
    """What a reader must know before believing the result; ``fit`` warns of each."""
    notes: tuple[str, ...] = ()
    """What is good to know, and no reason to doubt the result."""
    useless: str | None = None
    """Why the result says nothing about the clients' points, for example because all centers are the noisy mean; None if it does."""
    elbow: Elbow | None = None
    """How the number of clusters was chosen; None if it was given."""
    count_stddev: float | None = None
    """Standard deviation of the noise in a count; None if it is not known."""
    closing: Closing | None = None
    """What the closing look says about the centers; its counts are those above. None if the method makes no closing look."""
    axis_stddev: FloatArray | None = None
    """Standard deviation of each coordinate of each center (k, d); None if only ``center_stddev`` is known."""
    place_stddev: FloatArray | None = None
    """Standard deviation of each coordinate as a filter takes it, from which a later run goes on; None if there is none."""
    units: ColumnUnits | None = None
    """The unit of each coordinate: distances, spreads and inertia are in these units, centers and their errors in the data's own. None if
    rows were taken as they are."""

    def all_remarks(self, columns: Sequence[str]) -> list[str]:
        """Return the remarks, and one more that names the columns in which noise exceeds the spread of the values."""
        errors = stddevs(self.centers, self.center_stddev, self.axis_stddev)
        return [*self.remarks, *column_remarks(self.centers, errors, None if self.units is None else self.units.scale, columns)]

    def last_run(self) -> LastRun:
        """Return what this run leaves for the next one; refuse if it leaves nothing."""
        check_useful(self.useless)
        if self.closing is None or self.count_stddev is None:
            raise InputError("the earlier run must be of method 'refined', which states sizes and errors, got one of another method.")
        place = stddevs(self.centers, self.center_stddev, self.axis_stddev if self.place_stddev is None else self.place_stddev)
        return LastRun(self.centers, place, self.counts, self.count_stddev, self.closing, self.plan.unit, self.units)

    def _repr_html_(self) -> str:
        """Return sizes and centers with their errors, warnings first and the guarantee last, as a notebook shows them."""
        k, d = self.centers.shape
        errors = stddevs(self.centers, self.center_stddev, self.axis_stddev)
        rows = [
            (
                str(row),
                size(finite(float(self.counts[row])), self.count_stddev),
                *(uncertain(float(self.centers[row, i]), finite(float(errors[row, i]))) for i in range(min(d, _SHOWN))),
            )
            for row in range(k)
        ]
        head = ("cluster", "size", *(f"coordinate {i}" for i in range(min(d, _SHOWN))))
        more = f", the first {_SHOWN} of {d} coordinates" if d > _SHOWN else ""
        made = table(f"{counted(k, 'cluster')}{more}; ± two standard deviations of the noise", head, rows)
        useless = line("Useless: this result says nothing about the clusters.", strong=True) if self.useless else ""
        return useless + "".join(line(f"Warning: {remark}.") for remark in self.remarks) + made + line(self.privacy.sentence())


class Clusterer(Protocol):
    """The one signature of the algorithm and of its rivals."""

    def __call__(
        self,
        federation: Federation,
        settings: Settings,
        server_points: FloatArray,
        *,
        seed: int | None = None,
        on_release: OnRelease | None = None,
    ) -> Clustering:
        """Return k centers for the federation's points, and what was spent on them."""


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray | None,
    *,
    last: LastRun | None = None,
    seed: int | None = None,
    on_release: OnRelease | None = None,
) -> Clustering:
    """Return the clustering of the federation's points: a plan, then its run.

    Without server points, proxies are made privately; after an earlier run, its clusters are the start.
    """
    n_clients, dimension = federation.n_clients, federation.dimension
    if last is None:
        prepared = prepare(settings, server_points, n_clients, dimension)
    else:
        prepared = prepare_after(settings, last, n_clients, dimension)
    return run(federation, prepared, seed=seed, on_release=on_release)


def run(
    federation: Federation,
    prepared: Prepared,
    *,
    start: FloatArray | None = None,
    chosen_k: int | None = None,
    seed: int | None = None,
    on_release: OnRelease | None = None,
) -> Clustering:
    """Return the clustering of the federation's points under the prepared plan: open a run, and carry it out."""
    check(prepared, federation.dimension, chosen_k)
    with federation.open(prepared.plan, seed, on_release) as opened:
        return carry_out(opened, prepared, start=start, chosen_k=chosen_k)


def choose_k(federation: Federation, prepared: Prepared, *, seed: int | None = None, on_release: OnRelease | None = None) -> Elbow:
    """Return the elbow of steps 1 and 2 of the prepared run, and make no other release: open a run, and look."""
    check(prepared, federation.dimension)
    with federation.open(prepared.plan, seed, on_release) as opened:
        return look(opened, prepared)


def check(prepared: Prepared, dimension: int, chosen_k: int | None = None) -> None:
    """Refuse a run that cannot be carried out, before it is opened: on points of this dimension, with this number of clusters."""
    if chosen_k is not None and not 1 <= chosen_k <= prepared.settings.largest_k:
        raise InputError(f"n_clusters must be from 1 to the {prepared.settings.largest_k} that the plan is made for, got {chosen_k}.")
    if prepared.server_points is not None:
        prepared.settings.check_server(prepared.server_points, dimension)


@one_thread()
def look(run: Run, prepared: Prepared) -> Elbow:
    """Return the elbow that steps 1 and 2 show.

    On a federation that records its releases, a later run of the same plan goes on from there: nothing is paid twice.
    """
    proxies = feddp_proxies(_bound(run, prepared))
    return find_elbow(proxies, prepared.settings.largest_k, run.server_seed)


@one_thread()
def carry_out(run: Run, prepared: Prepared, *, start: FloatArray | None = None, chosen_k: int | None = None) -> Clustering:
    """Return the clustering that the run gives; from ``start`` if the plan has no initialization.

    If the number of clusters is to be chosen it is the elbow's, or ``chosen_k`` if somebody has seen the curve and decided.
    """
    settings, steps, elbow = prepared.settings, _bound(run, prepared), None
    if start is None:
        proxies = feddp_proxies(steps)
        projection, server_weights = proxies.projection, proxies.server_weights
        if settings.n_clusters == AUTO:
            elbow = find_elbow(proxies, settings.largest_k, run.server_seed)
        k = chosen_k or (elbow.picked if elbow else settings.fixed_k)
        first = feddp_init(steps, proxies, k, run.server_seed)
    else:
        k, projection, server_weights = len(start), np.eye(run.dimension), np.ones(prepared.n_server_points)
        first = NoisyCenters(start, np.full(k, np.nan), np.zeros(k), 0.0, ())
    found = feddp_lloyds(steps, first, prepared.lloyd_steps)
    closing = steps.closing(found)
    told = closing or found
    useless = why_useless(found, told.counts, told.count_stddev)
    unsure = [] if useless else doubts(found, told.counts, told.count_stddev)
    unsure += [*run.remarks, *filter(None, [weakness(prepared.plan.epsilon, prepared.plan.delta)])]
    privacy = run.report()
    units = None if run.units is None else ColumnUnits(run.units, run.fill)
    axis, spread, place = found.axis_stddev, found.center_stddev, found.place_stddev
    if closing is not None and closing.cut_stddev is not None:
        axis = np.hypot(stddevs(found.centers, spread, axis), closing.cut_stddev[:, None])
        spread = np.hypot(spread, closing.cut_stddev)
    if units is not None:
        axis = units.own_errors(stddevs(found.centers, spread, axis))
        place = None if place is None else units.own_errors(place)
        spread = np.sqrt(np.nanmean(np.square(axis), axis=1))
    spared = ", ".join(f"{name} x {times}" for name, times in privacy.not_made.items())
    return Clustering(
        centers=found.centers if units is None else _own(units, found.centers, settings),
        counts=told.counts,
        center_stddev=spread,
        projection=projection,
        server_weights=server_weights,
        plan=prepared.plan,
        privacy=privacy,
        remarks=tuple(dict.fromkeys([*([useless] if useless else []), *found.remarks, *unsure])),
        notes=(f"{_SPARED}: {spared}",) if spared else (),
        useless=useless,
        elbow=elbow,
        count_stddev=told.count_stddev,
        closing=closing,
        axis_stddev=axis,
        place_stddev=place,
        units=units,
    )


def _bound(run: Run, prepared: Prepared) -> Steps:
    """Return the steps of the method in this run, whose clients read rows in the plan's public units if there are any."""
    run.units = prepared.units
    return prepared.method.bind(run)


def _own(units: ColumnUnits, centers: FloatArray, settings: Settings) -> FloatArray:
    """Return centers in the data's own units; rounding takes none out of the public region."""
    region, own = settings.region(centers.shape[1]), units.own(centers)
    return own if region is None else region.clip(own)
