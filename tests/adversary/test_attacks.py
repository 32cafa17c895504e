"""Attacks that once went through, each with finite arguments and unmodified clients: refused by name now, before a point is touched."""

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.query import Query
from tests.adversary.generator import World
from tests.adversary.server import Server
from tests.strategies import one_client

D, K = 3, 2
BALL = Ball(np.zeros(D), 4.0)
VICTIM = np.array([[1.5, -0.5, 0.25]])
OTHERS = np.random.default_rng(0).standard_normal((40, D))
AT_VICTIM = BALL.encode(np.repeat(VICTIM, K, axis=0))
ABOUT = {"center": BALL.center, "radius": BALL.radius}
CLUSTERS = ABOUT | {"centers": np.zeros((K, D))}
RESIDUALS = CLUSTERS | {"origins": np.zeros((K, D)), "bound": 1000.0, "count_weight": 10.0}
WRAPPED = np.full((D, 1), 1 << 32, dtype=np.int64)  # squares are 2**64, which is 0 in 64 bits

ATTACKS = {
    "a weight without end": ("client-residuals", RESIDUALS | {"count_weight": 1e308}, "count_weight must be from 0 to"),
    "a tiny bound around a guessed point": (
        "point-residuals",
        RESIDUALS | {"origins": AT_VICTIM, "bound": 1e-12, "count_weight": 0.0},
        "bound must be from 0.5 to",
    ),
    "a projection whose squares wrap": (
        "point-residuals",
        RESIDUALS | {"residual_projection": WRAPPED, "origins": np.zeros((K, 1))},
        r"residual_projection must be an array of float64, got 'int64' of shape \(3, 1\)",
    ),
    "origins whose squares wrap": (
        "client-residuals",
        RESIDUALS | {"origins": np.full((K, D), 1 << 32)},
        "origins must be an array of float64",
    ),
    "centers whose squares wrap": ("cluster-sums", CLUSTERS | {"centers": np.full((K, D), 1 << 32)}, "centers must be an array of float64"),
    "edges that wrap": (
        "point-distances",
        {"center": BALL.center, "edges": np.array([9, 1, 7, 3, 5, 2, 8], dtype=np.uint64)},
        "edges must be an array of float64, got 'uint64'",
    ),
    "edges out of order": (
        "point-distances",
        {"center": BALL.center, "edges": np.array([9.0, 1, 7, 3])},
        "edges must be in ascending order",
    ),
    "a projection of many like columns": (
        "cluster-counts",
        ABOUT | {"projection": np.full((D, 1 << 17), 0.5), "centers": np.zeros((K, 1 << 17))},
        "projection must have shape .*, p from 1 to 65536",
    ),
    "a bound beyond all noise": ("client-outer-product", ABOUT | {"bound": 1e300}, "bound must give 'client-outer-product' a sensitivity"),
    "a bound below a step": ("client-cluster-sums", CLUSTERS | {"bound": 1e-300}, "bound must give 'client-cluster-sums' a sensitivity"),
    "a ball so small that its grid is none": (
        "client-outer-product",
        {"center": BALL.center, "radius": 1e-300, "bound": 1.0},
        "radius must be",
    ),
    "a box without a width": (
        "grid-counts",
        {"low": np.full(D, -1e308), "high": np.full(D, 1e308), "cells": np.ones(D)},
        "low must be below high by a finite width",
    ),
    "half a cell": ("grid-counts", {"low": np.zeros(D), "high": np.ones(D), "cells": np.full(D, 1.5)}, "cells must hold whole numbers"),
    "an argument that is ignored": ("point-count", {"center": BALL.center}, "public arguments must be none, got 'center'"),
    "a number as text": ("outer-product", ABOUT | {"radius": "4.0"}, "radius must be a float, got str '4.0'"),
    "a whole number": ("outer-product", ABOUT | {"radius": 4}, "radius must be a float, got int"),
    "a truth value": ("outer-product", ABOUT | {"radius": True}, "radius must be a float, got bool True"),
    "an array for a number": (
        "outer-product",
        ABOUT | {"radius": np.array([4.0])},
        r"radius must be a float, got 'float64' of shape \(1,\)",
    ),
    "None for a number": ("client-residuals", RESIDUALS | {"bound": None}, "bound must be a float, got NoneType"),
    "None for centers": ("cluster-sums", CLUSTERS | {"centers": None}, "centers must be an array of float64, got NoneType"),
}


def attacked(name, public):
    return Query(REGISTRY[name], public, D)


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_the_gate_refuses_by_name(attack):
    name, public, match = ATTACKS[attack]
    with pytest.raises(FedDPError, match=match):
        attacked(name, public)
    with pytest.raises(FedDPError, match=match):
        REGISTRY[name](one_client(OTHERS), **public)


@pytest.mark.parametrize("trust", Trust)
def test_a_client_refuses_by_name_whatever_its_data(tmp_path, trust):
    for unit in {statistic.unit for statistic in REGISTRY.values()}:
        (tmp_path / unit.value).mkdir()
        world = World(BALL, [np.concatenate([VICTIM, OTHERS]), OTHERS, OTHERS])
        server = Server(tmp_path / unit.value, world, unit, trust, 3, len(ATTACKS))
        for name, public, match in ATTACKS.values():
            if REGISTRY[name].unit is unit:
                query, (everyone, without) = server.ask(name, public)
                assert query is None
                assert everyone == without
                with pytest.raises(FedDPError, match=match):
                    raise FedDPError(everyone)


