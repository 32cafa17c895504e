"""Knots of quantile scales, learnt privately from clients: a small run of its own, whose result is a public schema."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans import fit_inputs
from feddp_kmeans.algorithm.column_knots import Range, find_knots, knots_plan
from feddp_kmeans.errors import FedDPWarning, InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.meaning import weakness
from feddp_kmeans.privacy.odometer import LIMIT_DELTA
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables import frames
from feddp_kmeans.tables.columns import NumberColumn, OpenColumn
from feddp_kmeans.tables.number_scales import QUANTILE
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.schema_source import schema_of_names
from feddp_kmeans.tables.short_schema import hint


@dataclass(frozen=True)
class PrivateKnots:
    """What ``private_knots`` learnt.

    Examples
    --------
    >>> import numpy as np
    >>> from feddp_kmeans.knots import PrivateKnots, private_knots
    >>> found = private_knots(np.arange(20_000.0).reshape(-1, 1), ["x0"], epsilon=1.0)
    >>> isinstance(found, PrivateKnots), found.privacy.epsilon, found.rank_errors["x0"] < 0.02
    (True, 1.0, True)

    """

    schema: Schema
    """The schema, with the knots of the named columns; one whose knots noise hides stays as it was."""
    knots: dict[str, tuple[float, ...]]
    """The knots of each column that has some."""
    rank_errors: dict[str, float]
    """How far the rank of a knot may be off, with a chance of 95 %, as a part of all values of the column."""
    remarks: tuple[str, ...]
    """What must be known before the schema is used: which columns have no knots, and why."""
    plan: Plan = field(repr=False)
    privacy: PrivacyReport = field(repr=False)

    @property
    def note(self) -> str:
        """Return one line for those who read the schema: where its knots are from."""
        names, plan = ", ".join(self.knots) or "no column", self.plan
        return f"Knots of {names}: learnt from clients, for epsilon {plan.epsilon:g}, delta {plan.delta:g}, unit {plan.unit.value}."


def private_knots(
    X: Any,
    columns: Sequence[str],
    *,
    epsilon: float,
    delta: float = 1e-6,
    privacy_unit: str = "point",
    groups: Any = None,
    schema: Schema | Mapping[str, Any] | str | Path | None = None,
    ranges: Mapping[str, tuple[Any, ...]] | None = None,
    random_state: int | None = None,
    odometer: str | Path | None = None,
    limit: float | None = None,
    limit_delta: float = LIMIT_DELTA,
) -> PrivateKnots:
    """Return a schema in which these columns have a quantile scale, whose knots are their private deciles.

    Parameters
    ----------
    X : list of tables, one per client; or one table
        Data frames, Arrow tables or arrays, whose columns are called x0, x1, ...
    columns : sequence of str
        The columns to learn knots of. Each more column costs accuracy: noise grows with the root of their number.
    epsilon : float
        The privacy budget of this run. The ``fit`` that uses the schema has its own.
    delta : float, default=1e-6
        Largest probability with which the guarantee may fail.
    privacy_unit : str, default="point"
        What the guarantee hides: "point" or "client". With "client", every client counts the same in the ranks.
    groups : array of shape (n_points,), default=None
        The client of each row of one table.
    schema : Schema, dict or path, default=None
        What the columns hold; the named ones must be numbers, and their ranges are used. Without it, all are numbers without a range.
    ranges : dict, default=None
        Public range of columns, as in ``FedDPKMeans``. Knots begin and end there; without a range, where values stand out from noise.
    random_state : int, default=None
        None draws cryptographic noise. An integer makes a reproducible simulation, which is not private.
    odometer, limit, limit_delta
        As in ``FedDPKMeans``: where the run is booked, and the most that all runs booked there may spend.

    Returns
    -------
    found : PrivateKnots
        ``found.schema`` goes to ``FedDPKMeans(schema=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from feddp_kmeans.knots import private_knots
    >>> income = np.random.default_rng(0).lognormal(10, 1, 50_000)
    >>> found = private_knots(pa.table({"income": income}), ["income"], epsilon=1.0, ranges={"income": (0, 1e7)})
    >>> knots = found.knots["income"]
    >>> len(knots), knots[0], knots[-1], 20_000 < knots[5] < 25_000  # the median is 22,026
    (11, 0.0, 10000000.0, True)

    """
    if isinstance(X, Federation):
        raise InputError("X must be one table, or a list of one per client, got a Federation, whose columns have no names.")
    base = frames.schema_given(schema, ranges, X) or schema_of_names(frames.names_of(X), ())
    asked = ranges_of(base, columns)
    points = frames.encoded(read_for(base, asked), X, check=True)
    federation = fit_inputs.federation_of(points, groups, lambda table, **_: table)
    federation = fit_inputs.booked(federation, odometer, limit, limit_delta)
    plan = knots_plan(PrivacyUnit.parse(privacy_unit), epsilon, delta, federation.n_clients, asked)
    with federation.open(plan, fit_inputs.seed_of(random_state)) as run:
        found = learnt(run, base, asked)
    for remark in found.remarks:
        warnings.warn(f"{remark}.", FedDPWarning, stacklevel=2)
    return found


def ranges_of(schema: Schema, names: Collection[str]) -> dict[str, Range | None]:
    """Return the public ranges of these columns, in the order of the schema; refuse those that are not there or hold no numbers."""
    if isinstance(names, str) or not names:
        raise InputError(f"columns must be a list of names, such as ['income'], got {names!r:.80}.")
    for name in names:
        if name not in schema.names:
            raise InputError(f"columns must be in the table and its schema, got {name!r:.80}{hint([name], schema.names)}")
    found: dict[str, Range | None] = {}
    for column in schema.fields:
        if column.name in names:
            if not isinstance(column, NumberColumn | OpenColumn):
                raise InputError(f"column {column.name!r:.80} must hold numbers to have knots, got kind {column.kind!r}.")
            found[column.name] = (column.low, column.high) if isinstance(column, NumberColumn) else None
    return found


def read_for(schema: Schema, names: Collection[str]) -> Schema:
    """Return the schema by which the run reads its clients: these columns are read as the numbers that they are."""
    return schema.replaced([*map(OpenColumn, names)])


def learnt(run: Run, schema: Schema, asked: Mapping[str, Range | None]) -> PrivateKnots:
    """Return the schema with the knots that the run finds."""
    chosen = np.array([name in asked for name in read_for(schema, asked).columns])
    found = find_knots(run, chosen, asked)
    old = {column.name: column for column in schema.fields}
    made = []
    for name, one in found.items():
        as_before = old[name] if isinstance(old[name], NumberColumn) else NumberColumn(name, 0.0, 1.0)
        assert isinstance(as_before, NumberColumn)
        made += [replace(as_before, scale=QUANTILE, unit=None, knots=one.knots)] if one.knots else []
    remarks = [f"column {name!r:.80} has no knots: {one.why_none}" for name, one in found.items() if one.why_none]
    remarks += filter(None, [weakness(run.plan.epsilon, run.plan.delta)])
    knots = {name: one.knots for name, one in found.items() if one.knots}
    errors = {name: found[name].rank_error for name in knots}
    return PrivateKnots(schema.replaced(made), knots, errors, tuple(remarks), run.plan, run.report())
