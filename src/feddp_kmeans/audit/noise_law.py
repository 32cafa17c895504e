"""Audits of the noise itself: whether what was added to a known total is fresh, on the fine grid, and has the law that is stated.

Knows releases and residuals (a released number less the exact one), and nothing of what was summed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.audit.attack import AuditFinding
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import StreamFactory

CHECKS = 6
"""Statistical checks of one release's noise."""

_TAIL = 3.0
"""Standard deviations beyond which draws are counted: noise that is cut off has too few."""

_LOW_BITS = 4
_OFF_GRID = 1e-2
"""Part of a step by which floating point may put a number beside the grid."""

_MOST_STEPS = 2.0**44
"""Numbers beyond this many steps are known to less than that part of one."""

_LADDER = ((0.05, 1.0), (0.7, 2.0**16), (3.0, 1.0), (20.0, 2.0**30), (1e3, 2.0**16), (1e5, 1.0))
"""Noise multipliers and integer sensitivities at which the samplers are tried by themselves."""

_LADDER_VALUES = 40_000
_SHARES = 5


@dataclass(frozen=True)
class Noise:
    """The noise of one release over many runs: a row a run, a column a number."""

    release: Release
    released: FloatArray
    exact: FloatArray
    more: float = 1.0
    """How many times the release's own scale the noise must have: more than 1 where it is added in shares that outnumber the needed."""

    @property
    def normal(self) -> FloatArray:
        """Return the noise, turned into what would be standard normal draws if its law is the stated one."""
        from scipy import special

        scaled = (self.released - self.exact) / (self.more * self.release.scale)
        if self.release.mechanism is Mechanism.GAUSSIAN:
            return np.asarray(scaled)
        tails = np.minimum(0.5 * np.exp(-np.abs(scaled)), 0.5)
        return np.asarray(-np.sign(scaled) * special.ndtri(np.maximum(tails, 1e-300)))


def noise_findings(noise: Noise, about: str, chance: float) -> list[AuditFinding]:
    """Return what the noise of one release shows; each check refutes right code with ``chance`` at most."""
    normal = noise.normal
    grid = [_on_grid(noise, about), _low_bits(noise, about, chance)] if np.abs(_steps(noise)).max() < _MOST_STEPS else []
    return [
        _every_number(noise, about, chance),
        *grid,
        _each_place(normal, about, chance),
        _law(normal, about, chance),
        _tails(normal, about, chance),
        _runs_differ(normal, about, chance),
    ]


def independence_finding(columns: Sequence[tuple[str, FloatArray]], about: str, chance: float) -> AuditFinding:
    """Return whether normal noise of several releases, a run a row, goes together: each column must tell nothing of any other."""
    names = [name for name, values in columns for _ in range(values.shape[1])]
    table = np.concatenate([values for _, values in columns], axis=1)
    pairs = len(names) * (len(names) - 1) // 2
    scored = _correlation_scores(table)
    np.fill_diagonal(scored, 0.0)
    place = np.unravel_index(int(np.argmax(scored)), scored.shape)
    worst = float(scored[place])
    refuted = worst > _normal_limit(chance / max(pairs, 1))
    told = f"the most alike are {names[place[0]]!r} and {names[place[1]]!r}: {worst:.1f} standard deviations from independence"
    return AuditFinding("noise is independent", about, told, refuted, chance)


def law_findings(chance: float, seed: int | None = None) -> list[AuditFinding]:
    """Return whether the samplers keep to their laws by themselves: at small, ordinary and huge scales, whole and in shares."""
    streams = StreamFactory(seed)
    findings, pooled = [], []
    for mechanism, (multiplier, steps) in product(Mechanism, _LADDER):
        release = Release(f"{mechanism} x {multiplier:g}", mechanism, 1.0, steps, multiplier, _LADDER_VALUES)
        zeros: IntArray = np.zeros(_LADDER_VALUES, dtype=np.int64)
        noise = Noise(release, release.noisy(zeros, streams.stream(release.name))[None], zeros[None].astype(np.float64))
        pooled.append(noise.normal.ravel())
        findings += [_law(noise.normal, release.name, chance), _every_number(noise, release.name, chance)]
        if mechanism is Mechanism.GAUSSIAN:
            shares = [release.with_noise(zeros, streams.stream(f"{release.name} share"), _SHARES) for _ in range(_SHARES)]
            added = replace(noise, released=release.from_steps(np.sum(shares, axis=0))[None])
            findings.append(_law(added.normal, f"{release.name} in {_SHARES} shares", chance))
    return [*findings, _tails(np.concatenate(pooled), "all samplers", chance, 4.0)]


def law_checks() -> int:
    """Return how many statistical checks ``law_findings`` makes."""
    return len(Mechanism) * len(_LADDER) * 2 + len(_LADDER) + 1


