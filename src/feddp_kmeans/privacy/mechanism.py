"""One noisy release: its noise and its privacy cost come from the same two numbers of one frozen object."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from feddp_kmeans._json import field_of
from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.errors import BudgetError, InputError
from feddp_kmeans.privacy.noise import SAMPLER_LOG_ERROR, RandomStream, discrete_gaussian, rounded_laplace

_FINEST_SCALE = 2.0**27
"""Noise scale, in integer steps, from which a discrete Gaussian is a rounded one to within 2**-51 per draw."""

_MOST_TIMES, _MOST_VALUES, _MOST_MULTIPLIER = 1_000_000, 1 << 53, 1e15
"""The largest numbers accepted in a release that is read; no accountant could add up larger ones."""

_FINEST_SHARE = 2.0**10
"""Least noise scale of one share, in integer steps; 4 would be enough for the sum of shares to be as good as one draw."""


class Mechanism(StrEnum):
    """The law of the noise."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"

    @property
    def norm(self) -> str:
        """Return the name of the sensitivity that this noise is scaled by: in L1 norm for Laplace, in L2 norm for Gaussian."""
        return "l1_sensitivity" if self is Mechanism.LAPLACE else "l2_sensitivity"


@dataclass(frozen=True)
class Sensitivity:
    """How far one privacy unit can move a sum, in its integer steps; ``l1`` is None where no bound in that norm is stated."""

    l1: float | None
    l2: float

    def under(self, mechanism: Mechanism) -> float | None:
        """Return the bound in the norm that this noise is scaled by: L1 for Laplace, L2 for Gaussian."""
        return self.l1 if mechanism is Mechanism.LAPLACE else self.l2


