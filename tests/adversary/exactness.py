"""Whether what one unit adds is bounded, and is the same whoever else is there: in Python's integers."""

import numpy as np
from scipy import sparse

from feddp_kmeans.statistics.batch import ClientBatch

SPARSE_REACH = np.inf
"""Radii from the origin to the ball's center within which sparse rows are tried."""

_TO_SPARE = 1 + 1e-12
"""The tolerance of ``check_query``: noise is made for so much."""


def batch_of(clients, table=np.asarray):
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in clients])]).astype(np.int64)
    return ClientBatch(table(np.concatenate(clients)), starts)


def units_of(query, where):
    """The clients, or points as clients of one point each."""
    if query.statistic.whole_clients:
        return where.clients
    return [row[None] for row in where.points]


def assert_bounded(query, moved):
    integers = [abs(int(x)) for x in moved[moved != 0]]
    stated = query.sensitivity
    assert float(sum(x * x for x in integers)) <= stated.l2**2 * _TO_SPARE**2, (query, stated, integers[:9])
    if stated.l1 is not None:
        assert float(sum(integers)) <= stated.l1 * _TO_SPARE, (query, stated, integers[:9])


def assert_one_unit_moves_what_is_stated(query, where, rng):
    """The sum with all units, without one, of that one alone, and of all in another order."""
    units = units_of(query, where)
    empty = np.empty((0, query.dimension))
    if not units:
        assert not query(batch_of([empty])).any()
        return
    gone = int(rng.integers(len(units)))
    others = [rows for index, rows in enumerate(units) if index != gone]
    everyone, without = (query(_joined(query, some)) for some in (units, others or [empty]))
    alone = query(_joined(query, units[gone : gone + 1]))
    assert everyone.dtype == without.dtype == alone.dtype == np.int64
    assert everyone.shape == without.shape == alone.shape == (query.size,)
    assert np.array_equal(everyone, without + alone), query
    assert_bounded(query, alone)
    shuffled = [units[index] for index in rng.permutation(len(units))]
    assert np.array_equal(everyone, query(_joined(query, [empty, *shuffled, empty]))), query
    if _is_near(query.public):
        assert np.array_equal(everyone, query(_joined(query, units, sparse.csr_matrix))), query


def _joined(query, units, table=np.asarray):
    if query.statistic.whole_clients:
        return batch_of(units, table)
    return batch_of([np.concatenate(units)], table)


def _is_near(public):
    """Whether sparse rows are tried too."""
    return "radius" not in public or bool(np.abs(public["center"]).max() <= SPARSE_REACH * public["radius"])
