"""The secure sum over a whole run: one planned release is opened once, whatever sessions, parties, rounds and terms a server makes up."""

import pytest

from tests.network.lying_server import OTHER, SWAPPED, Liar, terms


def test_one_release_is_not_opened_by_one_small_group_after_the_other(tmp_path):
    """In a roster of 41 the victim meets {a, b}, then {c, d}, ...: each a sound session of three by itself."""
    liar = Liar(tmp_path, 41)
    victim, *others = liar.names
    for pair in zip(others[::2], others[1::2], strict=True):
        meeting = liar.meet(terms(threshold=2, colluders=0), [victim, *pair])
        if meeting.adverts:
            meeting.share([victim, *pair])
            meeting.open([victim, *pair], 0)
    assert liar.openings("loud 0") == set()
    assert all("threshold must be at least 21 of 41 sites, got 2" in meeting.refusals[0] for meeting in liar.meetings)


def test_without_a_roster_the_parties_of_the_first_session_stay(tmp_path):
    liar = Liar(tmp_path, 7, roster=None, confirmed=False)
    victim, *others = liar.names
    groups = [[victim, *pair] for pair in zip(others[::2], others[1::2], strict=True)]
    for group in groups:
        meeting = liar.meet(terms(threshold=2, colluders=0, confirmed=False), group)
        meeting.share(group)
        meeting.open(group, 0)
    assert [survivors for survivors, _ in liar.openings("loud 0") if victim in survivors] == [tuple(groups[0])]
    assert "parties must be those of the run's first session, got 'site03'" in liar.meetings[1].refusals[0]


def test_parties_of_a_run_may_become_fewer_and_come_back_and_never_others(tmp_path):
    liar = Liar(tmp_path, 6)
    first = liar.meet(terms(), liar.names[:5])
    assert first.share(liar.names[:5])
    fewer = liar.meet(terms(), liar.names[:4])
    assert fewer.share(liar.names[:4])
    assert liar.meet(terms(), liar.names[:5]).share(liar.names[:5])
    other = liar.meet(terms(), liar.names)
    assert not other.share(liar.names)
    assert other.refusals == ["parties must be those of the run's first session, got 'site05'."] * 5


def test_a_run_whose_first_session_has_too_many_parties_for_its_threshold_is_refused(tmp_path):
    liar = Liar(tmp_path, 6, roster=None, confirmed=False)
    meeting = liar.meet(terms(threshold=3, colluders=0, confirmed=False), liar.names)
    assert not meeting.share(liar.names)
    assert set(meeting.refusals) == {"threshold must be at least 4 of 6 sites, got 3."}


def test_a_site_that_masks_one_release_is_not_added_to_the_others_with_another(tmp_path):
    """The others' noise is the noise of what they were asked for, and they would not remember that the victim's release was opened."""
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(), liar.names)
    assert meeting.share(liar.names)
    for number, label in enumerate(("low 0", "often 0", "often 1")):
        assert meeting.mask([victim], number, "loud 0")
        assert meeting.mask(others, number, label)
        meeting.confirm(others, number, liar.names)
        meeting.unmask(others, number, liar.names)
        assert len(meeting.replies[number, tuple(liar.names)]) == 4
        assert meeting.total(number, tuple(liar.names), label) is None
    assert liar.openings("loud 0") == set()


def test_a_site_that_was_asked_with_other_arguments_is_not_added_to_the_others(tmp_path):
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    meeting.mask([victim], 0, public=OTHER)
    meeting.mask(others, 0)
    meeting.confirm(others, 0, liar.names)
    meeting.unmask(others, 0, liar.names)
    assert liar.openings("loud 0") == set()


def test_a_site_that_masks_another_number_of_a_release_is_not_added_to_the_others(tmp_path):
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    meeting.mask([victim], 0, "often 0")
    meeting.mask(others, 0, "often 1")
    meeting.confirm(others, 0, liar.names)
    meeting.unmask(others, 0, liar.names)
    assert len(meeting.replies[0, tuple(liar.names)]) == 4
    assert liar.openings("often 0") == liar.openings("often 1") == set()


def test_a_site_does_not_help_to_open_what_it_was_not_asked_for(tmp_path):
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    meeting.mask([victim], 0, "low 0")
    meeting.mask(others, 0)
    meeting.confirm(liar.names, 0, liar.names)
    meeting.unmask([victim], 0, liar.names)
    assert meeting.refusals == ["confirmations of round 0 must be at least 4, got 1 that are valid."]


