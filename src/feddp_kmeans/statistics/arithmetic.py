"""Exact arithmetic on encoded points: whole numbers below 2**53, carried in float64, the same bits in any order.

Encoded points are an array, ``SparsePoints`` where the points are a sparse matrix, or ``BallPoints`` where compiled kernels encode them.
All give the same bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from feddp_kmeans._typing import Array, FloatArray, IntArray
from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.ball_points import BallPoints, NearestTargets
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import compiled
from feddp_kmeans.statistics.fixed_point import EXACT_ROWS, Ball, row_norms
from feddp_kmeans.statistics.nearest import nearest, score_error

if TYPE_CHECKING:
    from feddp_kmeans.statistics.sparse_points import SparsePoints

PROJECTION_STEPS = 2.0**20
"""Integer steps of 1 in a projection."""

_AT_ONCE = 1 << 22
"""Most numbers of a table of points by centers in memory at once: the number of points must not decide whether memory is enough."""

LARGEST_TOGETHER = 1 << 12
"""Clients of more points than this are multiplied one by one."""

_HALF = 2.0**26
"""What the higher half of a squared length counts."""

Encoded: TypeAlias = "FloatArray | SparsePoints | BallPoints"
"""Points as integer vectors."""


def encoded_points(batch: ClientBatch, center: FloatArray, radius: float) -> Encoded:
    """Return the batch's points in the integer coordinates of a ball; those of a sparse matrix without making it dense."""

    def encode() -> Encoded:
        ball = Ball(center, float(radius))
        if not batch.is_sparse:
            return BallPoints(batch.points, ball) if compiled() else ball.encode(batch.points)
        from feddp_kmeans.statistics.sparse_points import encode_sparse

        return encode_sparse(ball, batch.points.tocsr())

    encoded: Encoded = batch.remembered("encoded", (float(radius), center.tobytes()), encode)
    return encoded


def projected_points(batch: ClientBatch, center: FloatArray, radius: float, projection: FloatArray | None) -> Any:
    """Return the batch's points in integer coordinates of a ball and a subspace; of the ball only without a projection."""
    encoded = encoded_points(batch, center, radius)
    if projection is None:
        return encoded
    key = (float(radius), center.tobytes(), projection.tobytes())
    return batch.remembered("projected", key, lambda: project(encoded, projection))


def dense(encoded: Encoded) -> FloatArray:
    """Return encoded points as one array."""
    return encoded if isinstance(encoded, np.ndarray) else encoded.dense()


def project(encoded: Any, projection: FloatArray | None) -> Any:
    """Return integer coordinates in the subspace, rounded; the points themselves without a projection.

    Exact: ``|z| <= 2**16`` and columns of norm 2**20 give products below 2**37.
    """
    if projection is None:
        return encoded
    # In column-major order the product is twice as fast.
    projected: FloatArray = encoded @ np.asfortranarray(np.rint(projection * PROJECTION_STEPS))
    projected /= PROJECTION_STEPS
    return np.rint(projected, out=projected)