def _steps(noise: Noise) -> FloatArray:
    return np.asarray(noise.released / noise.release.fine_step)


def _every_number(noise: Noise, about: str, chance: float) -> AuditFinding:
    """Return whether numbers came out exact: noise has at least 2**27 steps a scale, so hardly any can."""
    from scipy import stats

    exact = int((noise.released == noise.exact).sum())
    likely = 0.5 * noise.release.fine_step / noise.release.scale
    refuted = exact > 0 and float(stats.binom.sf(exact - 1, noise.released.size, likely)) < chance
    return AuditFinding("every number has noise", about, f"{exact} of {noise.released.size} numbers came out exact", refuted, chance)


def _on_grid(noise: Noise, about: str) -> AuditFinding:
    steps = _steps(noise)
    beside = int((np.abs(steps - np.rint(steps)) > _OFF_GRID).sum())
    told = f"{beside} of {steps.size} numbers lie beside the grid of whole steps"
    return AuditFinding("noise is whole steps on whole sums", about, told, beside > 0)


def _low_bits(noise: Noise, about: str, chance: float) -> AuditFinding:
    """Return whether the lowest bits of the noise are uniform: else those of the exact sum would shine through."""
    from scipy import stats

    low = np.rint((noise.released - noise.exact) / noise.release.fine_step).astype(np.int64) & ((1 << _LOW_BITS) - 1)
    counts = np.bincount(low.ravel(), minlength=1 << _LOW_BITS)
    refuted = low.size >= 10 << _LOW_BITS and float(stats.chisquare(counts).pvalue) < chance
    told = f"the commonest of {1 << _LOW_BITS} endings has {100 * counts.max() / low.size:.0f} % of the draws"
    return AuditFinding("lowest bits are uniform", about, told, refuted, chance)


def _each_place(normal: FloatArray, about: str, chance: float) -> AuditFinding:
    """Return whether every number by itself has the stated noise: one that has less would be lost among the others."""
    from scipy import stats

    runs, places = normal.shape
    squares = np.square(normal).sum(axis=0)
    least = int(np.argmin(squares))
    refuted = float(stats.chi2.cdf(squares[least], runs)) < chance / places
    told = f"number {least} of {places} has the least noise: {np.sqrt(squares[least] / runs):.2f} of what is stated"
    return AuditFinding("each number has the stated noise", about, told, refuted, chance)


def _law(normal: FloatArray, about: str, chance: float) -> AuditFinding:
    """Return whether the draws have the stated law, and its variance: a law that is only too narrow shows there first."""
    from scipy import stats

    values = normal.ravel()
    square = float(np.square(values).sum())
    narrow = min(stats.chi2.cdf(square, values.size), stats.chi2.sf(square, values.size))
    shape = stats.kstest(values, "norm", method="asymp").pvalue
    told = f"{np.sqrt(square / values.size):.3f} of the stated deviation in {values.size} draws"
    return AuditFinding("noise has the stated law", about, told, bool(shape < chance / 2 or narrow < chance / 4), chance)


def _tails(normal: FloatArray, about: str, chance: float, beyond: float = _TAIL) -> AuditFinding:
    from scipy import stats

    found, likely = int((np.abs(normal) > beyond).sum()), 2 * float(stats.norm.sf(beyond))
    refuted = float(stats.binom.cdf(found, normal.size, likely)) < chance
    told = f"{found} of {normal.size} draws are beyond {beyond:g} deviations, {likely * normal.size:.0f} were expected"
    return AuditFinding("noise is not cut off", about, told, refuted, chance)


def _runs_differ(normal: FloatArray, about: str, chance: float) -> AuditFinding:
    """Return whether the noise of one run tells nothing of the next one's."""
    if len(normal) < 2:
        return AuditFinding("runs differ", about, "one run", refuted=False)
    products = (normal[:-1] * normal[1:]).sum() / np.sqrt(normal[1:].size)
    refuted = abs(float(products)) > _normal_limit(chance)
    told = f"noise of successive runs is {abs(float(products)):.1f} standard deviations from independence"
    return AuditFinding("runs differ", about, told, refuted, chance)


def _correlation_scores(table: FloatArray) -> FloatArray:
    """Return how many standard deviations each pair of columns is from independence."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nan_to_num(np.corrcoef(table, rowvar=False), nan=1.0)
        scores: FloatArray = np.abs(np.arctanh(np.clip(np.atleast_2d(found), -0.999999, 0.999999))) * np.sqrt(max(len(table) - 3, 1))
    return scores


def _normal_limit(chance: float) -> float:
    from scipy import stats

    return float(stats.norm.isf(chance / 2))