def test_sites_that_agreed_to_other_plans_share_no_keys(tmp_path):
    """Each plan is within every site's limit, but the noise of the others' would not cover the victim's release."""
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(SWAPPED), others)
    meeting.run = terms()
    meeting.agree([victim])
    assert meeting.share(liar.names) is False
    assert meeting.shared == {}


def test_what_was_opened_is_said_again_to_the_letter_and_nothing_else_is(tmp_path):
    liar = Liar(tmp_path, 5)
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    assert meeting.open(liar.names, 0) is not None
    asked = [(name, request) for name, request in liar.requests if b'"unmask"' in request]
    said = [liar.sites[name].handle(request) for name, request in asked]
    assert [liar.sites[name].handle(request) for name, request in asked] == said
    for name, reply in zip(liar.names, said, strict=True):
        assert meeting.say(name, "unmask", round=0, survivors=liar.names, confirmations={})["self_shares"] in _shares(reply)
        assert meeting.say(name, "unmask", round=0, survivors=liar.names[:4], confirmations={}) is None
    again = liar.meet(terms(), liar.names)
    again.share(liar.names)
    assert not again.mask(liar.names, 0)
    assert set(again.refusals) == {"release 'loud 0' must be made only once, got a request to make it again."}
    assert [liar.sites[name].handle(request) for name, request in asked] == said
    assert again.open(liar.names, 1, "low 0") is not None
    assert len(liar.openings("loud 0")) == 1


def _shares(reply):
    from feddp_kmeans.network.wire import unpack

    return [unpack(reply).fields["self_shares"]]


def test_a_release_that_was_not_opened_is_tried_again_with_fresh_noise(tmp_path):
    liar = Liar(tmp_path, 5)
    first = liar.meet(terms(), liar.names)
    first.share(liar.names)
    first.mask(liar.names, 0)
    first.confirm(liar.names, 0, liar.names)
    first.mask(liar.names[:1], 0)
    assert first.refusals == ["round 0 of 'site00' must be later than the last masked one, 0, got a request out of order."]
    first.mask(liar.names, 1)
    assert first.masked[0].keys() == first.masked[1].keys()
    second = liar.meet(terms(), liar.names)
    second.share(liar.names)
    assert second.open(liar.names, 0) is not None
    first.unmask(liar.names, 0, liar.names)
    assert len(liar.openings("loud 0")) == 1


def test_sessions_of_a_run_do_not_fill_a_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("feddp_kmeans.network.participant._MOST_SESSIONS", 3)
    liar = Liar(tmp_path, 3)
    meetings = [liar.meet(terms(threshold=3), liar.names[:1]) for _ in range(4)]
    assert [bool(meeting.adverts) for meeting in meetings] == [True, True, True, False]
    assert meetings[3].refusals == ["sessions of a run must be at most 3, got one more."]


@pytest.mark.parametrize("label", ["loud\x1b[2J", "two\nlines", "x" * 201, ""])
def test_names_of_releases_cannot_fool_a_site_s_terminal(tmp_path, label):
    from feddp_kmeans.privacy.plan import Plan
    from feddp_kmeans.privacy.unit import PrivacyUnit
    from tests.network.lying_server import release

    liar = Liar(tmp_path, 3)
    meeting = liar.meet(terms(Plan(PrivacyUnit.POINT, 50.0, 1e-6, (release(label),)), threshold=3), liar.names[:1])
    assert "the plan of a run must state names that can be printed" in meeting.refusals[0]


def test_a_site_that_makes_fewer_releases_as_one_is_not_added_to_the_others(tmp_path):
    """It would count one release while the others' noise is that of two made as one: less than covers its part."""
    liar = Liar(tmp_path, 5)
    victim, *others = liar.names
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    meeting.mask([victim], 0, "often 0")
    meeting.mask(others, 0, "often 0 x 2")
    meeting.confirm(others, 0, liar.names)
    meeting.unmask(others, 0, liar.names)
    assert len(meeting.replies[0, tuple(liar.names)]) == 4
    assert liar.openings("often 0") == liar.openings("often 0 x 2") == set()


def test_releases_made_as_one_take_all_their_numbers(tmp_path):
    liar = Liar(tmp_path, 5)
    meeting = liar.meet(terms(), liar.names)
    meeting.share(liar.names)
    assert meeting.open(liar.names, 0, "often 0 x 2") is not None
    for number in range(2):
        assert not meeting.mask(liar.names, 1, f"often {number}")
    assert set(meeting.refusals) == {f"release 'often {number}' must stay the query that it was, got another." for number in range(2)}
