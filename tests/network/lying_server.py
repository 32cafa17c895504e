"""A server that says what it likes to each site: it picks parties, rounds, lists and terms, and may hold the keys of some sites."""

import os
from collections import defaultdict
from functools import cache

import numpy as np

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.protocol import PUBLIC, query_bytes, session_terms
from feddp_kmeans.network.secure_sum import party as party_module
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.fields import parsed, plain
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.secure_sum.messages import Advert, UnmaskReply
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network import loopback

POINT = {PUBLIC + "center": np.zeros(1), PUBLIC + "radius": 9.0, PUBLIC + "centers": np.zeros((2, 1))}
OTHER = POINT | {PUBLIC + "radius": 8.0}
"""Two queries of two values each."""

_TRUE = 2**40
"""A total under masks that do not cancel is two uniform numbers of 64 bits: it looks like a true one with a chance of 2**-46."""


def release(name, multiplier=2.0, times=1):
    return Release(name, Mechanism.GAUSSIAN, 1.0, 2.0**16, multiplier, 2, times)


PLAN = Plan(PrivacyUnit.POINT, 50.0, 1e-6, (release("loud", 64.0), release("low", 0.5), release("often", times=2)))
SWAPPED = Plan(PrivacyUnit.POINT, 50.0, 1e-6, (release("loud", 0.5), release("low", 64.0), release("often", times=2)))
LABELS = ("loud 0", "low 0", "often 0", "often 1")
TOGETHER = "often 0 x 2"
"""Two releases that are made as one."""


@cache
def identity(name):
    return new_identity()


def terms(plan=PLAN, *, run="r1", threshold=4, colluders=1, confirmed=True):
    return Terms(run, plan, Trust.SECURE_SUM, secure=True, threshold=threshold, colluders=colluders, confirmed=confirmed)


def query_of(label, public=POINT):
    label, _, times = label.partition(" x ")
    name, _, number = label.rpartition(" ")
    return {"release": name, "number": int(number), "times": int(times or 1), "statistic": "cluster-sums"} | public


class Liar:
    """Honest sites, the keys of the others, and all that the server was told."""

    def __init__(self, folder, n, owned=0, **site):
        self.names = [f"site{i:02d}" for i in range(n)]
        self.owned = set(self.names[n - owned :])
        self.honest = self.names[: n - owned]
        self.roster = {name: identity(name).public_key() for name in self.names}
        given = {"confirmed": True, "roster": self.roster} | site
        self.sites = {
            name: loopback.participant(name, np.full((3, 1), float(i)), folder, identity=identity(name), **given)
            for i, name in enumerate(self.honest)
        }
        self.turn = 0
        self.requests = []
        self.meetings = []
        self.agreed = {}
        """By run and site: the terms."""
        self.asked = {}
        """By run, session, round and site: the query under the site's masks."""
        self.numbers = {}
        """By query: the releases of the plan that it takes, each a name and a number."""
        self.given = defaultdict(dict)
        """By run, session and round: each site that helped to open it, with the terms, the query and the survivors that it helped for."""

    def send(self, name, request):
        """Send any bytes to a site; keep what its answer gives away."""
        self.requests.append((name, request))
        reply, asked = unpack(self.sites[name].handle(request)), unpack(request).fields
        place = asked.get("run"), asked.get("session"), asked.get("round")
        if reply.kind == "agreed":
            self.agreed[asked["terms"]["run"], name] = Terms.from_dict(asked["terms"])
        if reply.kind == "masked":
            self.asked[*place, name] = query_bytes(asked)
            self.numbers[query_bytes(asked)] = {(asked["release"], asked["number"] + more) for more in range(asked["times"])}
        if reply.kind == "unmasked":
            self.given[place][name] = self.agreed[place[0], name], self.asked.get((*place, name)), tuple(asked["survivors"])
        return reply

    def meet(self, run_terms, names, key=None):
        meeting = Meeting(self, run_terms, key or os.urandom(32))
        self.meetings.append(meeting)
        meeting.agree(names)
        return meeting

    def openings(self, label):
        """The different noisy totals of a label that the server has worked out, each with the survivors that it is of."""
        found = {(survivors, meeting.total(number, survivors, label)) for meeting in self.meetings for number, survivors in meeting.lists()}
        return {(survivors, total) for survivors, total in found if total is not None}