def moved(name, public, rows):
    """How far the first row moves a statistic whose arguments nobody parsed, in sensitivities."""
    statistic = REGISTRY[name]
    batches = [one_client(some) if statistic.whole_clients else one_client(some).single_points for some in (rows, rows[1:])]
    with np.errstate(all="ignore"):
        sums = [statistic.compute(batch, **public) for batch in batches]
    stated = statistic.sensitivity(**public)
    difference = [int(a) - int(b) for a, b in zip(*sums, strict=True)]
    return max(sum(x * x for x in difference) ** 0.5 / stated.l2, 0.0 if stated.l1 is None else sum(map(abs, difference)) / stated.l1)


@pytest.mark.parametrize("attack", ["a tiny bound around a guessed point", "edges that wrap"])
def test_without_the_gate_it_would_go_through(attack):
    """Else these tests would say nothing."""
    name, public, _ = ATTACKS[attack]
    rows = np.concatenate([VICTIM, OTHERS * 4])
    worst = max(moved(name, public, np.roll(rows, -shift, axis=0)) for shift in range(len(rows)))
    assert worst > 1.001


def test_without_the_gate_a_weight_without_end_would_leave_no_number():
    """What a processor makes a whole number of NaN is its own affair: on some it is 2**63, which shows through any noise."""
    name, public, _ = ATTACKS["a weight without end"]
    with np.errstate(over="ignore", invalid="raise"), pytest.raises(FloatingPointError, match="invalid value"):
        REGISTRY[name].compute(one_client(OTHERS), projection=None, residual_projection=None, **public)


LONG = 400
"""Coordinates of a long vector."""


def long_client(rows, last):
    """A client whose points differ from the ball's center in their last coordinates alone."""
    points = np.zeros((rows, LONG))
    points[:, -last:] = 3.0
    return points


LONG_ABOUT = {"center": np.zeros(LONG), "radius": 4.0 * LONG**0.5}
STEP = LONG_ABOUT["radius"] / RESOLUTION
FAR = np.zeros((60, LONG))
FAR[:-2, 0] = 2.0**20
FAR[-1, 1] = 1.0
LONG_CLUSTERS = LONG_ABOUT | {"centers": FAR}
LONG_RESIDUALS = LONG_CLUSTERS | {"origins": np.zeros((60, LONG)), "count_weight": 1.0}
MANY = np.concatenate([np.full((4000, 1), 2.0**20), np.arange(40.0)[:, None] * 100], axis=0)
LONG_CASES = {
    "client-outer-product": LONG_ABOUT | {"bound": 100.0},
    "client-second-moment": LONG_ABOUT | {"bound": 1e5},
    "client-cluster-sums": LONG_CLUSTERS | {"bound": 20.0},
    "client-cluster-means": LONG_CLUSTERS | {"bound": 2.0},
    "client-residuals": LONG_RESIDUALS | {"bound": 500.0},
    "client-cluster-counts": LONG_CLUSTERS | {"bound": 3.0},
    "client-presence": LONG_CLUSTERS | {"bound": 0.5},
}


@pytest.mark.parametrize("name", sorted(LONG_CASES))
@pytest.mark.parametrize("last", [1, 7])
def test_norms_of_long_vectors_count_their_last_numbers(name, last):
    """All mass in the last coordinates of the last clusters: a norm that left them out would leave the client as long as it is."""
    query = Query(REGISTRY[name], LONG_CASES[name], LONG)
    alone = query(one_client(long_client(50, last)))
    stated = query.sensitivity
    norms = (stated.l1, float(sum(abs(int(x)) for x in alone))) if stated.l1 else (stated.l2, float(sum(int(x) ** 2 for x in alone)) ** 0.5)
    assert 0.7 * norms[0] <= norms[1] <= norms[0]  # the upper triangle of a matrix of equal numbers has 0.71 of its length


@pytest.mark.parametrize("name", ["client-cluster-counts", "client-presence"])
def test_counts_in_the_last_of_many_clusters_count(name):
    public = {"center": np.zeros(1), "radius": 1.0, "centers": MANY, "bound": 7.0}
    query = Query(REGISTRY[name], public, 1)
    points = np.arange(40.0)[:, None] * 100 / RESOLUTION
    alone = query(one_client(points))
    assert 0.99 * query.sensitivity.l1 <= sum(int(x) for x in alone) <= query.sensitivity.l1
    assert not alone[:4000].any()


@pytest.mark.parametrize("name", [name for name in sorted(REGISTRY) if name.endswith(("-norms", "-distances"))])
def test_lengths_of_long_vectors_count_their_last_numbers(name):
    """The class is that of the whole length, worked out here in Python's integers."""
    statistic = REGISTRY[name]
    rows = long_client(1, 3)
    encoded = [int(x) for x in Ball(LONG_ABOUT["center"], LONG_ABOUT["radius"]).encode(rows)[0]]
    square = sum(x * x for x in encoded)
    exact = {
        "distances": 3 * 3**0.5,
        "residual-norms": (square + 1) ** 0.5,
        "moment-norms": square * (1 - (1 - 1 / 16) / LONG) ** 0.5,
    }[name.split("-", 1)[1]]
    edges = exact * np.array([0.5, 0.9, 0.999, 1.001, 2.0])
    given = LONG_RESIDUALS | {"edges": edges}
    counts = Query(statistic, {key: given[key] for key in statistic.arguments if key in given}, LONG)(one_client(rows))
    assert np.flatnonzero(counts).tolist() == [3]
