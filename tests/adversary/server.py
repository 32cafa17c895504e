"""A server that asks what it likes, of two federations that differ in one unit."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.adder import Asked
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query
from tests.network import loopback


def parsed(name, public, dimension):
    try:
        return Query(REGISTRY[name], public, dimension)
    except FedDPError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert len(str(error)) < 700  # noqa: PT017
        return None


@dataclass(frozen=True)
class Forged:
    """What a server asks that does not parse its own questions."""

    statistic: Any
    public: dict
    size: int
    sensitivity: Any = None


class Server:
    """A hostile server of two federations that differ in one unit of the first party's data."""

    def __init__(self, folder, where, unit, trust, parties, questions):
        # Without noise, so that the exact sum is seen, and enough for any query.
        self.release = Release("open", Mechanism.GAUSSIAN, 1.0, 2.0**56, 0.0, 1 << 28, questions)
        self.clients = [*where.clients, *[np.empty((0, where.ball.dimension))] * parties][:parties]
        fewer = np.delete(self.clients[0], slice(None) if unit is PrivacyUnit.CLIENT else slice(0, 1), axis=0)
        plan = Plan(unit, math.inf, 1e-6, (self.release,))
        self.runs = []
        for label, first in (("all", self.clients[0]), ("fewer", fewer)):
            (folder / label).mkdir()
            made, _ = loopback.federation([first, *self.clients[1:]], folder / label, trust=trust, site={"unit": unit})
            self.runs.append(made.open(plan))

    def ask(self, name, public, times=1):
        """The two answers: arrays of whole numbers, or why there are none."""
        query = parsed(name, public, self.clients[0].shape[1])
        size = 1 if query is None else query.size
        forged = Forged(REGISTRY[name], public, size, None if query is None else query.sensitivity)
        return query, [self._answer(run, forged, times) for run in self.runs]

    def _answer(self, run, forged, times):
        run.ledger.book(self.release)
        number = run.ledger.rows()[0]["times"] - 1
        try:
            found = run._adder.noisy_sum(Asked(forged, self.release, number, None, run.streams.stream("x"), times))
            return np.rint(found.values / self.release.grid)
        except FedDPError as error:
            assert "its data or its program failed" not in str(error), (forged, error)  # noqa: PT017
            return str(error)