@dataclass(frozen=True)
class Release:
    """A sum over clients that is published with noise, ``times`` times. All fields are public.

    ``sensitivity`` bounds what one privacy unit adds to the sum, in the data's own units: in L2 norm for Gaussian noise, in L1 norm for
    Laplace noise. The sum arrives in integers; ``integer_sensitivity`` is the same bound in those integer steps. ``values`` is the largest
    number of values in the sum, and ``sums`` the largest number of sums that the releases are made in, if several may be made as one (0:
    each is made by itself): the sampler's error is counted for this many.
    """

    name: str
    mechanism: Mechanism
    sensitivity: float
    integer_sensitivity: float
    noise_multiplier: float
    values: int
    times: int = 1
    sums: int = 0

    def __post_init__(self) -> None:
        for field in ("sensitivity", "integer_sensitivity"):
            value = getattr(self, field)
            if not 0 < value < math.inf:
                raise InputError(f"{field} of release {self.name!r} must be positive and finite, got {value}.")
        if not 0 <= self.noise_multiplier < math.inf:
            raise InputError(f"noise_multiplier of {self.name!r} must be at least 0, got {self.noise_multiplier}.")

    @property
    def scale(self) -> float:
        """Return the noise's standard deviation (Gaussian) or its Laplace scale b, in the data's own units."""
        return self.sensitivity * self.noise_multiplier

    @property
    def stddev(self) -> float:
        """Return the noise's standard deviation, in the data's own units."""
        return self.scale if self.mechanism is Mechanism.GAUSSIAN else math.sqrt(2.0) * self.scale

    @property
    def grid(self) -> float:
        """Return what one integer step of the sum stands for."""
        return self.sensitivity / self.integer_sensitivity

    @property
    def fine_step(self) -> float:
        """Return what one step of the noise stands for: the grid's step, refined as ``with_noise`` says."""
        return self.grid * 2.0**-self._shift

    @property
    def sampler_epsilon(self) -> float:
        """Return what the sampler's distance from its ideal law can add to epsilon; see ``privacy.noise``."""
        return 2.0 * SAMPLER_LOG_ERROR * self.values * self.most_sums

    @property
    def most_sums(self) -> int:
        """Return how many sums the releases are made in, at most."""
        return min(self.sums or self.times, self.times)

    def as_one(self, times: int = 1) -> "Release":
        """Return the single release that stands for this many of these: it has the noise of their mean, and costs as much as they do.

        A Gaussian release of multiplier z is (1/z)-Gaussian DP. Together, this many are (sqrt(times)/z)-Gaussian DP, and so is one of
        multiplier ``z / sqrt(times)`` (docs/proofs.md). Holds for Gaussian noise without sampling: see ``Plan.adds_up``.
        """
        return replace(self, noise_multiplier=self.noise_multiplier / math.sqrt(times), times=1, sums=0)

    def check_size(self, size: int) -> None:
        """Refuse a sum of more numbers than the release holds."""
        if size > self.values:
            raise BudgetError(f"release {self.name!r} must hold at most {self.values} values, got {size}.")

    def noisy(self, total: IntArray, stream: RandomStream) -> FloatArray:
        """Return the integer sum with integer noise, in the data's own units."""
        return self.from_steps(self.with_noise(total, stream))

    def with_noise(self, part: IntArray, stream: RandomStream, shares: int = 1) -> IntArray:
        """Return an integer sum, or one holder's part of it, in fine steps and with one share of the noise.

        Sum and noise are first refined by a power of two, so that one noise scale is at least 2**27 steps and the grid cannot be seen.
        ``shares`` independent shares of variance ``scale**2 / shares`` add up to the noise: the sum of discrete Gaussians of scale s is a
        discrete Gaussian to within ``exp(-pi**2 s**2)`` (s in steps; Kairouz, Liu and Steinke 2021), which is nothing where s is above
        2**10. Laplace noise has no such shares.
        """
        self.check_size(part.size)
        if self.noise_multiplier == 0:
            return part
        fine = self.noise_multiplier * self.integer_sensitivity * 2.0**self._shift
        if self.mechanism is Mechanism.GAUSSIAN:
            scale = fine / math.sqrt(shares)
            if scale < _FINEST_SHARE:
                raise InputError(f"noise of release {self.name!r} must be added in fewer than {shares} shares: each would be too coarse.")
            noise = discrete_gaussian(stream, scale, part.size)
        elif shares == 1:
            noise = rounded_laplace(stream, math.ceil(fine), part.size)
        else:
            raise InputError(f"noise of release {self.name!r} must be Gaussian to be added in {shares} shares, got Laplace.")
        refined: IntArray = (part << np.int64(self._shift)) + noise.reshape(part.shape)
        return refined

    def from_steps(self, total: IntArray) -> FloatArray:
        """Return a noisy total of fine steps in the data's own units."""
        return np.asarray(total * self.fine_step, dtype=np.float64)

    @property
    def _shift(self) -> int:
        """Return how many bits finer than the integer steps the noise is drawn."""
        if self.noise_multiplier == 0:
            return 0
        return max(0, math.ceil(math.log2(_FINEST_SCALE / (self.noise_multiplier * self.integer_sensitivity))))

    @property
    def largest_total(self) -> float:
        """Return what a sum must stay below, in integer steps, to have room for noise in 64 bits."""
        return 2.0 ** (62 - self._shift)

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger row: the contract's fields, as plain data."""
        return {
            "release": self.name,
            "mechanism": self.mechanism.value,
            self.mechanism.norm: self.sensitivity,
            "scale": self.scale,
            "noise_multiplier": self.noise_multiplier,
            "values": self.values,
            "times": self.times,
        } | ({"sums": self.sums} if self.sums else {})

    @classmethod
    def from_dict(cls, row: Any) -> "Release":
        """Return the release that a ledger row states, on an odometer, in a result or from the network; refuse anything else.

        Rows that a client must answer also state their ``integer_sensitivity``. Without it a release can be added up, but not made.
        """
        name = field_of(row, "release", str, "a release")
        what = f"release {name!r:.80}"
        mechanism = field_of(row, "mechanism", Mechanism, what)
        sensitivity, multiplier = (field_of(row, key, float, what) for key in (mechanism.norm, "noise_multiplier"))
        steps = field_of(row, "integer_sensitivity", float, what) if "integer_sensitivity" in row else 1.0
        values, times = (field_of(row, key, int, what) for key in ("values", "times"))
        sums = field_of(row, "sums", int, what) if "sums" in row else 0
        within = 1 <= values <= _MOST_VALUES and 1 <= times <= _MOST_TIMES and 0 <= sums <= _MOST_TIMES
        if not (within and multiplier <= _MOST_MULTIPLIER):
            raise InputError(
                f"values, times, sums and noise_multiplier of {what} must be within bounds, "
                f"got {values}, {times}, {sums} and {multiplier:g}."
            )
        return cls(name, mechanism, sensitivity, steps, multiplier, values, times, sums)
