"""The roster: what its words stand for, and who may be asked for."""

from dataclasses import replace

import pytest

from feddp_kmeans import FedDPError
from feddp_kmeans.network.roster import KnownSites, Roster
from feddp_kmeans.network.secure_sum.identity import new_identity, public_line
from feddp_kmeans.network.site_key import SiteKey

LINES = [public_line(new_identity().public_key()) for _ in range(4)]
SITES = tuple(SiteKey(name, line, 1, 1 << 37) for name, line in zip("abc", LINES, strict=False))
ROSTER = Roster("host", 1, (b"x" * 32,), SITES)


@pytest.mark.parametrize(
    "other",
    [
        replace(ROSTER, host="host2"),
        replace(ROSTER, port=2),
        replace(ROSTER, authorities=(b"y" * 32,)),
        replace(ROSTER, authorities=(b"x" * 32, b"y" * 32)),
        replace(ROSTER, sites=SITES[:2]),
        replace(ROSTER, sites=(*SITES, SiteKey("d", LINES[3], 1, 2))),
        replace(ROSTER, sites=(*SITES[:2], replace(SITES[2], line=LINES[3]))),
        replace(ROSTER, sites=(*SITES[:2], replace(SITES[2], name="d"))),
        replace(ROSTER, sites=(*SITES[:2], replace(SITES[2], until=(1 << 37) + 1))),
        replace(ROSTER, sites=(*SITES[:2], replace(SITES[2], since=None, until=None))),
    ],
)
def test_any_change_changes_the_words(other):
    assert other.words != ROSTER.words
    assert other.digest != ROSTER.digest


def test_a_revocation_and_how_a_key_was_renewed_do_not_change_the_words():
    changed = replace(ROSTER, sites=(replace(SITES[0], revoked=True), replace(SITES[1], renewal=b"signature"), SITES[2]))
    assert changed.words == ROSTER.words


def test_a_roster_comes_back_from_plain_data():
    assert Roster.from_dict(ROSTER.to_dict()) == ROSTER


def test_a_site_that_may_not_take_part_still_counts():
    sites = (replace(SITES[0], revoked=True), replace(SITES[1], until=2), SITES[2])
    roster = replace(ROSTER, sites=sites)
    known = KnownSites(roster)
    assert len(known) == 3
    assert list(known) == ["a", "b", "c"]
    assert "a" in known
    assert "d" not in known
    assert known["c"] == SITES[2].key
    for name, why in (("a", "it was revoked"), ("b", "it expired at 1970-01-01T00:00:02Z")):
        with pytest.raises(FedDPError, match=f"the key of '{name}' must be valid, but {why}"):
            known[name]
    assert roster.usable == {"c": SITES[2].key}
    assert sorted(roster.problems) == ["a", "b"]


def test_a_key_that_is_revoked_in_one_roster_is_revoked_in_the_other():
    before = replace(ROSTER, sites=(replace(SITES[0], revoked=True), *SITES[1:]))
    assert [site.revoked for site in ROSTER.without(before).sites] == [True, False, False]
    new_key = replace(ROSTER, sites=(replace(SITES[0], line=LINES[3]), *SITES[1:]))
    assert [site.revoked for site in new_key.without(before).sites] == [False, False, False]


def test_one_key_under_two_names_is_refused():
    with pytest.raises(FedDPError, match=r"b\.pub must hold a key of its own, got the key of 'a'"):
        replace(ROSTER, sites=(SITES[0], replace(SITES[1], line=LINES[0])))
