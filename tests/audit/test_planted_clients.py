"""Fifty planted clients who try to bring one target's rare word, or its cell of a profile, to light. Real runs, real noise laws."""

import math

import numpy as np
import pytest
from scipy.stats import beta

from feddp_kmeans.algorithm.cluster_profile import AskedColumn, profile_of, profile_plan
from feddp_kmeans.algorithm.cluster_words import words_of, words_plan
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit

CENTERS = np.array([[0.0, 0.0], [10.0, 10.0]])
RUNS, PLANTED, CROWD, DELTA = 400, 50, 400, 1e-6
WORDS = [f"word{number}" for number in range(8)]
RARE = 7
CLASSES = tuple(f"class{number}" for number in range(6))


def crowd(kind, *, planted, with_target):
    """Return honest clients in cluster 0, planted ones and the target in cluster 1, all of whom hold the rare word or class."""
    rng = np.random.default_rng(0)
    most = len(WORDS) if kind == "words" else len(CLASSES)
    honest = [np.array([[0.0, 0.0, rng.integers(most - 1)]]) for _ in range(CROWD)]
    return [*honest, *[np.array([[10.0, 10.0, most - 1]])] * (planted + with_target)]


def shown(kind, clients, epsilon, seed):
    """Return whether the rare word, or more than the planted clients' part of its class, is shown in cluster 1."""
    federation = InMemoryFederation(clients)
    unit, n_clients = PrivacyUnit.CLIENT, CROWD + PLANTED  # the number of clients is public: the target is one more or not
    if kind == "words":
        plan = words_plan(unit, epsilon, DELTA, n_clients=n_clients, k=2, n_words=len(WORDS), most=3)
        with federation.open(plan, seed) as run:
            found = words_of(run, CENTERS, None, WORDS, 1, most=3)
        return WORDS[RARE] in [one.word for one in found.words[1]]
    asked = [AskedColumn("column", CLASSES)]
    plan = profile_plan(unit, epsilon, DELTA, n_clients=n_clients, k=2, asked=asked)
    with federation.open(plan, seed) as run:
        found = profile_of(run, CENTERS, None, asked, least_size=PLANTED + 0.5)
    return bool(found.shown[1])


def rates(kind, epsilon, planted):
    """Return how often the target's secret is shown with and without it."""
    return [
        np.mean([shown(kind, crowd(kind, planted=planted, with_target=there), epsilon, seed) for seed in range(RUNS)]) for there in (1, 0)
    ]


def beyond(present, absent, epsilon):
    """Return whether these rates break the guarantee, beyond what so few runs explain (one in a thousand)."""
    least = beta.ppf(0.001, RUNS * present, RUNS * (1 - present) + 1) if present else 0.0
    most = beta.ppf(0.999, RUNS * absent + 1, RUNS * (1 - absent)) if absent < 1 else 1.0
    return least > math.exp(epsilon) * most + DELTA


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "profile"])
def test_planted_clients_learn_no_more_than_the_guarantee_allows(kind):
    for planted in (0, 3, 20, PLANTED):
        present, absent = rates(kind, 1.0, planted)
        assert not beyond(present, absent, 1.0)
        assert not beyond(1 - present, 1 - absent, 1.0)


@pytest.mark.slow
def test_the_attack_succeeds_where_noise_is_far_too_small():
    present, absent = rates("profile", 100.0, PLANTED)
    assert beyond(present, absent, 1.0)
