"""A federation's own part in a run: adding up a statistic over the clients, and seeing to the noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import RandomStream
from feddp_kmeans.statistics.query import Query


@dataclass(frozen=True)
class Asked:
    """One release that a run asks for. It is booked, and its query fits it."""

    query: Query
    release: Release
    """What is made, once; it may stand for several of the plan's."""
    number: int
    """How often the run asked for this release before."""
    cohort: BoolArray | None
    """Which clients take part; None: all of them."""
    stream: RandomStream
    """The random bits of its noise, if this process adds it."""
    times: int = 1
    """How many of the plan's releases it stands for."""

    @property
    def label(self) -> str:
        """Return what identifies the release in its run."""
        return f"{self.release.name} {self.number}"

    @property
    def digest(self) -> str:
        """Return a digest of what is asked: the query, and how many releases it stands for."""
        return self.query.digest + (f" x {self.times}" if self.times > 1 else "")


@dataclass(frozen=True)
class NoisySum:
    """The answer to what was asked."""

    values: FloatArray
    noise_factor: float = 1.0
    """Real standard deviation of the noise as a multiple of the release's: above 1 if more clients added a share of it than planned."""


class Adder(ABC):
    """Answers one run. It is made when the run is opened, and its state belongs to that run."""

    @abstractmethod
    def noisy_sum(self, asked: Asked) -> NoisySum:
        """Return the noisy sum over the cohort's clients."""

    def kept(self, label: str) -> None:  # noqa: B027 - most have nothing to forget
        """Forget what was needed to make this release again: it is on record now."""


class ExactAdder(Adder):
    """Adds up exactly in this process, then adds the noise: for whoever is trusted with the sums."""

    def __init__(self, total: Callable[[Query, BoolArray | None], IntArray]) -> None:
        self._total = total

    def noisy_sum(self, asked: Asked) -> NoisySum:
        """Return the exact sum with the release's noise."""
        return NoisySum(asked.release.noisy(self._total(asked.query, asked.cohort), asked.stream))
