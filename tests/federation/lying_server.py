"""A server that says what it likes to each site: it picks parties, rounds, lists and terms, and may hold the keys of some sites."""

import os
from collections import defaultdict
from functools import cache

import numpy as np

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.federation.participant import PUBLIC, query_bytes, sealed_from, sealed_to, session_terms
from feddp_kmeans.federation.secure_sum.aggregator import Aggregator
from feddp_kmeans.federation.secure_sum.identity import new_identity
from feddp_kmeans.federation.secure_sum.messages import Advert, UnmaskReply
from feddp_kmeans.federation.secure_sum.party import Party
from feddp_kmeans.federation.terms import Terms, Trust
from feddp_kmeans.federation.wire import pack, unpack
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.federation import loopback

POINT = {PUBLIC + "center": np.zeros(1), PUBLIC + "radius": 9.0, PUBLIC + "centers": np.zeros((2, 1))}
OTHER = POINT | {PUBLIC + "radius": 8.0}
"""Two queries of two values each."""

_TRUE = 2**40
"""A total under masks that do not cancel is two uniform numbers of 64 bits: it looks like a true one with a chance of 2**-46."""


def release(name, multiplier=2.0, times=1):
    return Release(name, Mechanism.GAUSSIAN, 1.0, 2.0**16, multiplier, 2, times)


PLAN = Plan(PrivacyUnit.POINT, 50.0, 1e-6, (release("loud", 64.0), release("low", 0.5), release("often", times=2)))


@cache
def identity(name):
    return new_identity()


class Liar:
    """Honest sites, the keys of some more, and all that the server was told."""

    def __init__(self, folder, n, owned=0, *, signed=True, **site):
        self.names = [f"site{i:02d}" for i in range(n)]
        self.owned = set(self.names[n - owned :])
        self.roster = {name: identity(name).public_key() for name in self.names}
        self.signed = signed
        keys = lambda name: {"identity": identity(name), "roster": self.roster} if signed else {}  # noqa: E731
        self.sites = {
            name: loopback.participant(name, np.full((3, 1), float(i)), folder, **keys(name) | site)
            for i, name in enumerate(self.names)
            if name not in self.owned
        }
        self.meetings = []

    def ask(self, name, kind, **fields):
        return unpack(self.sites[name].handle(pack(kind, **fields)))

    def meet(self, terms, names, key=None):
        meeting = Meeting(self, terms, key or os.urandom(32))
        self.meetings.append(meeting)
        meeting.agree(names)
        return meeting

    def openings(self, label):
        """The different noisy totals of a label that the server has worked out."""
        return {meeting.total(number, which) for meeting in self.meetings for number, which in meeting.labels if which == label} - {None}


def terms(plan=PLAN, *, run="r1", threshold=2, colluders=0, confirmed=True):
    return Terms(run, plan, Trust.SECURE_SUM, secure=True, threshold=threshold, colluders=colluders, confirmed=confirmed)


class Meeting:
    """One session, as far as the server takes it."""

    def __init__(self, liar, run_terms, key):
        self.liar, self.run, self.key = liar, run_terms, key
        self.rounds = sum(r.times for r in run_terms.plan.releases)
        self.terms = session_terms(run_terms, key, self.rounds)
        self.turn = 0
        self.adverts, self.parties, self.shared = {}, {}, {}
        self.shown = ()
        self.sharers = []
        self.labels = {}
        self.masked, self.signatures, self.replies = defaultdict(dict), defaultdict(dict), defaultdict(dict)
        self.refusals = []

    def say(self, name, kind, **fields):
        self.turn += 1
        reply = self.liar.ask(name, kind, **{"run": self.run.run, "session": self.key, "turn": self.turn} | fields)
        if reply.kind in {"refused", "failed"}:
            self.refusals.append(reply.fields["reason"])
            return None
        return reply.fields

    def agree(self, names):
        for name in names:
            if name in self.liar.owned:
                self.parties[name] = Party.new(name, self.terms)
                self.adverts[name] = self.parties[name].advert(identity(name))
            elif reply := self.say(name, "agree", terms=self.run.to_dict(), rounds=self.rounds):
                self.adverts[name] = Advert.from_dict(reply["advert"])

    def share(self, names, shown=None):
        """Show these adverts to these sites; return whether all of them shared."""
        adverts = [self.adverts[name] for name in sorted(shown or self.adverts)]
        for name in names:
            if name in self.parties:
                self.shared[name] = self.parties[name].share(adverts, self.liar.roster)
            elif reply := self.say(name, "share", adverts=[advert.to_dict() for advert in adverts]):
                self.shared[name] = sealed_from(reply["shares"])
        self.shown, self.sharers = adverts, sorted(self.shared)
        for name in set(names) & set(self.parties):
            self.parties[name].receive(self.sharers, self._messages(name)) if set(self.sharers) == set(self.shared) else None
        return set(names) <= set(self.shared)

    def _messages(self, name):
        return {sender: sent[name] for sender, sent in self.shared.items() if name in sent}

    def mask(self, names, number, label="loud 0", public=POINT, **more):
        """Ask these sites for their masked parts of a release; owned ones send zero."""
        release_name, _, times = label.rpartition(" ")
        query = {"release": release_name, "number": int(times), "statistic": "cluster-sums"} | public
        first = {"sharers": self.sharers, "shares": {}}
        for name in names:
            if name in self.parties:
                self.masked[number][name] = self.parties[name].mask(number, np.zeros(2, dtype=np.int64), query_bytes(query))
                continue
            first["shares"] = sealed_to(self._messages(name))
            if reply := self.say(name, "mask", round=number, **query, **first, **more):
                self.masked[number][name] = reply["values"]
                self.labels[number, label] = query
        return set(names) <= set(self.masked[number])

    def confirm(self, names, number, survivors):
        for name in names:
            if name in self.parties:
                self.signatures[number, tuple(survivors)][name] = self.parties[name].confirm(number, survivors, identity(name))
            elif reply := self.say(name, "confirm", round=number, survivors=sorted(survivors)):
                self.signatures[number, tuple(survivors)][name] = reply["signature"]

    def unmask(self, names, number, survivors, **more):
        signed = self.signatures[number, tuple(survivors)]
        for name in names:
            if name in self.parties:
                self.replies[number][name] = self.parties[name].unmask(number, survivors, signed)
            elif reply := self.say(name, "unmask", **{"round": number, "survivors": survivors, "confirmations": sealed_to(signed)} | more):
                self.replies[number][name] = UnmaskReply.from_dict({k: v for k, v in reply.items() if k not in {"session", "turn"}})

    def open(self, names, number, label="loud 0", **more):
        """Take a release through all its stages with these sites."""
        self.mask(names, number, label, **more)
        survivors = sorted(self.masked[number])
        if self.run.confirmed:
            self.confirm(survivors, number, survivors)
        self.unmask(survivors, number, survivors)
        return self.total(number, label)

    def total(self, number, label):
        """The total of a round under the masks of this label; None where the server cannot work it out."""
        try:
            aggregator = Aggregator(self.terms)
            aggregator.take_adverts(self.shown)
            aggregator.take_shares(self.shared)
            replies = {name: reply for name, reply in self.replies[number].items() if name in self.masked[number]}
            total = aggregator.total(number, self.masked[number], replies, query_bytes(self.labels[number, label])).view(np.int64)
        except FedDPError:
            return None
        return tuple(total.tolist()) if abs(total).max() < _TRUE else None
