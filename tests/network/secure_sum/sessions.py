"""Whole sessions of parties and an aggregator, with dropouts and restarts where a test wants them."""

import json
import os
from dataclasses import replace

import numpy as np

from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms

RNG = np.random.default_rng(7)
IDENTITIES = {f"p{i:02d}": new_identity() for i in range(9)}
ROSTER = {name: identity.public_key() for name, identity in IDENTITIES.items()}


def names(n):
    return [f"p{i:02d}" for i in range(n)]


def terms(threshold, rounds=1, colluders=0, *, confirmed=False):
    return SessionTerms(os.urandom(32), rounds, threshold, colluders, confirmed)


def through_json(thing):
    """The same party or aggregator after a restart."""
    return type(thing).from_dict(json.loads(json.dumps(thing.to_dict())))


class Session:
    """Parties and their aggregator. Each stage takes the names that drop out in it, and for good."""

    def __init__(self, n, agreed, *, signed=False, restart=False):
        self.parties = {name: Party.new(name, agreed) for name in names(n)}
        self.aggregator = None
        self.agreed, self.signed, self.restart = agreed, signed, restart

    def _next(self, dropped):
        self.parties = {name: party for name, party in self.parties.items() if name not in dropped}
        if self.restart:
            self.parties = {name: through_json(party) for name, party in self.parties.items()}
            self.aggregator = self.aggregator and through_json(self.aggregator)

    def keys(self, dropped=()):
        adverts = [party.advert(IDENTITIES[name] if self.signed else None) for name, party in self.parties.items()]
        self.aggregator = Aggregator(self.agreed, tuple(advert for advert in adverts if advert.name not in dropped))
        self._next(dropped)
        return self

    def shares(self, dropped=()):
        roster = ROSTER if self.signed else None
        sent = {name: party.share(self.aggregator.adverts, roster) for name, party in self.parties.items() if name not in dropped}
        self.hand_over(sent)
        self._next(dropped)
        for name, party in self.parties.items():
            party.receive(self.aggregator.sharers, self.aggregator.ciphertexts_for(name))
        self._next(())
        return self

    def hand_over(self, sent):
        """Give the aggregator the messages of those that shared."""
        self.aggregator = replace(self.aggregator, messages=sent)

    def masked(self, round_, values, dropped=()):
        sent = {name: party.mask(round_, values[name]) for name, party in self.parties.items() if name not in dropped}
        self._next(dropped)
        return sent

    def confirmations(self, round_, survivors):
        signatures = {name: self.parties[name].confirm(round_, survivors, IDENTITIES[name]) for name in survivors}
        self._next(())
        return signatures

    def replies(self, round_, survivors, dropped=(), confirmations=None):
        present = [name for name in survivors if name not in dropped]
        given = {name: self.parties[name].unmask(round_, survivors, confirmations) for name in present}
        self._next(dropped)
        return given

    def total(self, round_, values, masked_dropped=(), unmask_dropped=()):
        """The total of a round, and what it should be."""
        sent = self.masked(round_, values, masked_dropped)
        survivors = sorted(sent)
        signatures = self.confirmations(round_, survivors) if self.agreed.confirmed else None
        given = self.replies(round_, survivors, unmask_dropped, signatures)
        return opened(self.aggregator, round_, sent, given), exact(values, survivors)


def opened(aggregator, round_, masked, replies):
    """What the server makes of masked inputs and replies."""
    return aggregator.unmasked(round_, tuple(sorted(masked)), np.add.reduce(list(masked.values())), replies)


def ready(n, threshold, rounds=1, colluders=0, *, confirmed=False, restart=False):
    """A session whose keys and shares are exchanged."""
    agreed = terms(threshold, rounds, colluders, confirmed=confirmed)
    return Session(n, agreed, signed=confirmed, restart=restart).keys().shares()


def inputs(n, size=5):
    return {name: RNG.integers(-(2**63), 2**63 - 1, size, endpoint=True) for name in names(n)}


def exact(values, survivors):
    total = sum(values[name].astype(object) for name in survivors)
    return np.array([int(value) % 2**64 for value in total], dtype=np.uint64)
