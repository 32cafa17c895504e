"""What a reader must know before believing a result: whether it says anything at all, and which parts of it noise hides.

Decided from released numbers, their stated noise and public facts only.
"""

import math
from collections.abc import Sequence

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray
from feddp_kmeans.algorithm.feddp_init import NoisyCenters

_CLEAR = 2.0
"""Standard deviations of its noise from which a size counts as one."""
_FEWEST_FALSE = 10.0
"""The largest of k sizes that are Gaussian noise only exceeds ``sqrt(2 log(10 k))`` standard deviations about once in a hundred."""
_APART = 3.0
"""Squared distances of k noisy centers from their mean exceed what noise gives by this much about once in a thousand."""
_NAMED = 8
"""Columns named in one remark."""
_AGREES = 4.0
"""Standard deviations of its noise that the sum of all sizes may be off: more happens by chance about once in 16,000 runs."""


def why_useless(found: NoisyCenters, counts: FloatArray, count_stddev: float | None) -> str | None:
    """Return why these centers say nothing about the clients' clusters; None if they do, or if there is no noise.

    They say nothing if the method itself gave up (``found.useless``), if no size is beyond its noise, and if k > 1 centers are all the
    same or no farther apart than noise puts them.
    """
    if found.useless or not count_stddev:
        return found.useless
    if (counts < math.sqrt(2 * math.log(_FEWEST_FALSE * len(counts))) * count_stddev).all():
        return "no cluster is larger than the noise in its size: there are too few points for this epsilon"
    if len(counts) > 1 and np.ptp(found.centers, axis=0).max() == 0:
        return "all centers are the same point, which is the noisy mean of all points"
    if len(counts) > 1 and not _are_apart(found.centers, stddevs(found.centers, found.center_stddev, found.axis_stddev)):
        return "no center is farther from the mean of all centers than its noise: more points or more epsilon would help"
    return None


def _are_apart(centers: FloatArray, errors: FloatArray) -> bool:
    """Return whether a center lies farther from the mean of all than noise explains; yes where the noise is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.square((centers - centers.mean(axis=0)) / errors)  # each column in units of its own noise
    d = centers.shape[1]
    return not (np.where(np.ptp(centers, axis=0) == 0, 0.0, squares).sum(axis=1) <= d + _APART * math.sqrt(2 * d)).all()


def doubts(found: NoisyCenters, counts: FloatArray, count_stddev: float | None) -> list[str]:
    """Return what a reader must know besides what the method says."""
    said = []
    if count_stddev and not found.remarks and (weak := np.flatnonzero(counts < _CLEAR * count_stddev)).size:
        named = (
            f"cluster {weak[0]} may be empty: its size is"
            if len(weak) == 1
            else f"clusters {', '.join(map(str, weak))} may be empty: their sizes are"
        )
        said.append(f"{named} within the noise")
    return said


def total_doubt(counts: FloatArray, count_stddev: float | None, expected: int, *, bounded: bool) -> str | None:
    """Return a remark if the sizes add up to something else than the number of points that was agreed; None if noise explains it.

    Sizes of ``bounded`` contributions may add up to less, never to more.
    """
    if count_stddev is None:
        return f"the agreed number of {expected} points could not be checked: the noise of the sizes is not known"
    total, noise = float(counts.sum()), math.sqrt(len(counts)) * count_stddev
    if abs(total - expected) <= _AGREES * noise + 0.5 or (bounded and total < expected):
        return None
    return (
        f"the sizes add up to {total:.0f}, give or take {2 * noise:.0f} by noise, but {expected} points were agreed: "
        "a site was missing, left rows out, or did not tell the truth"
    )


def stddevs(centers: FloatArray, center_stddev: FloatArray, axis_stddev: FloatArray | None) -> FloatArray:
    """Return the standard deviation of each coordinate of each center (k, d), NaN where it is not known."""
    if axis_stddev is not None:
        return np.asarray(axis_stddev, dtype=np.float64)
    return np.broadcast_to(np.asarray(center_stddev, dtype=np.float64)[:, None], centers.shape)


def hidden_columns(centers: FloatArray, errors: FloatArray, scale: FloatArray | None) -> tuple[BoolArray, BoolArray]:
    """Return which columns show no difference between clusters beyond their noise, and in which noise exceeds the spread of the values.

    The latter is known where columns have a scale: then noise hides the column, not only the clusters' differences in it.
    """
    noise = errors.min(axis=0)
    apart = np.abs(centers - centers.mean(axis=0))
    flat = (apart <= errors).all(axis=0) & (noise > 0)
    drowned = np.zeros_like(flat) if scale is None else noise > np.asarray(scale)
    return flat & (len(centers) > 1), drowned


def column_remarks(centers: FloatArray, errors: FloatArray, scale: FloatArray | None, names: Sequence[str]) -> list[str]:
    """Return remarks that name the columns whose values seem not to differ, and those in which noise exceeds the spread of the values."""
    _, drowned = hidden_columns(centers, errors, scale)
    constant = np.zeros(len(names), dtype=bool) if scale is None else np.isnan(scale)
    kinds = (
        (constant, "the values of {} do not differ as far as noise lets us see, so they do not count"),
        (drowned, "noise exceeds the spread of the values of {}: what the centers show there is noise"),
    )
    return [said.format(_listed(names, chosen)) for chosen, said in kinds if chosen.any()]


def _listed(names: Sequence[str], chosen: BoolArray) -> str:
    listed = [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
    return ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
