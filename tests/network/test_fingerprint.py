"""Fingerprints in words."""

import re

import pytest

from feddp_kmeans.network.fingerprint import KEY_WORDS, ROSTER_WORDS, _word, in_words, same_words


@pytest.mark.parametrize(("number", "word"), [(0x7F00, "lusab"), (0x0001, "babad"), (0x3F54, "gutih"), (0xDCC1, "tugad"), (0, "babab")])
def test_the_words_are_those_of_the_published_proposal(number, word):
    assert _word(number) == word


def test_all_numbers_have_words_of_their_own():
    words = {_word(number) for number in range(1 << 16)}
    assert len(words) == 1 << 16
    assert all(re.fullmatch("([bdfghjklmnprstvz][aiou]){2}[bdfghjklmnprstvz]", word) for word in words)


def test_a_key_has_at_least_64_bits_of_words_and_a_roster_twice_as_many_for_any_two_rosters():
    assert 16 * KEY_WORDS >= 64
    assert 16 * ROSTER_WORDS >= 128
    assert len(in_words(b"x", ROSTER_WORDS).split("-")) == ROSTER_WORDS
    assert in_words(b"x") != in_words(b"y")


@pytest.mark.parametrize("written", ["LUSAB babad", "lusab-babad", " lusabbabad ", "lusab, babad."])
def test_words_are_the_same_however_they_are_written_down(written):
    assert same_words(written, "lusab-babad")


@pytest.mark.parametrize("written", ["", "lusab", "lusab-babaf", "lusab-babad-babad"])
def test_other_words_are_not(written):
    assert not same_words(written, "lusab-babad")