class Meeting:
    """One session, as far as the server takes it: it has the adverts that it shows, and the shares that it was given for them."""

    def __init__(self, liar, run_terms, key):
        self.liar, self.run, self.key = liar, run_terms, key
        self.rounds = sum(r.times for r in run_terms.plan.releases)
        self.terms = session_terms(run_terms, key, self.rounds)
        self.adverts, self.shared = {}, {}
        self.fresh, self.own = {}, {}
        """The server's own sites before they shared, and after they did so with those that are shown."""
        self.shown, self.sharers = (), []
        self.masked, self.replies = defaultdict(dict), defaultdict(dict)
        self.queries = {}
        self.signatures = defaultdict(dict)
        self.refusals = []

    def say(self, name, kind, **fields):
        self.liar.turn += 1
        reply = self.liar.send(name, pack(kind, **{"run": self.run.run, "session": self.key, "turn": self.liar.turn} | fields))
        if reply.kind in {"refused", "failed"}:
            self.refusals.append(reply.fields["reason"])
            return None
        return reply.fields

    def agree(self, names):
        for name in names:
            if name in self.liar.owned:
                self.fresh[name] = Party.new(name, self.terms)
                self.adverts[name] = self.fresh[name].advert(identity(name))
            elif reply := self.say(name, "agree", terms=self.run.to_dict(), rounds=self.rounds):
                self.adverts[name] = Advert.from_dict(reply["advert"])

    def share(self, names, shown=None):
        """Show these adverts to these sites and to the server's own; return whether all shared."""
        self.shown = [self.adverts[name] for name in sorted(shown or self.adverts)]
        listed = {advert.name for advert in self.shown}
        self.shared = {}
        for name in names:
            if name in self.liar.sites and (reply := self.say(name, "share", adverts=[advert.to_dict() for advert in self.shown])):
                self.shared[name] = parsed(dict[str, bytes], reply["shares"], "shares")
        self.own = {name: _copy(party) for name, party in self.fresh.items() if name in listed}
        for name, party in self.own.items():
            self.shared[name] = party.share(self.shown, self.liar.roster)
        self.sharers = sorted(self.shared)
        for name, party in self.own.items():
            party.receive(self.sharers, self._messages(name))
        return set(names) <= set(self.shared)

    def _messages(self, name):
        return {sender: sent[name] for sender, sent in self.shared.items() if name in sent}

    def mask(self, names, number, label="loud 0", public=POINT, sharers=None):
        """Ask these sites for their masked parts of a release; the server's own send zero."""
        query = query_of(label, public)
        for name in names:
            if name in self.own:
                self.masked[number][name] = _copy(self.own[name]).mask(number, np.zeros(2, dtype=np.int64), query_bytes(query))
                continue
            first = {"sharers": sharers or self.sharers, "shares": plain(self._messages(name))}
            if reply := self.say(name, "mask", round=number, **query, **first):
                self.masked[number][name] = reply["values"]
                self.queries[number, label] = query
        return set(names) <= set(self.masked[number])

    def confirm(self, names, number, survivors, label="loud 0"):
        """Get signatures on a list; the server's own sites sign whatever serves it."""
        for name in names:
            if name in self.own:
                signer = _copy(self.own[name])
                signer._query = query_bytes(self.queries.get((number, label), query_of(label)))
                statement = signer._statement(number, survivors)
                self.signatures[number, tuple(survivors)][name] = party_module.sign(identity(name), statement)
            elif reply := self.say(name, "confirm", round=number, survivors=list(survivors)):
                self.signatures[number, tuple(survivors)][name] = reply["signature"]

    def unmask(self, names, number, survivors):
        signed = self.signatures[number, tuple(survivors)]
        for name in names:
            if name in self.own:
                continue
            fields = {"round": number, "survivors": list(survivors), "confirmations": plain(signed)}
            if reply := self.say(name, "unmask", **fields):
                shares = {field: reply[field] for field in ("round", "self_shares", "key_shares")}
                self.replies[number, tuple(survivors)][name] = UnmaskReply.from_dict(shares)

    def open(self, names, number, label="loud 0", public=POINT):
        """Take a release through all its stages with these sites."""
        self.mask(names, number, label, public)
        survivors = sorted(self.masked[number])
        self.confirm(survivors, number, survivors, label)
        self.unmask(survivors, number, survivors)
        return self.total(number, tuple(survivors), label)

    def lists(self):
        """The rounds and lists of survivors that some site helped to open."""
        return list(self.replies)

    def total(self, number, survivors, label):
        """The total of a round under the masks of this label; None where the server cannot work it out."""
        try:
            aggregator = Aggregator(self.terms, tuple(self.shown), self.shared)
            replies = self.replies[number, survivors] | {name: self._own_reply(name, number, survivors) for name in self.own}
            replies = {name: reply for name, reply in replies.items() if name in survivors}
            masked = np.add.reduce([self.masked[number][name] for name in survivors])
            total = aggregator.unmasked(number, survivors, masked, replies, query_bytes(self.queries[number, label])).view(np.int64)
        except (FedDPError, KeyError):
            return None
        return tuple(total.tolist()) if abs(total).max() < _TRUE else None

    def _own_reply(self, name, number, survivors):
        held = self.own[name]._held
        self_shares = {other: pairs[number][1] for other, pairs in held.items() if other in survivors}
        return UnmaskReply(number, self_shares, {other: pairs[number][0] for other, pairs in held.items() if other not in survivors})


def _copy(party):
    return Party.from_dict(party.to_dict())
