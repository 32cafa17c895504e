"""Checks of the noise itself: it is fresh, lies on the fine grid, and has the stated law.

Knows releases and residuals (a released number less the exact one), and nothing of what was summed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.audit.finding import AuditFinding, by_chance
from feddp_kmeans.privacy.mechanism import Mechanism, Release

_TAIL = 3.0
"""Draws beyond this many standard deviations are counted: truncated noise has too few."""

_ENDINGS = 16
_OFF_GRID = 1e-2
"""Part of a step by which floating point may put a number off the grid."""

_MOST_STEPS = 2.0**44
"""Numbers beyond this many steps are known to less than that part of one."""

_ENOUGH = 1000
"""Draws from which sums of products are close enough to normal."""


@dataclass(frozen=True)
class Noise:
    """The noise of one release over many runs: one row per run, one column per number."""

    release: Release
    released: FloatArray
    exact: FloatArray
    more: float = 1.0
    """Scale of the noise as a multiple of the release's own: above 1 if more shares are added than needed."""

    @property
    def normal(self) -> FloatArray:
        """Return the noise transformed to standard normal draws, if it has the stated law."""
        from scipy import special

        scaled = (self.released - self.exact) / (self.more * self.release.scale)
        if self.release.mechanism is Mechanism.GAUSSIAN:
            return np.asarray(scaled)
        tails = np.minimum(0.5 * np.exp(-np.abs(scaled)), 0.5)
        return np.asarray(-np.sign(scaled) * special.ndtri(np.maximum(tails, 1e-300)))


def noise_findings(noise: Noise, about: str) -> list[AuditFinding]:
    """Return the findings on the noise of one release."""
    normal = noise.normal
    return [*_fine_grid(noise, about), _each_place(normal, about), *_law(normal, about), *no_repeats(normal.ravel(), about)]


def _law(normal: FloatArray, about: str) -> list[AuditFinding]:
    """Return whether the draws have the stated law and variance (a law that is only too narrow shows there first), and all its tails."""
    from scipy import stats

    values = normal.ravel()
    square = float(np.square(values).sum())
    narrow = min(stats.chi2.cdf(square, values.size), stats.chi2.sf(square, values.size))
    shape = stats.kstest(values, "norm", method="asymp").pvalue
    told = f"{np.sqrt(square / values.size):.3f} of the stated deviation in {values.size} draws"
    return [by_chance("noise has the stated law", about, told, min(2 * shape, 4 * narrow)), tails(normal, about, _TAIL)]


def no_repeats(normal: FloatArray, about: str) -> list[AuditFinding]:
    """Return whether draws repeat or predict later ones, in value or in size, at any distance."""
    from scipy import special

    if normal.size < _ENOUGH:
        return []
    sizes = special.ndtri(np.clip(2 * special.ndtr(np.abs(normal)) - 1, 1e-16, 1 - 1e-16))
    worst, place = 0.0, 0
    for series in (normal, sizes):
        spectrum = np.abs(np.fft.rfft(series, 2 * series.size)) ** 2
        products = np.abs(np.fft.irfft(spectrum)[1 : series.size - _ENOUGH // 2]) / np.sqrt(np.arange(series.size - 1, _ENOUGH // 2, -1))
        worst, place = max((worst, place), (float(products.max()), int(products.argmax()) + 1))
    told = f"draws {place} apart are {worst:.1f} standard deviations from independence"
    return [by_chance("noise does not repeat", about, told, 2 * normal.size * _two_sided(worst))]


def independence_finding(columns: Sequence[tuple[str, FloatArray]], about: str) -> AuditFinding:
    """Return whether normal noise of several releases, one row per run, is correlated."""
    names = [name for name, values in columns for _ in range(values.shape[1])]
    table = np.concatenate([values for _, values in columns], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nan_to_num(np.atleast_2d(np.corrcoef(table, rowvar=False)), nan=1.0)
    scores = np.abs(np.arctanh(np.clip(found, -0.999999, 0.999999))) * math.sqrt(max(len(table) - 3, 1))
    np.fill_diagonal(scores, 0.0)
    first, second = np.unravel_index(int(np.argmax(scores)), scores.shape)
    worst = float(scores[first, second])
    told = f"the most alike are {names[first]!r} and {names[second]!r}: {worst:.1f} standard deviations from independence"
    return by_chance("noise is independent", about, told, _two_sided(worst) * len(names) ** 2 / 2)


def _fine_grid(noise: Noise, about: str) -> list[AuditFinding]:
    """Return whether every number has noise, in whole fine steps whose lowest bits are uniform: else those of the sum would be seen."""
    from scipy import stats

    exact, step = int((noise.released == noise.exact).sum()), noise.release.fine_step
    likely = float(stats.binom.sf(exact - 1, noise.released.size, 0.5 * step / noise.release.scale)) if exact else 1.0
    told = f"{exact} of {noise.released.size} numbers came out exact"
    found = [by_chance("every number has noise", about, told, likely)]
    steps = noise.released / step
    if np.abs(steps).max() < _MOST_STEPS:
        off = int((np.abs(steps - np.rint(steps)) > _OFF_GRID).sum())
        found.append(AuditFinding("noise is whole steps on whole sums", about, f"{off} of {steps.size} numbers are off the grid", off > 0))
        low = np.rint((noise.released - noise.exact) / step).astype(np.int64) % _ENDINGS
        counts = np.bincount(low.ravel(), minlength=_ENDINGS)
        pvalue = float(stats.chisquare(counts).pvalue) if low.size >= 10 * _ENDINGS else 1.0
        told = f"the commonest of {_ENDINGS} endings has {100 * counts.max() / low.size:.0f} % of the draws"
        found.append(by_chance("lowest bits are uniform", about, told, pvalue))
    return found


def _each_place(normal: FloatArray, about: str) -> AuditFinding:
    """Return whether every single number has the stated noise: one with less would be hidden among the others."""
    from scipy import stats

    runs, places = normal.shape
    squares = np.square(normal).sum(axis=0)
    least = int(np.argmin(squares))
    told = f"number {least} of {places} has the least noise: {np.sqrt(squares[least] / runs):.2f} of what is stated"
    return by_chance("each number has the stated noise", about, told, places * float(stats.chi2.cdf(squares[least], runs)))


def tails(normal: FloatArray, about: str, beyond: float) -> AuditFinding:
    """Return whether the right number of draws is beyond this many standard deviations."""
    from scipy import stats

    found, likely = int((np.abs(normal) > beyond).sum()), 2 * float(stats.norm.sf(beyond))
    told = f"{found} of {normal.size} draws are beyond {beyond:g} deviations, {likely * normal.size:.0f} were expected"
    return by_chance("noise is not cut off", about, told, float(stats.binom.cdf(found, normal.size, likely)))


def _two_sided(deviations: float) -> float:
    from scipy import stats

    return 2 * float(stats.norm.sf(deviations))
