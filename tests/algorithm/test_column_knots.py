"""Knots of columns from noisy histograms: near the deciles, with an error that covers, whatever the columns are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from feddp_kmeans.algorithm.column_knots import CONSTANT, HIDDEN, find_knots, knots_plan, simplest
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.tables.columns import NumberColumn

DECILES = np.arange(1, 10) / 10
FALSE_ALARM = 1e-6

COLUMNS = {
    "log-normal": lambda rng, n: rng.lognormal(10, 1.5, n),
    "uniform": lambda rng, n: rng.uniform(0, 1e6, n),
    "two modes": lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(-50, 3, n), rng.normal(2000, 400, n)),
    "30 % zeros": lambda rng, n: np.where(rng.random(n) < 0.3, 0, rng.lognormal(10, 1, n)),
    "negative": lambda rng, n: -rng.lognormal(3, 1, n),
    "years": lambda rng, n: rng.uniform(1950, 2020, n),
    "seconds": lambda rng, n: rng.uniform(1.6e9, 1.61e9, n),
    "around zero": lambda rng, n: rng.normal(0, 1e-3, n),
}


def found_in(values, epsilon, *, unit=PrivacyUnit.POINT, ends=None, seed=0, per_client=10):
    """The knots of one column, in clients of ``per_client`` rows."""
    starts = np.append(np.arange(0, len(values), per_client), len(values))
    federation = InMemoryFederation.from_offsets(np.reshape(values, (-1, 1)), starts if len(values) else [0, 0])
    plan = knots_plan(unit, epsilon, 1e-6, federation.n_clients, {"x": ends})
    with federation.open(plan, seed) as run:
        found = find_knots(run, np.ones(1, dtype=bool), {"x": ends})["x"]
        assert run.report().not_made == {}
    return found


def off(values, knots):
    """How far each decile is from the ranks of the nearest knot, as a part of all values."""
    ordered = np.sort(values)
    low, high = (np.searchsorted(ordered, knots, side) / len(values) for side in ("left", "right"))
    return np.array([np.maximum(np.maximum(low - decile, decile - high), 0).min() for decile in DECILES])


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize(("n", "epsilon", "unit"), [(20_000, 0.1, "point"), (2000, 1.0, "point"), (20_000, 1.0, "client")])
def test_knots_are_deciles_and_their_stated_errors_cover(kind, n, epsilon, unit, rng):
    """Each of 8 * 9 knots is covered with a chance of 95 % or more; too few are in one of a million tests."""
    covered, errors = 0, []
    for seed in range(8):
        values = COLUMNS[kind](rng, n)
        found = found_in(values, epsilon, unit=PrivacyUnit(unit), seed=seed)
        assert found.why_none is None
        covered += int((off(values, found.knots) <= found.rank_error).sum())
        errors.append(found.rank_error)
    assert covered >= binom.ppf(FALSE_ALARM, 72, 0.95)
    assert np.mean(errors) < 0.045  # 3 % in fact


def test_more_budget_means_smaller_stated_errors(rng):
    values = COLUMNS["log-normal"](rng, 20_000)
    rough, fine = found_in(values, 0.1), found_in(values, 1.0)
    assert fine.rank_error < rough.rank_error / 3
    assert off(values, fine.knots).max() < 0.01
    assert len(fine.knots) == 11


def test_without_noise_knots_are_the_deciles(rng):
    values = COLUMNS["two modes"](rng, 5000)
    found = found_in(values, np.inf)
    assert off(values, found.knots).max() <= found.rank_error < 0.01
    assert found.knots[0] <= values.min()
    assert found.knots[-1] >= values.max()


@pytest.mark.parametrize(
    ("values", "knots"),
    [
        (np.repeat([0.0, 1.0], [14_000, 6000]), (0, 1)),
        (np.repeat([0.0, 1.0, 2.0, 3.0], [8000, 5600, 4000, 2400]), (0, 1, 2, 3)),
        (np.repeat([-7.5, 12_000.0], [10_000, 10_000]), (-7.5, 12_000)),
    ],
)
def test_a_value_that_many_have_is_one_knot(values, knots):
    for seed in range(5):
        assert found_in(values, 1.0, seed=seed).knots == knots


def test_nine_zeros_in_ten_leave_two_knots(rng):
    values = np.where(rng.random(20_000) < 0.9, 0, rng.lognormal(10, 1, 20_000))
    for seed in range(5):
        knots = found_in(values, 1.0, seed=seed).knots
        assert (knots[0], len(knots) <= 3, knots[-1] > 30_000) == (0, True, True)


@pytest.mark.parametrize("constant", [0.0, 7.0, -123.456, 1e9])
def test_a_constant_has_no_knots(constant):
    found = found_in(np.full(20_000, constant), 1.0)
    assert (found.knots, found.why_none) == ((), CONSTANT)


@pytest.mark.parametrize("values", [np.full(20_000, np.nan), np.arange(30.0), np.full(20_000, 1e30), np.empty(0)])
def test_what_noise_hides_has_no_knots(values):
    found = found_in(values, 0.1)
    assert (found.knots, found.why_none) == ((), HIDDEN)


def test_a_stated_range_has_the_ends_and_values_beyond_it_count_for_them(rng):
    values = np.concatenate([rng.uniform(0, 100, 10_000), np.full(5000, -1e12), np.full(5000, 1e30)])
    found = found_in(values, 1.0, ends=(0.0, 100.0))
    assert (found.knots[0], found.knots[-1]) == (0, 100)
    assert np.array(found.knots[1:-1]) == pytest.approx(np.quantile(values, [0.3, 0.4, 0.5, 0.6, 0.7]), abs=5)


def test_missing_cells_do_not_count(rng):
    values = np.where(rng.random(20_000) < 0.5, np.nan, rng.uniform(0, 1, 20_000))
    assert off(values[~np.isnan(values)], found_in(values, 1.0).knots).max() < 0.02


def test_a_client_counts_once_however_many_rows_it_has():
    values = np.concatenate([np.full(200_000, 5.0), np.linspace(1000, 2000, 20_000)])
    groups = np.concatenate([np.zeros(200_000, dtype=int), 1 + np.arange(20_000) // 10])
    federation = InMemoryFederation.from_groups(values[:, None], groups)
    plan = knots_plan(PrivacyUnit.CLIENT, 2.0, 1e-6, federation.n_clients, {"x": None})
    with federation.open(plan, 0) as run:
        found = find_knots(run, np.ones(1, dtype=bool), {"x": None})["x"]
    assert off(np.linspace(1000, 2000, 20_000), found.knots).max() < 0.05


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["tiny", "huge", "lattice", "mixed", "few"]),
    epsilon=st.sampled_from([0.1, 1.0, 20.0, np.inf]),
    n=st.sampled_from([0, 1, 7, 300, 3000]),
    ends=st.sampled_from([None, (0.0, 1.0), (-1e300, 1e300), (5.0, 5.0 + 1e-9)]),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_a_column_holds_its_knots_make_a_column_or_there_is_a_reason(kind, epsilon, n, ends, seed):
    rng = np.random.default_rng(seed)
    values = {
        "tiny": rng.normal(0, 1e-300, n),
        "huge": rng.normal(0, 1e300, n),
        "lattice": rng.integers(-3, 4, n) * 0.1,
        "mixed": rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1.5, 2.0**-40, 2.0**40], n),
        "few": rng.choice(rng.standard_cauchy(5), n),
    }[kind]
    found = found_in(values, epsilon, ends=ends, seed=seed, per_client=3)
    assert bool(found.knots) == (found.why_none is None)
    if found.knots:
        column = NumberColumn("x", scale="quantile", knots=found.knots)
        assert 0 <= found.rank_error <= 0.1
        assert np.isfinite(column.encode_numbers(values)).all()
        assert ends is None or (column.low, column.high) == ends


def test_the_plan_is_one_release_that_costs_what_was_asked_for():
    plan = knots_plan(PrivacyUnit.POINT, 0.1, 1e-6, 3, {"a": None, "b": (0.0, 1.0)})
    (release,) = plan.releases
    assert (release.name, release.times, release.sums) == ("columns", 8, 4)
    assert 0.0999 < plan.epsilon_spent <= 0.1
    federation = InMemoryFederation([np.zeros((3, 2))])
    with federation.open(plan, 0) as run:
        find_knots(run, np.ones(2, dtype=bool), plan.facts["columns"])
        with pytest.raises(BudgetError, match="must be made at most 8 times"):
            find_knots(run, np.ones(2, dtype=bool), plan.facts["columns"])


@given(low=st.floats(-1e300, 1e300), width=st.floats(1e-12, 1e6))
def test_the_simplest_number_is_in_its_interval(low, width):
    high = low + width * max(abs(low), 1e-300)
    if low < high < np.inf:
        assert low < simplest(low, high) <= high
