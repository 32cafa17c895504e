"""Any sequence of messages: a server that holds some keys, opens sessions, mixes, repeats and spoils, never opens a release twice."""

import hashlib
import os
import random
from collections import Counter

import pytest

from feddp_kmeans import _files
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network import participant
from feddp_kmeans.network.run_state import RunStates
from feddp_kmeans.network.secure_sum import party
from feddp_kmeans.network.secure_sum.identity import public_line
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.odometer import Odometer
from tests.network.lying_server import LABELS, OTHER, PLAN, POINT, SWAPPED, TOGETHER, Liar, Meeting, terms

FEDERATIONS = [(3, 1), (4, 1), (5, 1), (5, 2), (6, 0), (7, 2)]
"""Sites, and colluders that the sites assume; the server holds the keys of as many."""


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """Signatures that nobody in the test forges and writes that need not outlive the machine: ten times as many messages."""
    lines = {}

    def signature(public, message):
        line = lines.setdefault(id(public), (public, public_line(public)))[1]
        return hashlib.sha384(line.encode() + message).digest()

    monkeypatch.setattr(party, "sign", lambda identity, message: signature(identity.public_key(), message))
    monkeypatch.setattr(party, "verify", lambda public, given, message: given == signature(public, message))
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)


class Chaos:
    """A hostile server's moves, drawn at random: most are attempts to open something that go wrong in one place, the rest is anything."""

    def __init__(self, liar, colluders, seed):
        self.liar, self.colluders, self.rng = liar, colluders, random.Random(seed)
        n = len(liar.names)
        safe = (n + colluders) // 2 + 1
        self.thresholds = {run: self.rng.choice([safe, n, *(self.rng.randint(colluders + 1, n) for _ in range(2))]) for run in ("r1", "r2")}

    def play(self, steps):
        moves = [self.meet, self.attempt, self.mask, self.confirm, self.unmask, self.repeat, self.spoil, self.another_view]
        weights = [4, 6, 1, 1, 1, 2, 3, 1]
        for step in range(steps):
            try:
                (self.rng.choices(moves, weights)[0] if step else self.meet)()
            except FedDPError:
                continue  # The server's own half, which is honest code, does not go along.

    def rarely(self):
        return self.rng.random() < 0.1

    def some(self, names, least=1):
        """Most of the names, or all."""
        names = sorted(names)
        if len(names) <= least or self.rng.random() < 0.4:
            return names
        return sorted(self.rng.sample(names, self.rng.randint(least, len(names))))

    def meeting(self):
        return self.rng.choice(self.liar.meetings[-3:])

    def meet(self):
        run = self.rng.choice(["r1", "r1", "r1", "r2"])
        threshold = self.rng.randint(self.colluders + 1, len(self.liar.names)) if self.rarely() else self.thresholds[run]
        asked = terms(
            SWAPPED if self.rarely() else PLAN, run=run, threshold=threshold, colluders=self.colluders, confirmed=not self.rarely()
        )
        old = self.rng.choice(self.liar.meetings).key if self.liar.meetings and self.rarely() else None
        most = len(self.liar.names) if self.rarely() else min(len(self.liar.names), 2 * threshold - self.colluders - 1)
        parties = self.rng.sample(self.liar.names, self.rng.randint(threshold, max(threshold, most)))
        meeting = self.liar.meet(asked, sorted(parties), old)
        if meeting.adverts:
            shown = self.some(meeting.adverts, threshold) if self.rarely() else sorted(meeting.adverts)
            meeting.share(self.some(shown) if self.rarely() else shown, shown)

    def attempt(self):
        """Try to open a release: with one label or two, and with one list of survivors or two."""
        meeting = self.meeting()
        number = self.number(meeting)
        if not meeting.sharers:
            return
        labels = [self.label(), self.label() if self.rng.random() < 0.3 else ""]
        for name in meeting.sharers:
            meeting.mask([name], number, self.rng.choice(labels) or labels[0], OTHER if self.rng.random() < 0.02 else POINT)
        there = sorted(meeting.masked[number])
        lists = [self.some(there, meeting.run.threshold) for _ in range(2 if self.rng.random() < 0.4 else 1)]
        helped = {name: self.rng.choice(lists) for name in there}
        for name in there:
            for told in lists if name in meeting.own else [helped[name]]:
                meeting.confirm([name], number, told, labels[0])
        for name in there:
            if not self.rarely():
                meeting.unmask([name], number, helped[name])

    def another_view(self):
        """Show other parties of the same session other adverts."""
        old = self.meeting()
        new = Meeting(self.liar, old.run, old.key)
        new.adverts, new.fresh = dict(old.adverts), old.fresh
        self.liar.meetings.append(new)
        if new.adverts:
            new.share(self.some(new.adverts), self.some(new.adverts))

    def mask(self):
        meeting = self.meeting()
        number = self.number(meeting)
        public = OTHER if self.rng.random() < 0.05 else POINT
        sharers = self.some(meeting.sharers) if self.rng.random() < 0.05 else None
        meeting.mask(self.some(meeting.sharers), number, self.label(), public, sharers)

    def number(self, meeting):
        latest = max(meeting.masked, default=-1)
        return self.rng.choice([latest, latest + 1, latest + 1, self.rng.randrange(meeting.rounds)])

    def label(self):
        return self.rng.choice([*LABELS, TOGETHER, "loud 0", "loud 0", "loud 0"])

    def confirm(self):
        meeting = self.meeting()
        if meeting.queries:
            number, label = self.rng.choice([place for place in meeting.queries if place[0] == max(meeting.queries)[0]])
            survivors = self.some(meeting.masked[number])
            meeting.confirm(self.some(survivors), number, survivors, label)

    def unmask(self):
        meeting = self.meeting()
        if meeting.signatures:
            number, survivors = self.rng.choice([place for place in meeting.signatures if place[0] == max(meeting.signatures)[0]])
            meeting.unmask(self.some(survivors), number, survivors)

    def repeat(self):
        """Send an old message again, to whom it went or to another."""
        name, request = self.rng.choice(self.liar.requests)
        self.liar.send(self.rng.choice([name, name, *self.liar.sites]), request)

    def spoil(self):
        """Send a message with some field of another, or without it, or any bytes."""
        name, request = self.rng.choice(self.liar.requests[-60:])
        if self.rng.random() < 0.1:
            self.liar.sites[name].handle(self.rng.randbytes(40))
            return
        asked, other = unpack(request), unpack(self.rng.choice(self.liar.requests)[1])
        field = self.rng.choice(sorted(other.fields))
        self.liar.turn += 1
        odd = self.rng.choice([other.fields[field], other.fields[field], None, -1, 2**70, "", [], {}, b"", os.urandom(32)])
        fields = dict(asked.fields) | {"turn": self.liar.turn, field: odd}
        self.liar.send(name, pack(asked.kind, **fields))


