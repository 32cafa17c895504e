"""Sparse rows inside, at the edge of and outside a ball whose center may be far from the origin; hypothesis strategies."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import Ball

AWAY = [0.0, 0.3, 1.0, 1 + 2.0**-16, 1.5, 40.0, 1e3, 1e5, 1e7, 1e9, 1e12, 1e15]
"""How far the center is from the origin, in radii."""

ROWS = {
    "zero": lambda center, radius, rng: np.zeros(len(center)),
    "within": lambda center, radius, rng: center + radius * _direction(len(center), rng) * rng.random(),
    "at the center": lambda center, radius, rng: center.copy(),
    "on the edge": lambda center, radius, rng: center + radius * _axis(len(center), rng) * rng.choice([-1, 1]),
    "about the edge": lambda center, radius, rng: center + radius * _direction(len(center), rng) * (1 + rng.choice([-1, 1]) * 2.0**-17),
    "14 radii out": lambda center, radius, rng: center + 14 * radius * _direction(len(center), rng),
    "very far out": lambda center, radius, rng: center + 1e6 * radius * _direction(len(center), rng),
    "one-hot": lambda center, radius, rng: _axis(len(center), rng),
    "one-hot like the center": lambda center, radius, rng: center * _axis(len(center), rng),
    "all but one coordinate": lambda center, radius, rng: (
        (center + radius * _direction(len(center), rng) / 2) * (1 - _axis(len(center), rng))
    ),
    "huge": lambda center, radius, rng: 1e300 * _axis(len(center), rng),
}
"""What one row may look like."""


def _axis(dimension, rng):
    return (np.arange(dimension) == rng.integers(dimension)).astype(float)


def _direction(dimension, rng):
    made = rng.standard_normal(dimension)
    return made / np.linalg.norm(made)


def shifted(dimension, radius, away, where):
    """A center this many radii from the origin in the chosen coordinates."""
    chosen = {"none": [], "one": [dimension - 1], "some": list(range(0, dimension, 2)), "all": list(range(dimension))}[where]
    center = np.zeros(dimension)
    center[chosen] = away * radius * np.where(np.arange(len(chosen)) % 2, -1.0, 1.0)
    return center


@st.composite
def balls(draw, dimension=None, radius=None):
    """Balls around the origin, and up to 1e15 radii away from it in one, some or all coordinates."""
    d = dimension or draw(st.integers(1, 6))
    length = radius or draw(st.sampled_from([1e-3, 1.0, 2.0, 11.0]))
    return Ball(shifted(d, length, draw(st.sampled_from(AWAY)), draw(st.sampled_from(["none", "one", "some", "all"]))), length)


@st.composite
def rows_about(draw, ball, max_rows=12):
    """Some rows of every kind as an array, and as a CSR matrix that may hold explicit zeros, duplicates and indices out of order."""
    kinds = draw(st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = np.array([ROWS[kind](ball.center, ball.radius, rng) for kind in kinds])
    return as_stored(dense, draw(st.sampled_from(["canonical", "explicit zeros", "unsorted", "duplicates"])), rng)


def as_stored(dense, form, rng):
    """The same rows as an array and as a CSR matrix of this form; numbers that are stored in parts are what toarray makes of them."""
    if form == "canonical":
        return dense, sparse.csr_matrix(dense)
    n, d = dense.shape
    if form == "explicit zeros":
        return dense, sparse.csr_matrix((dense.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=dense.shape)
    parts = 3 if form == "duplicates" else 1
    places = [rng.permutation(np.repeat(np.flatnonzero(row), parts)) for row in dense]
    shares = [0.1, 1 / 3, 0.7] if form == "duplicates" else [1.0]
    numbers = [row[place] * rng.choice(shares, len(place)) for row, place in zip(dense, places, strict=True)]
    ends = np.concatenate([[0], np.cumsum([len(place) for place in places])])
    stored = sparse.csr_matrix((np.concatenate(numbers), np.concatenate(places).astype(np.int32), ends), shape=dense.shape)
    return stored.toarray(), stored


def clients_of(points, rng, clients):
    """The rows shared out over this many clients, some of them empty."""
    return ClientBatch(points, np.concatenate([[0], np.sort(rng.integers(0, points.shape[0] + 1, clients - 1)), [points.shape[0]]]))
