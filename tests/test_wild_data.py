"""Whole fits on data of every kind: a right answer, or one clear line before any data is touched."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.batches import finite_batch
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.batch import ClientBatch
from tests.cli.command import feddp
from tests.ledgers import check_ledger
from tests.variants import slow_after

KINDS = {
    "ordinary": lambda rows: rows,
    "huge": lambda rows: rows * 1e300,
    "subnormal": lambda rows: rows * 1e-310,
    "equal": lambda rows: np.broadcast_to(rows[:1], rows.shape).copy() if len(rows) else rows,
    "constant column": lambda rows: np.concatenate([rows[:, :-1], np.ones((len(rows), 1))], axis=1),
    "zero": np.zeros_like,
    "NaN here and there": lambda rows: np.where(rows > 1, np.nan, rows),
    "all NaN": lambda rows: np.full_like(rows, np.nan),
    "infinities": lambda rows: np.where(rows > 1, np.inf, np.where(rows < -1, -np.inf, rows)),
    "whole numbers": np.rint,
}
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "every other column": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "backwards": lambda rows: np.ascontiguousarray(rows[::-1])[::-1],
    "big-endian": lambda rows: rows.astype(rows.dtype.newbyteorder(">")),
    "read-only": lambda rows: (rows.setflags(write=False), rows)[1],
    "sparse": sparse.csr_matrix,
}
TYPES = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_, np.longdouble]


@st.composite
def tables(draw, dimension, rows=(0, 1, 2, 7, 60, 700)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = KINDS[draw(st.sampled_from(sorted(KINDS)))](rng.standard_normal((draw(st.sampled_from(rows)), dimension)))
    kind = draw(st.sampled_from(TYPES))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nan_to_num(points).astype(kind) if np.dtype(kind).kind in "iub" else points.astype(kind)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_fit_of_any_data_gives_centers_of_the_right_shape_in_the_right_place(data):
    dimension, k = data.draw(st.sampled_from([1, 2, 5])), data.draw(st.sampled_from([1, 2, 3, 9]))
    layout = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))]
    raw = data.draw(st.lists(tables(dimension), min_size=1, max_size=4))
    sparse_layout = layout is sparse.csr_matrix
    clients = [layout(c.astype(np.float64) if sparse_layout else c) for c in raw]
    unit = data.draw(st.sampled_from(["point", "client"]))
    method = data.draw(st.sampled_from(["refined", "paper"]))
    server = data.draw(st.sampled_from([None, np.random.default_rng(1).standard_normal((12, dimension))]))
    epsilon = data.draw(st.sampled_from([0.1, 5.0, math.inf]))
    region = {} if server is not None else data.draw(st.sampled_from([{"box": (-3.0, 3.0)}, {"radius": 4.0}, {}]))
    before = [c.copy() for c in clients]
    model = FedDPKMeans(k, epsilon=epsilon, privacy_unit=unit, method=method, lloyd_steps=1, random_state=3, **region)
    try:
        model.fit(clients, server_data=server)
    except FedDPError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert method == "paper" and server is None, error  # noqa: PT017, PT018
        return
    assert model.cluster_centers_.shape == (k, dimension)
    assert np.isfinite(model.cluster_centers_).all()
    check_ledger(model.clustering_)
    for client, copy in zip(clients, before, strict=True):
        same = (client != copy).nnz == 0 if sparse_layout else np.array_equal(client, copy, equal_nan=client.dtype.kind == "f")
        assert same or (sparse_layout and np.isnan(copy.data).any())


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_neither_layout_nor_split_nor_number_type_changes_a_bit(data):
    """The same numbers give the same centers: however they lie in memory, and at the level of points whoever holds them."""
    with np.errstate(over="ignore"):
        points = data.draw(tables(3, rows=(7, 60))).astype(np.float32)
    server = np.random.default_rng(1).standard_normal((12, 3))

    def centers(clients):
        return FedDPKMeans(2, epsilon=2.0, random_state=3, lloyd_steps=1).fit(clients, server_data=server).cluster_centers_

    expected = centers([points])
    for name in sorted(LAYOUTS):
        if name != "sparse":
            assert np.array_equal(centers([LAYOUTS[name](points.copy())]), expected), name
    assert np.array_equal(centers([points.astype(np.float64)]), expected)
    if np.isfinite(points).all():
        assert np.array_equal(centers([sparse.csr_matrix(points.astype(np.float64))]), expected)
    assert np.array_equal(centers([points[:3], points[3:3], points[3:]]), expected)
    assert np.array_equal(centers([points[::-1]]), expected)


PUBLIC = {
    "center": np.zeros,
    "radius": lambda _: 2.0,
    "bound": lambda _: 3.0,
    "reach": lambda _: 1e4,
    "centers": lambda d: 1000.0 * np.arange(2 * d).reshape(2, d),
    "others": lambda d: 1000.0 * np.arange(2 * d)[::-1].reshape(2, d).copy(),
    "ones": lambda d: np.full((2, d), 500.0),
    "twos": lambda d: np.full((2, d), -500.0),
    "sets": lambda d: 1000.0 * np.arange(6 * d).reshape(3, 2, d),
    "origins": lambda d: np.zeros((2, d)),
    "count_weight": lambda _: 100.0,
    "square_weight": lambda _: 1e-3,
    "edges": lambda _: np.array([0.5, 1.0, 2.0]),
    "chosen": np.ones,
    "column_edges": lambda d: np.tile([0.5, 1.0, 2.0], (d, 1)),
    "kinds": lambda d: np.array([0.0] * (d - 1) + [2.0]),
    "slots": lambda d: np.array([0.0] * (d - 1) + [1.0]),
    "n_words": lambda _: 5.0,
    "most": lambda _: 2.0,
    "low": lambda d: -np.ones(d),
    "high": np.ones,
    "cells": lambda d: np.full(d, 2.0),
    "depth": lambda _: 1.0,
    "anchors": lambda d: np.arange(2.0 * d).reshape(2, d),
    "shifts": lambda d: np.ones((2, d)),
    "projection": np.eye,
    "margin": lambda _: 0.5,
}
NEEDS = {
    "grid-counts": ("low", "high", "cells"),
    "tree-counts": ("low", "high", "cells", "depth", "edges"),
    "anchor-counts": ("anchors",),
    "point-count": (),
    "point-columns": ("chosen", "column_edges"),
    "client-columns": ("chosen", "column_edges"),
    "client-sizes": (),
    "point-profile": ("center", "radius", "centers", "kinds"),
    "client-profile": ("center", "radius", "centers", "kinds", "bound"),
    "point-words": ("center", "radius", "centers", "slots", "n_words", "most"),
    "client-words": ("center", "radius", "centers", "slots", "n_words", "most"),
}


def public_of(name, dimension):
    ball = ("center", "radius")
    if name in NEEDS:
        needed = NEEDS[name]
    elif "distances" in name:
        needed = ("center", "edges")
    else:
        needed = ball
        needed += ("edges",) if "norms" in name else ()
        needed += ("centers", "origins", "count_weight") if "residual" in name else ()
        needed += ("centers",) if "cluster" in name or "presence" in name or "spreads" in name or "swaps" in name else ()
        needed += ("reach",) if "spreads" in name or "swaps" in name else ()
        needed += ("others", "ones", "twos") if "swaps" in name else ()
        needed += ("sets",) if "costs" in name else ()
        needed += ("anchors", "shifts") if name.startswith(("moved", "clear")) else ()
        needed += ("projection", "margin") if name.startswith("clear") else ()
        bounded = name in {"point-residuals", "point-second-moment", "point-costs"} or (name.startswith("client") and "norms" not in name)
        needed += ("bound",) if bounded else ()
    return {key: PUBLIC[key](dimension) for key in needed}


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_statistic_of_any_data_is_bounded_whole_numbers(name, data):
    dimension = data.draw(st.sampled_from([1, 2, 4]))
    statistic, public = REGISTRY[name], public_of(name, dimension)
    points = data.draw(tables(dimension, rows=(0, 1, 2, 40))).astype(np.float64)
    nobody = statistic(ClientBatch(np.empty((0, dimension)), np.zeros(1, dtype=np.int64)), **public)
    found = statistic(finite_batch(points, np.array([len(points)])), **public)
    assert found.dtype == np.int64
    assert found.shape == nobody.shape
    assert not nobody.any()
    units = 1 if statistic.whole_clients else len(points)
    bound = statistic.sensitivity(**public)
    assert np.linalg.norm(found.astype(np.float64)) <= units * bound.l2 * (1 + 1e-9)
    if bound.l1 is not None:
        assert np.abs(found.astype(np.float64)).sum() <= units * bound.l1 * (1 + 1e-9)


@pytest.mark.parametrize("kind", slow_after(4, sorted(KINDS)))
def test_the_command_fits_files_of_any_data(tmp_path, kind):
    (tmp_path / "clients").mkdir()
    rng = np.random.default_rng(0)
    for index, rows in enumerate((0, 1, 50)):
        np.save(tmp_path / "clients" / f"{index}.npy", KINDS[kind](rng.standard_normal((rows, 2))))
    done = feddp("fit", "clients", "--box=-4,4", "-k", 2, "--epsilon", 3, "--lloyd-steps", 0, "--out", "run", cwd=tmp_path)
    assert done.returncode in {0, USELESS}, done.stderr
    assert (tmp_path / "run" / "result.json").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "0"),
        ("-k", "-3"),
        ("-k", "9" * 400),
        ("-k", "9" * 5000),
        ("-k", "two"),
        ("-k", "\u00b2"),
        ("--epsilon", "nan"),
        ("--epsilon", "-1"),
        ("--epsilon", "1e-300"),
        ("--delta", "1"),
        ("--radius", "inf"),
        ("--radius", "1e-200"),
        ("--box", "4,-4"),
        ("--box", "a,b"),
        ("--lloyd-steps", "1e3"),
        ("--limit", "0.5"),
        ("--server", "clients"),
        ("--schema", "clients/0.npy"),
        ("--resume", "clients"),
    ],
)
def test_an_option_that_cannot_be_is_one_line_and_nothing_is_booked(tmp_path, options):
    (tmp_path / "clients").mkdir()
    np.save(tmp_path / "clients" / "0.npy", np.ones((5, 2)))
    given = {"-k": "2", "--epsilon": "1", "--box": "-4,4"} | dict([options])
    if options[0] in {"--radius", "--server"}:
        del given["--box"]
    done = feddp("fit", "clients", *(f"{key}={value}" if key != "-k" else f"-k{value}" for key, value in given.items()), cwd=tmp_path)
    assert done.returncode in {1, 2}, done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "clients" / ".feddp-budget.jsonl").exists()
