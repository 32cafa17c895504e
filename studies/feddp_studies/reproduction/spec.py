"""What an experiment is: data sets, methods with their settings, budgets. Plain data; who runs it and how is elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Shares = tuple[float, float, float, float]


@dataclass(frozen=True)
class Config:
    """A method with the settings that its Pareto front ranges over."""

    method: str
    lloyd_steps: int | None = None
    """None: as many as the method chooses."""
    shares: Shares | None = None
    """Proportions of the budget, only for method "paper". None: the method's own."""


@dataclass(frozen=True)
class Trial:
    """One run: everything that its row of results depends on, except the version of the code."""

    problem: str
    seed: int
    config: Config
    epsilon: float
    n_clusters: int = 10

    @property
    def key(self) -> tuple[Any, ...]:
        """Return what names the run in the table of results."""
        c = self.config
        steps = -1 if c.lloyd_steps is None else c.lloyd_steps
        return (self.problem, self.seed, c.method, steps, list(c.shares or ()), self.epsilon, self.n_clusters)


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper."""

    name: str
    title: str
    paper: str
    """Where it is in the paper."""
    problems: Sequence[str]
    configs: Sequence[Config]
    epsilons: Sequence[float]
    seeds: int
    kind: str = "pareto"
    """What the rows are: "pareto" (cost against epsilon), "missing" (the same, one curve per data set), "elbow" (cost against k) or
    "assumptions" (one line per data set)."""
    quick_configs: Sequence[Config] = ()
    quick_epsilons: Sequence[float] = ()
    cluster_numbers: Sequence[int] = field(default=(10,))

    def trials(self, seeds: int | None = None, *, quick: bool = False) -> list[Trial]:
        """Return the runs, those of one data set and seed next to each other; methods without noise run only at infinite epsilon."""
        configs = self.quick_configs or self.configs if quick else self.configs
        epsilons = self.quick_epsilons or self.epsilons if quick else self.epsilons
        count = seeds or (min(2, self.seeds) if quick else self.seeds)
        return [
            Trial(problem, seed, config, epsilon, k)
            for problem in self.problems
            for seed in range(count)
            for config in configs
            for epsilon in ([float("inf")] if config.method in NO_NOISE else epsilons)
            for k in self.cluster_numbers
        ]


NO_NOISE = ("k-fed", "optimal", "assumptions")
"""Methods whose result does not depend on epsilon."""
