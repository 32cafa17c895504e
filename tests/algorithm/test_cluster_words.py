"""Words that set clusters apart."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.cluster_words import standing_out, words_of, words_plan
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.unit import PrivacyUnit

LISTED = ["visa", "flight", "train", "good", "rare"]
CENTERS = np.array([[-4.0], [4.0]])


def drawn(n=4000):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.6, groups, 3)
    return np.column_stack([CENTERS[groups, 0], first, np.where(rng.random(n) < 0.3, 2, -1)])


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_words_of_a_cluster_come_first_and_common_ones_do_not(unit):
    rows = drawn()
    plan = words_plan(unit, 2.0, 1e-6, n_clients=2000, k=2, n_words=5, most=4)
    with InMemoryFederation(np.split(rows, 2000)).open(plan, 0) as run:
        found = words_of(run, CENTERS, None, LISTED, 2, most=4)
    assert [words[0].word for words in found.words] == ["visa", "flight"]
    assert found.names[0].startswith("visa")
    assert all(word.word not in {"good", "rare"} for words in found.words for word in words)
    lift = found.words[0][0]
    assert abs(lift.lift - 2) < 5 * lift.lift_error + 0.1
    assert found.to_dict()["clusters"][1]["words"][0]["word"] == "flight"


def test_noise_alone_names_nothing():
    counts = 5 * np.random.default_rng(1).standard_normal((3, 1000))
    found = standing_out(counts, 5.0, [f"w{i}" for i in range(1000)], 10)
    assert sum(map(len, found)) < 15
    assert standing_out(np.zeros((2, 3)), 1.0, LISTED[:3], 10) == ((), ())
