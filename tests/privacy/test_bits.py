"""The attack on floating point, on every release of every method: no bit of a released number tells neighbours apart.

Noise that is added in floating point leaves the precision of the sum in the released bits (Haney et al. 2022): with scale 4 the event
"not a multiple of 2**-53" has a chance of 7 % for a sum of 0 and none for a sum of 1. Here every released number must be a whole number of
public steps, with low bits that are fair coins whatever the data, and noise that is drawn without looking at them.
"""

import math

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import SeededStream

DRAWS = 1500
LOW_BITS = 6
SIGMAS = 6.5
"""A fair coin shown DRAWS times strays so far with a chance below 1e-10; all tests here look at fewer than 1e4 coins: 1e-6 in all."""

CONFIGURATIONS = {
    "paper, points": {"method": "paper"},
    "paper, points, Gaussian counts": {"method": "paper", "noise": "gaussian"},
    "paper, clients": {"method": "paper", "privacy_unit": "client"},
    "refined, points": {},
    "refined, clients": {"privacy_unit": "client", "client_size": 12},
    "no server data, points": {"box": (-8.0, 8.0)},
    "no server data, points, no box": {},
    "no server data, clients": {"privacy_unit": "client", "client_size": 12, "box": (-8.0, 8.0)},
}
RNG = np.random.default_rng(3)
CLIENTS = [RNG.standard_normal((12, 2)) + 5 * (i % 2) for i in range(8)]
SERVER = RNG.standard_normal((25, 2)) + 2.5


class Watched(InMemoryFederation):
    """Keeps every release with the sum it was made of and what came out."""

    def _adder(self, run):
        self.seen = []
        return _Watching(self._silo.for_run(), self.seen)


class _Watching(ExactAdder):
    def __init__(self, silo, seen):
        super().__init__(silo.exact_sum)
        self.seen = seen

    def noisy_sum(self, asked):
        found = super().noisy_sum(asked)
        self.seen.append((asked.release, self._total(asked.query, asked.cohort), found.values))
        return found


def prepared_for(name, epsilon=2.0):
    settings = Settings(2, epsilon, lloyd_steps=1, **CONFIGURATIONS[name])
    if name.startswith("no server"):
        return prepare(settings, None, len(CLIENTS), 2)
    return prepare(settings, SERVER, len(CLIENTS))


def releases_of(name, clients, seed=0, epsilon=2.0):
    federation = Watched(clients)
    run(federation, prepared_for(name, epsilon), seed=seed)
    return federation.seen


def step_of(release):
    """The public length of which a release is a whole multiple: grid, refined by a power of two until the noise has 2**27 steps."""
    fine = release.noise_multiplier * release.integer_sensitivity
    return release.grid * 2.0 ** -max(0, math.ceil(math.log2(2.0**27 / fine)))


def is_on_grid(values, step):
    whole = np.rint(values / step)
    return bool((whole * step == values).all()) and bool((np.abs(whole) < 2.0**62).all())


def neighbours(name):
    """Data sets that differ by one unit: a point at 1e300, one that is subnormal, an ordinary one; or a whole client."""
    if CONFIGURATIONS[name].get("privacy_unit") == "client":
        yield [*CLIENTS, np.full((40, 2), 1e300)]
        yield CLIENTS[1:]
        return
    for point in ([1e300, -1e300], [5e-324, 0.1], [1 / 3, math.pi]):
        yield [np.concatenate([CLIENTS[0], [point]]), *CLIENTS[1:]]
    yield [CLIENTS[0][1:], *CLIENTS[1:]]


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_every_released_number_is_a_whole_number_of_public_steps_whatever_the_data(name):
    ours = releases_of(name, CLIENTS)
    for clients in neighbours(name):
        theirs = releases_of(name, clients)
        # How many small releases make a look follows from what was released before, so its noise may differ.
        assert [release.name for release, _, _ in ours] == [release.name for release, _, _ in theirs]
        for release, total, values in (*ours, *theirs):
            assert total.dtype == np.int64
            assert values.dtype == np.float64
            assert is_on_grid(values, step_of(release)), release.name


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_low_bits_are_fair_coins_on_both_of_two_neighbours(name):
    other = next(neighbours(name))
    for (release, one, _), (_, two, _) in zip(releases_of(name, CLIENTS), releases_of(name, other), strict=True):
        place = int(np.argmax(np.abs(one - two))) if len(one) == len(two) else 0
        for total in (one[place], two[place] if len(one) == len(two) else one[place]):
            stream = SeededStream(5, release.name)
            many = Release(**{**vars(release), "values": DRAWS}).noisy(np.full(DRAWS, total), stream)
            steps = np.rint(many / step_of(release)).astype(np.int64)
            shown = np.array([(steps >> bit & 1).mean() for bit in range(LOW_BITS)])
            assert (np.abs(shown - 0.5) <= SIGMAS * 0.5 / math.sqrt(DRAWS)).all(), (release.name, shown)


@pytest.mark.parametrize("noise", [np.random.default_rng(0).normal, np.random.default_rng(0).laplace])
def test_the_attack_finds_noise_that_is_added_in_floating_point(noise):
    release = Release("sums", Mechanism.GAUSSIAN, 1.0, float(1 << 16), 4.0, DRAWS)
    for total in (0.0, 1.0):
        assert not is_on_grid(total + noise(0.0, 4.0, DRAWS), step_of(release))
    # The published attack itself: what separates the two is a multiple of 2**-53 or none.
    beyond = [float(((total + noise(0.0, 4.0, 20_000)) * 2.0**53 % 1 != 0).mean()) for total in (0.0, 1.0)]
    assert beyond[0] > 0.02 > beyond[1] == 0.0


def test_the_attack_finds_noise_on_a_grid_that_can_be_seen():
    coarse = np.rint(np.random.default_rng(0).normal(0.0, 4.0, DRAWS)) * 2.0**20
    shown = np.array([(coarse.astype(np.int64) >> bit & 1).mean() for bit in range(LOW_BITS)])
    assert (np.abs(shown - 0.5) > SIGMAS * 0.5 / math.sqrt(DRAWS)).all()


class Counted(SeededStream):
    """Remembers how many words were asked for, and when."""

    def __init__(self, *given):
        self.asked = []
        super().__init__(*given)

    def uint64(self, size):
        self.asked.append(size)
        return super().uint64(size)


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
@pytest.mark.parametrize("shares", [1, 4])
def test_noise_is_drawn_without_a_look_at_the_sum(name, shares):
    for release, total, _ in releases_of(name, CLIENTS):
        if release.mechanism is Mechanism.LAPLACE and shares > 1:
            continue
        drawn = []
        for given in (total, np.zeros_like(total), -7 * total, np.full_like(total, 2**20 + 1)):
            stream = Counted(1, release.name)
            out = release.with_noise(given, stream, shares)
            bare = release.with_noise(np.zeros_like(given), SeededStream(1, release.name), shares)
            shift = round(math.log2(release.grid / step_of(release)))
            assert np.array_equal(out - (given << shift), bare)
            drawn.append(stream.asked)
        assert all(asked == drawn[0] for asked in drawn)


def test_a_release_on_a_finer_budget_has_the_steps_of_its_plan_alone():
    for epsilon in (0.05, 1.0, 50.0):
        for release, _, values in releases_of("refined, points", CLIENTS, epsilon=epsilon):
            assert is_on_grid(values, step_of(release))
