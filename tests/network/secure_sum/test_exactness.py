"""The total is the survivors' exact sum, whoever drops out and whenever parties are restarted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError

from .sessions import IDENTITIES, Session, exact, inputs, names, opened, ready, terms

STAGES = 4


@st.composite
def courses(draw):
    """A number of parties, a safe threshold, and who drops out in which stage: as many as the threshold allows."""
    n = draw(st.integers(1, 8))
    colluders = draw(st.integers(0, min(2, n - 1)))
    threshold = draw(st.integers((n + colluders) // 2 + 1, n))
    leaving = draw(st.lists(st.sampled_from(names(n)), max_size=n - threshold, unique=True))
    stages = [draw(st.integers(0, STAGES - 1)) for _ in leaving]
    return n, threshold, colluders, [[name for name, at in zip(leaving, stages, strict=True) if at == stage] for stage in range(STAGES)]


def play(course, rounds, *, restart, confirmed=False):
    n, threshold, colluders, (at_keys, at_shares, at_masks, at_unmask) = course
    agreed = terms(threshold, rounds, colluders, confirmed=confirmed)
    session = Session(n, agreed, signed=confirmed, restart=restart).keys(at_keys).shares(at_shares)
    for round_ in range(rounds):
        last = round_ == rounds - 1
        total, expected = session.total(round_, inputs(n), at_masks if round_ == 0 else (), at_unmask if last else ())
        assert total.dtype == np.uint64
        assert np.array_equal(total, expected)


@settings(max_examples=40)
@given(courses(), st.integers(1, 3), st.booleans())
def test_totals_are_exact_for_all_dropouts(course, rounds, restart):
    play(course, rounds, restart=restart)


@settings(max_examples=8)
@given(courses())
def test_confirmed_totals_are_exact_for_all_dropouts(course):
    play(course, 2, restart=True, confirmed=True)


def five(threshold, stage, count):
    """The total of five parties of which some drop out in a stage."""
    gone = [names(5)[:count] if s == stage else [] for s in range(STAGES)]
    session = Session(5, terms(threshold)).keys(gone[0]).shares(gone[1])
    return session.total(0, inputs(5), gone[2], gone[3])


@pytest.mark.parametrize("stage", range(STAGES))
@pytest.mark.parametrize("count", [1, 2])
def test_every_stage_survives_as_many_dropouts_as_the_threshold_allows_and_no_more(stage, count):
    total, expected = five(5 - count, stage, count)
    assert np.array_equal(total, expected)
    with pytest.raises(FedDPError, match=f"must be at least {6 - count}.* got {5 - count}"):
        five(6 - count, stage, count)


def test_a_confirmed_round_survives_a_party_that_confirms_nothing():
    session = ready(5, 3, confirmed=True)
    values = inputs(5)
    sent = session.masked(0, values)
    survivors = sorted(sent)
    session.parties.pop("p04")
    signatures = {name: party.confirm(0, survivors, IDENTITIES[name]) for name, party in session.parties.items()}
    replies = {name: party.unmask(0, survivors, signatures) for name, party in session.parties.items()}
    assert np.array_equal(opened(session.aggregator, 0, sent, replies), exact(values, names(5)))


def test_a_round_that_is_skipped_does_not_disturb_later_ones():
    session = ready(4, 3, rounds=3)
    session.masked(0, inputs(4))
    total, expected = session.total(2, inputs(4), ["p01"])
    assert np.array_equal(total, expected)


def test_an_empty_input_has_an_empty_total():
    total, expected = ready(3, 2).total(0, inputs(3, size=0))
    assert len(total) == len(expected) == 0


def test_totals_wrap_around_as_signed_sums_do():
    session = ready(3, 2)
    values = {name: np.array([-5, 3], dtype=np.int64) for name in names(3)}
    total, _ = session.total(0, values)
    assert total.view(np.int64).tolist() == [-15, 9]
