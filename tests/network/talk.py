"""A server that says what it likes to one client, and what it may say."""

import os

import numpy as np

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.participant import PUBLIC
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.network.wire import pack, unpack
from tests.network import loopback

RNG = np.random.default_rng(1)
POINTS = RNG.standard_normal((60, 3))
SERVER = RNG.standard_normal((30, 3))
PLAN = prepare(Settings(2, 1.0, method="paper", lloyd_steps=2), SERVER, 3).plan
BALL = {PUBLIC + "center": np.zeros(3), PUBLIC + "radius": 9.0}
SUMS = BALL | {PUBLIC + "centers": np.zeros((2, 3))}


class Talk:
    """A server that says what it likes to one client."""

    def __init__(self, folder, plan=PLAN, trust=Trust.AGGREGATOR, run="r1", threshold=1, **site):
        self.folder = folder
        self.site = {"unit": plan.unit, "epsilon": 1.0} | site
        self.terms = Terms(run, plan, trust, secure=True, threshold=threshold, colluders=0)
        self.start()

    def start(self):
        self.client = loopback.participant("ward", POINTS, self.folder, **self.site)

    def agree(self, **changed):
        self.session = os.urandom(32)
        self.turn = 0
        return self.ask("agree", terms=self.terms.to_dict() | changed, session=self.session, rounds=1)

    def ask(self, kind, **fields):
        return unpack(self.client.handle(pack(kind, **fields)))

    def say(self, kind, **fields):
        self.turn += 1
        return self.ask(kind, **{"run": self.terms.run, "session": self.session, "turn": self.turn, "times": 1} | fields)

    def query(self, **changed):
        return self.say("sum", **{"release": "outer product", "number": 0, "statistic": "outer-product"} | BALL | changed)


def refused(reply, match):
    assert reply.kind == "refused", reply
    assert match in reply.fields["reason"]
