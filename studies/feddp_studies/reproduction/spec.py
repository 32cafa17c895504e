"""What an experiment is: data sets, methods with their settings, budgets. Plain data; who runs it and how is elsewhere."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from feddp_studies.reproduction.methods import METHODS, Config

COST, ELBOW, ASSUMPTIONS = "cost", "elbow", "assumptions"
"""What a run measures: the cost of its centers, the costs of k = 1, 2, ... after steps 1 and 2, or the theorem's assumptions."""


@dataclass(frozen=True)
class Trial:
    """One run: everything that its row of results depends on, except the code."""

    data_set: str
    seed: int
    config: Config
    epsilon: float
    n_clusters: int = 0
    """Number of clusters of one point of an elbow; 0 where the data set has its own."""
    measures: str = COST

    @property
    def key(self) -> str:
        """Return what names the run in the table of results."""
        c = self.config
        settings = (c.method, -1 if c.lloyd_steps is None else c.lloyd_steps, list(c.shares or ()), c.bounds, c.sampling_rate)
        return repr((self.measures, self.data_set, self.seed, *settings, self.epsilon, self.n_clusters))


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper."""

    name: str
    title: str
    paper: str
    """Where it is in the paper."""
    data_sets: Sequence[str]
    configs: Sequence[Config]
    epsilons: Sequence[float]
    seeds: int
    kind: str = "pareto"
    """How the rows are shown: "pareto" (cost against epsilon), "missing" (the same, one curve per data set), "peers" (beside recorded
    costs), "cohorts" (against the sampling rate), "elbow" (cost against k), "table" or "assumptions" (one line per data set)."""
    measures: str = COST
    quick_configs: Sequence[Config] = ()
    quick_epsilons: Sequence[float] = ()
    cluster_numbers: Sequence[int] = field(default=(0,))
    minutes: int = 0
    """Minutes of one core for the clustering alone, as last printed (docs/reproduction.md); 0 where it was never run in full."""

    def all_configs(self) -> list[Config]:
        """Return the settings of the spec, and of methods that take part everywhere."""
        more = [config for method in METHODS.values() for config in method.everywhere] if self.kind == "pareto" else []
        return list(dict.fromkeys([*self.configs, *more]))

    def trials(self, seeds: int | None = None, *, quick: bool = False) -> list[Trial]:
        """Return the runs, those of one data set and seed next to each other; methods without noise run only at infinite epsilon."""
        configs = self.quick_configs or self.all_configs() if quick else self.all_configs()
        epsilons = self.quick_epsilons or self.epsilons if quick else self.epsilons
        count = seeds or (min(2, self.seeds) if quick else self.seeds)
        return [
            Trial(name, seed, config, epsilon, k, self.measures)
            for name in self.data_sets
            for seed in range(count)
            for config in configs
            for epsilon in (epsilons if METHODS[config.method].noise else [float("inf")])
            for k in self.cluster_numbers
        ]

    @property
    def digest(self) -> str:
        """Return a hash of all its runs: a page that was printed from other runs is out of date."""
        said: Any = (self.title, self.paper, self.kind, sorted(trial.key for trial in self.trials()))
        return hashlib.sha256(repr(said).encode()).hexdigest()[:12]
