"""The theorems' own algorithms on separated mixtures, measured against what the theorems promise. Not private: the means are known."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.plan import Composition
from feddp_studies.theory import stated_bounds
from feddp_studies.theory.assumptions import Condition, MixtureFacts, ServerSizeForm, check_radius, check_server_size, data_radius
from feddp_studies.theory.cluster import LloydSpace, cluster
from feddp_studies.theory.separated import center_errors, labels_of, same_partition, separated_mixture


class Theorem(StrEnum):
    """Which theorem, and with it which algorithm."""

    PRACTICE = "mainPractice"
    """FedDP-Init and T steps of FedDP-Lloyds, with the radius of the data, as the paper's experiments have it."""
    THEORY = "mainTheory"
    """Algorithm "Cluster" of the appendix."""
    COROLLARY = "corollary of mainTheory"
    """The same; it promises the planted clustering."""


@dataclass(frozen=True)
class TheoremCase:
    """One place of a sweep."""

    theorem: Theorem
    n: int
    epsilon: float = 2.0
    dimension: int = 10
    lloyd_steps: int = 4
    k: int = 4
    delta: float = 1e-6
    separation: float = 1.0
    per_component: int = 5
    lloyd_space: LloydSpace = LloydSpace.WRITTEN

    @property
    def facts(self) -> MixtureFacts:
        """Return what the theorem is given."""
        return MixtureFacts(self.n, 1 / self.k, 1.0)

    def samples(self, facts: MixtureFacts) -> float:
        """Return the sample size that the theorem asks for."""
        if self.theorem is Theorem.PRACTICE:
            return stated_bounds.practice_samples(self.k, self.dimension, self.epsilon, facts)
        if self.theorem is Theorem.COROLLARY:
            return stated_bounds.corollary_samples(self.k, self.dimension, self.epsilon, facts)
        return stated_bounds.theory_samples(self.k, self.dimension, self.lloyd_steps, self.epsilon, self.delta, facts)

    @property
    def least_n(self) -> int:
        """Return the least n that the theorem allows."""
        return stated_bounds.least_samples(self.samples, self.facts)

    def at(self, part: float) -> "TheoremCase":
        """Return the case at this multiple of the least n."""
        return replace(self, n=int(self.least_n * part))


@dataclass(frozen=True)
class TheoremRun:
    """What one run gave."""

    error: float
    """The largest ``|mu_i - nu_i|``."""
    sample_error: float
    """The same with the sample means of the G_i in place of the mu_i: without the error of sampling, which falls with ``1/sqrt(n)``."""
    bound: float
    """The largest of its bounds."""
    constant: float
    """The constant with which the theorem would hold: the largest quotient of an error and its bound."""
    sample_constant: float
    """The same with the sample means."""
    recovered: bool
    """Whether the centers induce the planted clustering."""
    conditions: tuple[Condition, ...]

    @property
    def missed(self) -> list[str]:
        """Return the conditions that are not met."""
        return [condition.assumption for condition in self.conditions if not condition.holds]


def run_case(case: TheoremCase, seed: int) -> TheoremRun:
    """Return one run: data seed and noise seed are the same number."""
    data = separated_mixture(seed, n=case.n, k=case.k, dimension=case.dimension, constant=case.separation, per_component=case.per_component)
    federation, radius = InMemoryFederation([data.points]), data_radius(data.points)
    settings = Settings(
        case.k,
        case.epsilon,
        case.delta,
        method=MethodName.PAPER,
        lloyd_steps=case.lloyd_steps,
        radius=radius,
        composition=Composition.PAPER_NAIVE,
    )
    conditions = [Condition("sample size", case.n, case.samples(case.facts), case.n >= case.samples(case.facts))]
    bound: FloatArray | float
    if case.theorem is Theorem.PRACTICE:
        centers = clustering.cluster(federation, settings, data.server, seed=seed).centers
        bound = stated_bounds.practice_error(case.lloyd_steps, radius, case.epsilon, data.sizes, case.facts)
        conditions += [
            check_radius(radius, case.k, case.dimension, case.epsilon, case.facts),
            check_server_size(len(data.server), radius, case.k, case.epsilon, case.facts, ServerSizeForm.BODY),
        ]
    else:
        centers = cluster(federation, settings, data.server, facts=case.facts, seed=seed, lloyd_space=case.lloyd_space).centers
        bound = stated_bounds.theory_error(case.k, case.dimension, case.lloyd_steps, case.epsilon, case.delta, case.facts)
    errors, sample_errors = (center_errors(means, centers) for means in (data.means, data.sample_means))
    return TheoremRun(
        float(errors.max()),
        float(sample_errors.max()),
        float(np.max(bound)),
        float(np.max(errors / bound)),
        float(np.max(sample_errors / bound)),
        same_partition(labels_of(data.points, centers), data.labels),
        tuple(conditions),
    )
