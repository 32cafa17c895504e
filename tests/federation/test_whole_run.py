"""The secure sum over a whole run: one planned release is opened once, whatever sessions, parties, rounds and terms a server makes up."""

from dataclasses import replace

import pytest

from tests.federation.lying_server import OTHER, PLAN, Liar, release, terms


def test_one_release_is_not_opened_by_one_small_group_after_the_other(tmp_path):
    liar = Liar(tmp_path, 41)
    victim, *others = liar.names
    for pair in zip(others[::2], others[1::2], strict=True):
        meeting = liar.meet(terms(threshold=2), [victim, *pair])
        if meeting.adverts:
            meeting.share([victim, *pair])
            meeting.open([victim, *pair], 0)
    assert len(liar.openings("loud 0")) <= 1


def test_other_labels_under_one_round(tmp_path):
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(threshold=4, colluders=1), liar.names)
    assert meeting.share(liar.names), meeting.refusals
    seen = []
    for number, label in enumerate(("low 0", "often 0", "often 1")):
        meeting.mask([victim], number, "loud 0")
        meeting.mask(others, number, label)
        meeting.confirm(others, number, liar.names)
        meeting.unmask(others, number, liar.names)
        seen.append((meeting.total(number, label), meeting.total(number, "loud 0")))
    print(seen, meeting.refusals)
    assert seen == [(None, None)] * 3


def test_terms(tmp_path):
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    mine = terms(threshold=4, colluders=1)
    quiet = terms(replace(PLAN, releases=(release("loud", 0.5), release("low", 64.0), release("often", times=2))), threshold=4, colluders=1)
    meeting = liar.meet(quiet, others)
    meeting.run = mine
    meeting.agree([victim])
    print(meeting.refusals)
    assert not meeting.share(liar.names)