def assign(encoded: Encoded, centers: FloatArray, projection: FloatArray | None = None) -> IntArray:
    """Return for each point the index of its nearest center: ``argmin_r |z - c_r|**2``, in exact arithmetic."""
    targets = np.rint(centers)
    points = project(encoded, projection)
    if isinstance(points, np.ndarray):
        return nearest(points, targets)
    step = max(1, _AT_ONCE // len(targets))
    offsets = np.square(targets).sum(axis=1)
    parts = [(points[start : start + step] @ (2 * targets.T) - offsets).argmax(axis=1) for start in range(0, len(points), step)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def encoded_and_labels(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, projection: FloatArray | None = None
) -> tuple[Encoded, IntArray]:
    """Return the batch's points in the integer coordinates of a ball, and the nearest center of each."""
    encoded = encoded_points(batch, center, radius)
    if isinstance(encoded, BallPoints) and projection is None:
        return encoded, labelled(batch, encoded, centers).labels
    projected = projected_points(batch, center, radius, projection)
    key = (float(radius), *(None if array is None else array.tobytes() for array in (center, projection, centers)))
    labels: IntArray = batch.remembered("labels", key, lambda: assign(projected, centers))
    return encoded, labels


def points_around(
    batch: ClientBatch,
    origins: FloatArray,
    *,
    center: FloatArray,
    radius: float,
    centers: FloatArray,
    projection: FloatArray | None = None,
    residual_projection: FloatArray | None = None,
) -> BallPoints | None:
    """Return the batch's points if kernels encode them, in full space, and each one's residual is that from its nearest center."""
    points = encoded_points(batch, center, radius)
    if not isinstance(points, BallPoints) or projection is not None or residual_projection is not None:
        return None
    return points if np.array_equal(np.rint(origins), np.rint(centers)) else None


def labelled(batch: ClientBatch, points: BallPoints, centers: FloatArray) -> NearestTargets:
    """Return the nearest center of each of the batch's points, and its squared distance from it."""
    targets = np.rint(centers)
    key = (points.ball.radius, points.ball.center.tobytes(), targets.tobytes())
    found: NearestTargets = batch.remembered("labelled", key, lambda: points.labelled(targets, score_error(targets.shape[1])))
    return found


def nearest_sums(
    batch: ClientBatch, *, center: FloatArray, radius: float, centers: FloatArray, projection: FloatArray | None = None
) -> FloatArray:
    """Return the sum of the encoded points nearest to each center; in one sweep where a kernel can."""
    points = encoded_points(batch, center, radius)
    if isinstance(points, BallPoints) and projection is None:
        return points.nearest_sums(np.rint(centers), score_error(len(center)))
    encoded, labels = encoded_and_labels(batch, center=center, radius=radius, centers=centers, projection=projection)
    return sums_by(encoded, labels, len(centers))


def scaled_points(encoded: Encoded, scales: FloatArray) -> Any:
    """Return the points, each times its scale and rounded."""
    if not isinstance(encoded, np.ndarray):
        return encoded.scaled(scales)
    scaled: FloatArray = encoded * scales[:, None]
    return np.rint(scaled, out=scaled)


def squared_norms(encoded: Encoded) -> FloatArray:
    """Return the squared norm of each point."""
    squares: FloatArray = np.einsum("ij,ij->i", encoded, encoded) if isinstance(encoded, np.ndarray) else encoded.squared_norms()
    return squares


def products_with(encoded: Encoded, vectors: FloatArray, labels: IntArray) -> FloatArray:
    """Return the product of each point with the vector of its label."""
    if not isinstance(encoded, np.ndarray):
        return encoded.products_with(vectors, labels)
    if compiled():
        return kernels.products_with(encoded, vectors, labels)
    products: FloatArray = np.einsum("ij,ij->i", encoded, vectors[labels])
    return products


def weighted_sums(encoded: Encoded, weights: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the weighted sum of the points with each label."""
    if not isinstance(encoded, np.ndarray):
        return encoded.weighted_sums(weights, labels, k)
    if compiled():
        return kernels.weighted_sums(encoded, weights, labels, k)
    sums = np.zeros((k, encoded.shape[1]))
    step = max(1, _AT_ONCE // k)
    for start in range(0, len(labels), step):
        some = slice(start, start + step)
        chosen = np.zeros((len(labels[some]), k))
        chosen[np.arange(len(chosen)), labels[some]] = weights[some]
        sums += chosen.T @ encoded[some]
    return sums


def sums_by(encoded: Encoded, labels: IntArray, k: int) -> FloatArray:
    """Return the sum of the points with each label."""
    return weighted_sums(encoded, np.ones(len(labels)), labels, k)


def added(length: int, places: IntArray, numbers: IntArray) -> IntArray:
    """Return the exact sum of the whole numbers at each of so many places."""
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, places, numbers)
    return sums


def in_blocks(rows: int, compute: Callable[[slice], Array], at_once: int = EXACT_ROWS) -> IntArray:
    """Return the int64 sum of ``compute`` over blocks of rows, each of which is exact in float64."""
    total = compute(slice(0, at_once)).astype(np.int64)
    for start in range(at_once, rows, at_once):
        total += compute(slice(start, start + at_once)).astype(np.int64)
    return total


def gram(encoded: Encoded) -> IntArray:
    """Return ``Z^T Z`` exactly, for any number of points of norm at most 2 R."""
    return in_blocks(len(encoded), lambda some: _product(encoded[some]))


def _product(encoded: Encoded) -> FloatArray:
    product: FloatArray = encoded.T @ encoded if isinstance(encoded, np.ndarray) else encoded.gram()
    return product


def sums_of_runs(rows: Array, batch: ClientBatch) -> Array:
    """Return the sum of each client's rows."""
    if batch.is_single_points:
        return rows
    sums = np.zeros((batch.n_clients, rows.shape[1]), dtype=rows.dtype)
    held = batch.sizes > 0
    if held.any():
        sums[held] = np.add.reduceat(rows, batch.starts[:-1][held], axis=0)
    return sums


@dataclass(frozen=True)
class Pairs:
    """The pairs of a unit and a cluster that occur, each with its number of points; and which pair each point belongs to."""

    units: IntArray
    clusters: IntArray
    counts: IntArray
    places: IntArray

    def sums(self, encoded: Encoded) -> FloatArray:
        """Return the sum of each pair's points, added in their order."""
        if compiled() or not isinstance(encoded, np.ndarray):
            return sums_by(encoded, self.places, len(self.counts))
        from scipy import sparse

        # A product with a sparse matrix of ones takes a third of the time of numpy's sums over runs of sorted rows.
        ones, points = np.ones(len(self.places)), np.arange(len(self.places))
        total: FloatArray = sparse.csr_matrix((ones, (self.places, points)), shape=(len(self.counts), len(points))) @ encoded
        return total

    def squares(self, of_points: FloatArray) -> FloatArray:
        """Return the sum of the squared lengths of each pair's points, whole numbers: in two halves, exact for any number of points."""
        high = np.floor(of_points / _HALF)
        above, below = (np.bincount(self.places, part, minlength=len(self.counts)) for part in (high, of_points - _HALF * high))
        total: FloatArray = np.asarray(_HALF * above + below)
        return total


def pairs_of(batch: ClientBatch, labels: IntArray, k: int) -> Pairs:
    """Return the pairs of a unit and a cluster that occur in the batch, in ascending order."""
    cells = batch.owners * k + labels
    counts = np.bincount(cells, minlength=batch.n_clients * k)
    present = np.flatnonzero(counts)
    places = np.cumsum(counts > 0)[cells] - 1
    return Pairs(present // k, present % k, counts[present], places)


def outer_product_norms(encoded: FloatArray, batch: ClientBatch) -> FloatArray:
    """Return ``|Z_j^T Z_j|_F`` of every client, to within 2**-25 of itself.

    Clients of one size are multiplied together. The squares below are not exact, and the order in which they are added depends only on
    a client's own size, not on other clients. At most 2**29 of them are added (MOST_VALUES), so their sum is within 2**-24.
    """
    if batch.is_single_points:
        return squared_norms(encoded)
    sizes, dimension = batch.sizes, encoded.shape[1]
    norms = np.zeros(batch.n_clients)
    for size in np.unique(sizes[sizes > 0]):
        members = np.flatnonzero(sizes == size)
        if size > LARGEST_TOGETHER:
            for index in members:
                norms[index] = _product_norm(encoded[batch.starts[index] : batch.starts[index + 1]])
            continue
        together = encoded if len(members) == batch.n_clients else encoded[(batch.starts[members, None] + np.arange(size)).ravel()]
        points = together.reshape(len(members), size, dimension)
        # |Z^T Z|_F = |Z Z^T|_F: form whichever is smaller.
        transposed: Array = points.transpose(0, 2, 1)
        products = (points @ transposed if size < dimension else transposed @ points).reshape(len(members), -1)
        norms[members] = row_norms(products)  # not einsum: beyond 8192 numbers its order depends on how many clients there are
    return norms


def _product_norm(encoded: FloatArray) -> float:
    """Return ``|Z^T Z|_F``, added up in float64: near enough for a norm, and with no largest number of points."""
    total = sum(_product(encoded[start : start + EXACT_ROWS]) for start in range(0, len(encoded), EXACT_ROWS))
    return float(np.sqrt(np.square(total).sum()))
