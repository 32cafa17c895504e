"""The terms of a run, which the server shows its clients before the first round, and the policy that a client checks them against."""

import hashlib
import json
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from feddp_kmeans._json import field_of
from feddp_kmeans.errors import BudgetError, InputError
from feddp_kmeans.privacy.accounting import accounting_work
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit, Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit

_MOST_RELEASES, _MOST_TIMES, _MOST_VALUES = 100, 10_000, 1 << 28
_LONGEST_NAME = 200
_MOST_SITES = 1 << 31
_LEAST_MULTIPLIER = 0.01
"""Least noise multiplier other than 0: with less, a release is practically exact."""
_MOST_WORK = 1000.0
"""Largest privacy loss for which an accountant takes seconds (less for samples): a plan must not keep a client busy for longer."""


def assumed_colluders(sites: int) -> int:
    """Return the default number of sites that are assumed to collude with the server: a tenth, but at least 1 of 2 or more."""
    return max(1, sites // 10) if sites > 1 else 0


def safe_threshold(sites: int, colluders: int) -> int:
    """Return the least safe threshold: any two groups of this size have an honest site in common."""
    return (sites + colluders) // 2 + 1


def default_threshold(sites: int, colluders: int) -> int:
    """Return the default threshold: the least safe one, but at least two thirds of the sites."""
    return max(safe_threshold(sites, colluders), math.ceil(2 * sites / 3))


class Trust(StrEnum):
    """Who is trusted with what."""

    AGGREGATOR = "aggregator"
    """The server adds up the clients' sums and then adds the noise. It is trusted to keep the sums secret."""
    SECURE_SUM = "secure-sum"
    """Clients add shares of the noise and mask what they send. The server learns only the noisy sum."""

    @classmethod
    def parse(cls, value: str) -> "Trust":
        """Return the trust mode of this name."""
        try:
            return cls(value)
        except ValueError:
            raise InputError(f"trust must be 'aggregator' or 'secure-sum', got {value!r}.") from None


@lru_cache(maxsize=64)
def _spent(plan: Plan) -> float:
    """Return the epsilon of a plan, which a site asks for at every message."""
    return plan.epsilon_spent


@dataclass(frozen=True)
class Terms:
    """One run as the server proposes it."""

    run: str
    plan: Plan
    trust: Trust
    secure: bool
    """Whether the noise is cryptographic; with a seed it is a simulation."""
    threshold: int
    """Least number of clients in a release."""
    colluders: int
    """Number of clients that may collude with the server: their shares of the noise are not counted."""
    confirmed: bool = False
    """Whether clients sign the list of survivors before they open a sum: against a server that sends them different lists."""

    def __post_init__(self) -> None:
        if not 0 <= self.colluders < self.threshold <= _MOST_SITES:
            raise InputError(f"colluders must be from 0 to below the threshold of {self.threshold}, got {self.colluders}.")
        if self.trust is Trust.SECURE_SUM and self.plan.sampling_rate < 1:
            raise InputError(f"sampling_rate must be 1 under secure-sum, got {self.plan.sampling_rate}: the server knows who takes part.")
        if self.trust is Trust.SECURE_SUM and any(r.noise_multiplier and r.mechanism is Mechanism.LAPLACE for r in self.plan.releases):
            raise InputError("noise must be 'gaussian' under secure-sum, because it is added in shares, got a plan with Laplace noise.")
        if (spent := self.epsilon_spent) > self.plan.epsilon:
            raise BudgetError(f"a plan must not spend more than it says: it says epsilon {self.plan.epsilon}, and spends {spent}.")

    @property
    def shares(self) -> int:
        """Return the number of noise shares that make up the planned noise: the honest clients that are sure to take part."""
        return self.threshold - self.colluders if self.trust is Trust.SECURE_SUM else 1

    @property
    def epsilon_spent(self) -> float:
        """Return the epsilon of the plan, including the samplers' error in every share of the noise."""
        return _spent(self.plan) + (self.shares - 1) * sum(r.sampler_epsilon for r in self.plan.releases)

    @property
    def summary(self) -> str:
        """Return the run, its promise and its releases in one line."""
        plan = self.plan
        promise = f"epsilon {plan.epsilon:g}, delta {plan.delta:g}, protects each {plan.unit.value}, {self.trust.value}"
        return f"{self.run}: {promise}; releases: " + ", ".join(f"{r.name}{f' x {r.times}' if r.times > 1 else ''}" for r in plan.releases)

    @property
    def digest(self) -> str:
        """Return a digest that identifies these terms."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as plain data, exact to the last bit."""
        plan = self.plan
        return {
            "run": self.run,
            "privacy_unit": plan.unit.value,
            "epsilon": plan.epsilon if math.isfinite(plan.epsilon) else "inf",
            "delta": plan.delta,
            "composition": plan.composition.value,
            "sampling_rate": plan.sampling_rate,
            "releases": [r.to_dict() | {"integer_sensitivity": r.integer_sensitivity} for r in plan.releases],
            "trust": self.trust.value,
            "secure": self.secure,
            "threshold": self.threshold,
            "colluders": self.colluders,
            "confirmed": self.confirmed,
        }

    @classmethod
    def from_dict(cls, given: Any) -> "Terms":
        """Return the terms that this plain data from the network states; refuse anything else."""
        kinds = {"run": str, "trust": Trust, "secure": bool, "threshold": int, "colluders": int, "confirmed": bool}
        stated = {name: field_of(given, name, kind, "the terms of a run") for name, kind in kinds.items()}
        return cls(plan=_plan(given), **stated)


@dataclass(frozen=True)
class Policy:
    """The rules of a client for runs that it takes part in. A server cannot change them."""

    unit: PrivacyUnit
    epsilon: float
    """Largest epsilon that all runs on this data may spend together."""
    delta: float = LIMIT_DELTA
    """Largest delta of a run, and the delta at which the runs are added up."""
    allow_aggregator: bool = False
    allow_simulation: bool = False
    """Whether runs with a known seed are answered: they are not private."""
    min_sites: int = 1
    """Least number of sites of a run under secure sum."""
    threshold: int | None = None
    """Least threshold of the terms; None: the least that is safe for the number of sites."""
    colluders: int | None = None
    """Least number of colluders of the terms; None: the default for the number of sites."""
    confirmed: bool = False
    """Whether lists of survivors must be confirmed."""

    def check(self, terms: Terms) -> None:
        """Refuse terms that break a rule of this client, whatever it has spent before."""
        plan = terms.plan
        if plan.unit is not self.unit:
            raise BudgetError(f"the plan must protect each {self.unit.value}, got one that protects each {plan.unit.value}.")
        if terms.trust is Trust.AGGREGATOR and not self.allow_aggregator:
            raise BudgetError("trust must be secure-sum: this client does not trust a server with its sums.")
        if terms.trust is Trust.SECURE_SUM and self.confirmed and not terms.confirmed:
            raise BudgetError("lists of survivors must be confirmed, got terms without it.")
        if not terms.secure and not self.allow_simulation:
            raise BudgetError("noise must be cryptographic, got a run with a known seed.")
        if plan.delta > self.delta:
            raise BudgetError(f"delta must be at most {self.delta:g}, got {plan.delta:g}.")
        if terms.epsilon_spent > self.epsilon:
            raise BudgetError(f"epsilon must be at most {self.epsilon:g}, got a plan that spends {terms.epsilon_spent:.4g}.")

    def least_colluders(self, sites: int) -> int:
        """Return the least number of colluders in the terms of a secure sum of this many sites."""
        return assumed_colluders(sites) if self.colluders is None else self.colluders

    def least_threshold(self, sites: int, colluders: int) -> int:
        """Return the least threshold of a secure sum of this many sites: never less than the safe one."""
        return max(safe_threshold(sites, colluders), self.threshold or 0)

    def floor(self, sites: int) -> str:
        """Return a sentence on the honest noise in every secure sum of this many sites that this client accepts."""
        colluders = self.least_colluders(sites)
        threshold = self.least_threshold(sites, colluders)
        honest = threshold - colluders
        noise = f"the noise of at least {honest} honest site{'s' if honest > 1 else ''}"
        return f"of {sites} sites at least {threshold} must answer and {colluders} may side with the server: every sum holds {noise}"

    def check_federation(self, sites: int) -> None:
        """Refuse a federation whose sites are too few for this policy."""
        if sites < self.min_sites:
            raise InputError(f"sites must be at least {self.min_sites}, got a federation of {sites}.")
        if (least := self.least_threshold(sites, self.least_colluders(sites))) > sites:
            raise InputError(f"threshold must be at most the {sites} sites of the federation, got {least}.")

    def check_sites(self, terms: Terms, sites: int) -> None:
        """Refuse terms of a secure sum that are not safe for this many sites: those of the roster, or the parties of the run."""
        if sites < self.min_sites:
            raise BudgetError(f"sites must be at least {self.min_sites}, got {sites}.")
        if terms.colluders < (least := self.least_colluders(sites)):
            raise BudgetError(f"colluders must be at least {least}, got {terms.colluders}.")
        if terms.threshold < (least := self.least_threshold(sites, terms.colluders)):
            raise BudgetError(f"threshold must be at least {least} of {sites} sites, got {terms.threshold}.")

    def book(self, terms: Terms, odometer: Odometer) -> None:
        """Book a run without a state on this client's odometer; refuse one with which all runs would exceed the limit.

        A run that is booked already must have the same plan and have answered nothing.
        """
        limit = None if math.isinf(self.epsilon) else Limit(self.epsilon, self.delta)
        Books(odometer, limit, f"run {terms.run}").book(terms.plan, terms.run, secure=terms.secure, state="")


def _plan(given: Any) -> Plan:
    """Return the plan of the terms; refuse one that would only cost a client time and memory."""
    plan = Plan.from_dict(given)
    _require("integer_sensitivity of each release", all("integer_sensitivity" in row for row in given["releases"]))
    _require(f"1 to {_MOST_RELEASES} releases", 0 < len(plan.releases) <= _MOST_RELEASES)
    _require("a name of its own for each release", len({release.name for release in plan.releases}) == len(plan.releases))
    for release in plan.releases:
        _require("names that can be printed", 0 < len(release.name) <= _LONGEST_NAME and release.name.isprintable())
        _require("releases of a size that can be made", release.values <= _MOST_VALUES and release.times <= _MOST_TIMES)
        _require("enough noise to add up", release.noise_multiplier == 0 or release.noise_multiplier >= _LEAST_MULTIPLIER)
    work = accounting_work([release for release in plan.releases if release.noise_multiplier], sampled=plan.sampling_rate < 1)
    _require("enough noise to add up", work <= _MOST_WORK * math.sqrt(plan.sampling_rate))
    return plan


def _require(what: str, holds: bool) -> None:
    if not holds:
        raise InputError(f"the plan of a run must state {what}; this one does not.")
