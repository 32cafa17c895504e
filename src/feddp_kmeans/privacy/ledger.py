"""The ledger, in which every release is booked before it is made, and the report that a person reads."""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from feddp_kmeans._html import line, table
from feddp_kmeans._text import chance, number
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PUBLIC_CLIENTS, RELATION, PrivacyUnit


class Ledger:
    """Counts every release of one run against the plan, and refuses what the plan does not hold."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._booked: Counter[Release] = Counter()
        self._sums: Counter[Release] = Counter()

    def book(self, release: Release, times: int = 1, sums: int | None = None) -> None:
        """Write a release down, made this many times; call this *before* anything is computed from data.

        Several that are made as one count as that many: their cost is the same (``Release.as_one``). They are made in this many sums; as
        many as there are times, if it is not given.
        """
        if release not in self.plan.releases:
            raise BudgetError(f"release {release.name!r} is not in the plan.")
        made = self._booked[release]
        if not (isinstance(times, int) and 1 <= times <= release.times - made):
            rule = f"must be made at most {release.times} times, and was made {made} times already"
            raise BudgetError(f"release {release.name!r} {rule}, got {times}.")
        sums = times if sums is None else sums
        if not sums <= release.most_sums - self._sums[release]:
            rule = f"must be made in at most {release.most_sums} sums, and was made in {self._sums[release]} already"
            raise BudgetError(f"release {release.name!r} {rule}, got {sums}.")
        self._booked[release] += times
        self._sums[release] += sums

    @property
    def sums_left(self) -> int:
        """Return how many sums the releases that are left can be made in, at most."""
        return sum(min(r.most_sums - self._sums[r], r.times - self._booked[r]) for r in self.plan.releases)

    def not_made(self) -> dict[str, int]:
        """Return the releases of the plan that were not made, and how many times each was left out: they count as spent."""
        left = {release.name: release.times - self._booked[release] for release in self.plan.releases}
        return {name: times for name, times in left.items() if times}

    @property
    def epsilon_so_far(self) -> float:
        """Return the epsilon of what was booked up to now: never more than the plan's."""
        made = [replace(release, times=count) for release, count in self._booked.items()]
        return composed_epsilon(made, self.plan.delta, self.plan.sampling_rate)

    def rows(self) -> list[dict[str, Any]]:
        """Return what was released so far, one row per release."""
        return [release.to_dict() | {"times": count} for release, count in self._booked.items()]


@dataclass(frozen=True)
class PrivacyReport:
    """The guarantee of one run, and all that was released under it.

    Examples
    --------
    >>> import numpy as np
    >>> from feddp_kmeans import FedDPKMeans
    >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
    >>> report = FedDPKMeans(2, epsilon=1.0).fit(X).privacy_
    >>> report.secure, report.epsilon, report.epsilon_spent <= 1.0
    (True, 1.0, True)

    """

    unit: PrivacyUnit
    epsilon: float
    delta: float
    epsilon_spent: float
    secure: bool
    trust: str
    ledger: tuple[dict[str, Any], ...] = field(repr=False)
    relation: str = RELATION
    not_made: dict[str, int] = field(default_factory=dict, repr=False)
    """Releases that were planned and not made, and how many times each was left out: they count as spent."""
    caveat: str = ""
    """Shown instead of the guarantee if the run was made without plan and ledger."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> plain = FedDPKMeans(2).fit(X).privacy_.to_dict()
        >>> plain["unit"], plain["delta"]
        ('point', 1e-06)

        """
        return asdict(self) | {"unit": self.unit.value, "ledger": [dict(row) for row in self.ledger]}

    def sentence(self) -> str:
        """Return the guarantee in one sentence.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> FedDPKMeans(2, epsilon=1.0).fit(X).privacy_.sentence()[:92]
        'Adding or removing any one data point changes the probability of any outcome by a factor of '

        """
        if self.caveat:
            return self.caveat
        if self.epsilon == float("inf"):
            return "NOT PRIVATE: epsilon is infinite, so no noise was added."
        if not self.secure:
            return (
                f"SIMULATION, NOT PRIVATE: noise for epsilon = {self.epsilon:g}, delta = {self.delta:g} hides {self.unit.hidden} only from "
                "those who do not know the seed."
            )
        return (
            f"Adding or removing {self.unit.hidden} changes the probability of any outcome by a factor of at most "
            f"e^{self.epsilon:g}, up to delta = {self.delta:g}. {PUBLIC_CLIENTS}"
        )

    def _repr_html_(self) -> str:
        """Return the guarantee and the ledger as a notebook shows them."""
        head = ("release", "noise", "sensitivity", "noise scale", "multiplier", "times")
        rows = [
            (
                str(row["release"]),
                str(row["mechanism"]),
                number(row.get("l2_sensitivity", row.get("l1_sensitivity"))),
                *(number(row[name]) for name in ("scale", "noise_multiplier", "times")),
            )
            for row in self.ledger
        ]
        spent = f"Spent: epsilon {number(self.epsilon_spent)} of {number(self.epsilon)}, delta {chance(self.delta)}; trusted: {self.trust}."
        return line(self.sentence(), strong=True) + line(spent) + table("Every release of this run", head, rows)

    def __repr__(self) -> str:
        """Return the guarantee and the ledger as a table."""
        lines = [
            (
                f"PrivacyReport(unit={self.unit.value}, relation={self.relation}, epsilon={self.epsilon:g}, "
                f"delta={self.delta:g}, secure={self.secure}, trust={self.trust})"
            ),
            self.sentence(),
            f"{'release':<24}{'mechanism':<11}{'sensitivity':>13}{'scale':>13}{'multiplier':>12}{'times':>7}",
        ]
        for row in self.ledger:
            sensitivity = row.get("l2_sensitivity", row.get("l1_sensitivity"))
            lines.append(
                f"{row['release']:<24}{row['mechanism']:<11}{sensitivity:>13.6g}{row['scale']:>13.6g}"
                f"{row['noise_multiplier']:>12.4g}{row['times']:>7}"
            )
        if self.not_made:
            lines.append(f"planned and not made: {', '.join(f'{name} x {times}' for name, times in self.not_made.items())}")
        return "\n".join(lines)