def violations(liar, folder):
    """What the server got that it must not, from who helped it with what. It does not matter whether it knows how to use it."""
    found, attempts = [], {}
    for place, helpers in liar.given.items():
        (run, query, survivors), *others = {(run.digest, *rest): (run, *rest) for run, *rest in helpers.values()}.values()
        if others:
            found.append("sites helped with different terms, queries or lists in one round")
        if len(helpers) + len(liar.owned) >= run.threshold:
            attempts.setdefault((run.digest, query), set()).add((place, survivors))
        if len(set(survivors) - liar.owned) < run.shares:
            found.append(f"a sum of {len(survivors)} sites holds the noise of fewer than {run.shares}")
    found += [f"one release was opened {len(places)} times" for places in attempts.values() if len(places) > 1]
    taken = Counter((digest, number) for digest, query in attempts for number in liar.numbers[query])
    found += [f"{number} were opened in {times} queries" for (_, number), times in taken.items() if times > 1]
    for name in liar.sites:
        runs = [entry.what for entry in Odometer(folder / f"{name}.jsonl").entries()]
        if len(runs) != len(set(runs)):
            found.append(f"{name} booked a run twice")
    return found, attempts


def fuzz(folder, n, colluders, owned, seed, steps):
    folder.mkdir()
    liar = Liar(folder, n, owned, colluders=colluders)
    Chaos(liar, colluders, seed).play(steps)
    found, attempts = violations(liar, folder)
    for label in (*LABELS, TOGETHER):
        for run in ("r1", "r2"):
            totals = {
                (survivors, meeting.total(number, survivors, label), meeting.run.digest)
                for meeting in liar.meetings
                if meeting.run.run == run
                for number, survivors in meeting.lists()
            }
            totals = {entry for entry in totals if entry[1] is not None}
            if len({digest for *_, digest in totals}) < len(totals):
                found.append(f"the server worked out {len(totals)} totals of {label}")
    return found, len(attempts), len(liar.requests)


def run_fuzz(folder, seeds, steps):
    opened = sent = 0
    for seed in seeds:
        n, colluders = FEDERATIONS[seed % len(FEDERATIONS)]
        found, attempts, requests = fuzz(folder / str(seed), n, colluders, colluders, seed, steps)
        assert found == [], seed
        opened, sent = opened + attempts, sent + requests
    return opened, sent


def test_no_sequence_of_messages_opens_a_release_twice(tmp_path):
    opened, sent = run_fuzz(tmp_path, range(6), 30)
    assert opened > 0
    assert sent > 200


@pytest.mark.slow
def test_no_long_sequence_of_messages_opens_a_release_twice(tmp_path):
    opened, _ = run_fuzz(tmp_path, range(100, 160), 150)
    assert opened > 50, opened


def forgetful(monkeypatch):
    """A site that does not remember what it opened."""
    save = RunStates.save

    def forget(self, run, state):
        state.opened.clear()
        save(self, run, state)

    monkeypatch.setattr(RunStates, "save", forget)


HOLES = {
    "sessions of one run with any parties": lambda patch: (
        patch.setattr(Policy, "check_sites", lambda *_: None),
        patch.setattr(participant.Participant, "_pin", lambda *_: None),
    ),
    "masks that cancel whatever was asked for": lambda patch: patch.setattr(participant, "query_bytes", lambda _: b""),
    "a site that forgets what it opened": forgetful,
    "lists that nobody confirmed": lambda patch: patch.setattr(party.Party, "_check_confirmed", lambda *_: None),
}


@pytest.mark.slow
@pytest.mark.parametrize("hole", sorted(HOLES))
def test_a_hole_is_found(tmp_path, monkeypatch, hole):
    """The search is worth something only if it finds the holes that were there, or could be."""
    HOLES[hole](monkeypatch)
    for seed in range(60):
        n, colluders = FEDERATIONS[seed % len(FEDERATIONS)]
        found, *_ = fuzz(tmp_path / str(seed), n, colluders, colluders, seed, 60)
        if found:
            return
    pytest.fail(f"not found: {hole}")
