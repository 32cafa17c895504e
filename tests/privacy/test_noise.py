"""The law of the noise, and where its bits come from."""

import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy import noise
from feddp_kmeans.privacy.noise import SeededStream, StreamFactory, SystemStream, discrete_gaussian, rounded_laplace

FALSE_ALARM = 1e-6
"""Chance that a test of the law fails for a right sampler, each; seeds are fixed, so it either passes always or never."""


def continuous(draws, rng):
    """Spread each integer over its cell, so that a continuous law can be tested."""
    return draws + rng.random(len(draws)) - 0.5


@pytest.mark.parametrize("sigma", [3.7, 1000.25, 2.0**30 * 1.7])
@pytest.mark.parametrize("seed", range(10))
def test_gaussian_has_the_stated_scale_and_no_other(sigma, seed, rng):
    draws = discrete_gaussian(SeededStream(seed), sigma, 20_000)
    spread = continuous(draws, rng)
    right = stats.norm(scale=np.hypot(sigma, 12**-0.5)).cdf
    assert stats.kstest(spread, right).pvalue > FALSE_ALARM
    for wrong in (0.7, 1.3):
        assert stats.kstest(spread, stats.norm(scale=wrong * sigma).cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("scale", [2, 1000, 2**30 + 7])
@pytest.mark.parametrize("seed", range(10))
def test_laplace_has_the_stated_scale_and_no_other(scale, seed):
    draws = rounded_laplace(SeededStream(seed), scale, 20_000)
    expected = 0.5 * np.exp(-0.5 / scale)
    assert abs(np.mean(draws > 0) - expected) < 0.025
    magnitudes = np.abs(draws[draws != 0])
    # P(|x| >= j | x != 0) = exp(-(j - 1) / scale): geometric from 1 on.
    p = -np.expm1(-1 / scale)
    observed = np.sort(magnitudes)
    distance = np.max(np.abs(stats.geom.cdf(observed, p) - np.searchsorted(observed, observed, side="right") / len(observed)))
    critical = stats.kstwo.isf(FALSE_ALARM, len(observed))
    assert distance < critical
    for wrong in (0.7, 1.3):
        q = -np.expm1(-1 / (wrong * scale))
        assert np.max(np.abs(stats.geom.cdf(observed, q) - np.searchsorted(observed, observed, side="right") / len(observed))) > critical


@pytest.mark.parametrize("sigma", [0.8, 4.0])
def test_gaussian_on_small_integers_is_exact(sigma):
    draws = discrete_gaussian(SeededStream(5), sigma, 400_000)
    reach = int(4 * sigma)
    support = np.arange(-200, 201)
    mass = np.exp(-(support**2) / (2 * sigma**2))
    mass /= mass.sum()
    inner = np.abs(support) <= reach
    observed = np.array([np.sum(draws == x) for x in support[inner]])
    expected = mass[inner] * len(draws)
    chi2 = np.sum((observed - expected) ** 2 / expected)
    assert stats.chi2.sf(chi2, inner.sum() - 1) > FALSE_ALARM


def test_seeds_0_to_99_give_centred_noise():
    means = [discrete_gaussian(SeededStream(seed), 1e6, 1000).mean() / 1e6 for seed in range(100)]
    assert np.abs(means).max() < 6 / np.sqrt(1000)
    assert len(set(means)) == 100


def test_a_seeded_stream_repeats_itself_and_labels_differ():
    first = StreamFactory(3)
    second = StreamFactory(3)
    assert np.array_equal(first.stream("a").uint64(50), second.stream("a").uint64(50))
    assert not np.array_equal(first.stream("a").uint64(50), second.stream("b").uint64(50))
    repeated = StreamFactory(3)
    assert not np.array_equal(repeated.stream("a").uint64(50), repeated.stream("a").uint64(50))


def test_system_streams_are_secure_and_never_repeat():
    assert SystemStream().secure
    assert StreamFactory().secure
    assert not SeededStream(1).secure
    assert not StreamFactory(1).secure
    assert not np.array_equal(SystemStream().uint64(8), SystemStream().uint64(8))


def test_a_forked_process_gets_its_own_key():
    stream = SystemStream()
    stream.uint64(4)
    key_before = stream._encryptor
    stream._pid = -1  # what a child process sees: its own id differs from the one the key was made in
    stream.uint64(4)
    assert stream._encryptor is not key_before
    assert stream._pid == os.getpid()


def test_a_stream_is_keyed_anew_after_a_gibibyte(monkeypatch):
    monkeypatch.setattr(noise, "_REKEY_BYTES", 64)
    stream, whole = SeededStream(1), SeededStream(1)
    first, second = stream.uint64(16), stream.uint64(16)
    monkeypatch.undo()
    assert np.array_equal(first, whole.uint64(16))
    assert not np.array_equal(second, whole.uint64(16))
    assert not np.array_equal(first, second)


class FakeStream:
    secure = False

    def __init__(self, *answers):
        self.answers = list(answers)

    def uint64(self, size):
        answer = self.answers.pop(0)
        assert len(answer) == size
        return np.array(answer, dtype=np.uint64)


def test_a_tie_with_the_threshold_is_decided_by_more_bits():
    # exp(-30) * 2**64 is not a whole number: its fraction decides among the bits that tie with its whole part.
    scaled = np.exp(-30.0) * 2.0**64
    whole, fraction = int(scaled), scaled - int(scaled)
    below, above = int(fraction * 2.0**64) - 1, int(fraction * 2.0**64) + 1
    stream = FakeStream([whole - 1, whole, whole, whole + 1], [below, above])
    assert noise._bernoulli_exp(stream, np.full(4, 30.0)).tolist() == [True, True, False, False]


@pytest.mark.parametrize("exponent", [1e-3, 0.5, 30.0, 84.5, 100.0, 300.0, 740.0])
def test_all_bits_of_a_probability_count(exponent):
    """At 13 standard deviations (84.5) the first 64 bits are zeros, and 64 more once left a relative error of 2**-24 or worse."""
    rest, digits = Fraction(float(np.exp(-exponent))), []
    while rest:
        digit, rest = divmod(rest * 2**64, 1)
        digits.append(int(digit))
    assert coin(exponent, digits) is False  # the very probability is not below itself
    *first, last = digits
    assert coin(exponent, [*first, last - 1]) is True
    assert coin(exponent, [*first, last + 1]) is False
    for place in range(len(first)):
        assert coin(exponent, [*digits[:place], digits[place] + 1]) is False


def coin(exponent, answers):
    """The coin that these random numbers give; all of them are asked for."""
    stream = FakeStream(*([answer] for answer in answers))
    (shown,) = noise._bernoulli_exp(stream, np.array([exponent]))
    assert not stream.answers
    return bool(shown)


def test_only_coins_that_tie_ask_for_more():
    p = np.exp(-np.array([30.0, 84.5, 0.0, 1.0]))
    whole = [int(Fraction(float(x)) * 2**64) for x in p[:2]]
    stream = FakeStream([whole[0], whole[1], 0, 0], [0, 2**64 - 1])
    assert noise._bernoulli_exp(stream, np.array([30.0, 84.5, 0.0, 1.0])).tolist() == [True, False, True, True]


def test_a_certain_event_always_happens():
    stream = FakeStream([2**64 - 1, 0])
    assert noise._bernoulli_exp(stream, np.zeros(2)).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), 2.0**57])
def test_a_scale_out_of_range_is_refused(scale):
    with pytest.raises(FedDPError, match="noise scale must be"):
        discrete_gaussian(SeededStream(0), scale, 1)


def test_no_draws_is_no_draws():
    assert len(discrete_gaussian(SeededStream(0), 5.0, 0)) == 0
