"""Hypothesis strategies for points, clients and public arguments."""

import numpy as np
from hypothesis import strategies as st

from feddp_kmeans.statistics.batch import ClientBatch

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.just("00" * 16),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
"""Plain data of any form."""


@st.composite
def points(draw, min_rows=0, max_rows=12, dimension=None):
    """Points of ordinary, huge and tiny magnitudes, with duplicates."""
    d = dimension or draw(st.integers(1, 6))
    n = draw(st.integers(min_rows, max_rows))
    seed = draw(st.integers(0, 2**32 - 1))
    magnitude = draw(st.sampled_from([1.0, 1e-300, 1e-3, 5.0, 1e6, 1e300]))
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) * magnitude
    if n > 2 and draw(st.booleans()):
        rows[1] = rows[0]
        rows[2] = 0.0
    return rows


KINDS = {
    "ordinary": lambda rows: rows,
    "tiny": lambda rows: rows * 1e-300,
    "huge": lambda rows: rows * 1e300,
    "far": lambda rows: rows * 50,
    "near": lambda rows: rows * 1e-3,
    "zero": np.zeros_like,
    "equal": lambda rows: np.broadcast_to(rows[:1], rows.shape),
    "on an axis": lambda rows: rows * (np.arange(rows.shape[1]) == 0),
    "on an axis, huge": lambda rows: 1e300 * rows * (np.arange(rows.shape[1]) == 0),
    "on the diagonal": lambda rows: np.broadcast_to(rows[:, :1], rows.shape),
    "on a grid": np.rint,
}
"""What the points of a client may look like."""


@st.composite
def batches(draw, dimension, max_clients=5):
    """Clients of very different sizes and kinds, empty ones and ones of many equal points among them."""
    clients = draw(
        st.lists(st.tuples(st.sampled_from([0, 1, 2, 3, 9, 40, 300]), st.sampled_from(sorted(KINDS))), min_size=1, max_size=max_clients)
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = [KINDS[kind](rng.standard_normal((size, dimension))) for size, kind in clients]
    starts = np.concatenate([[0], np.cumsum([size for size, _ in clients])])
    return ClientBatch(np.concatenate(rows), starts.astype(np.int64))


def without_client(batch, index):
    """The same clients but for one."""
    keep = batch.owners != index
    sizes = np.delete(batch.sizes, index)
    return ClientBatch(batch.points[keep], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def one_client(rows):
    """A batch of a single client."""
    return ClientBatch(np.asarray(rows, dtype=float), np.array([0, len(rows)], dtype=np.int64))
