"""The contest of local optima: which of them there are, and which of them wins."""

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import carry_out
from feddp_kmeans.algorithm.contest import CONTEST, local_optima
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.estimator import FedDPKMeans
from feddp_kmeans.federation.in_memory import InMemoryFederation

CORNERS = np.array([[0.0, 0], [3.0, 0], [0, 2], [3, 2]])
"""Two clusters of this rectangle are two short sides, or, a little dearer, two long ones."""


def test_optima_are_different_and_the_best_is_first():
    short, long = np.array([[0.0, 1], [3, 1]]), np.array([[1.5, 0], [1.5, 2]])
    found = local_optima(CORNERS, np.ones(4), 100.0, [long, short], 0)
    assert len(found) == 2
    assert sorted(found[0].tolist()) == short.tolist()
    assert sorted(found[1].tolist()) == long.tolist()
    assert len(local_optima(CORNERS, np.ones(4), 0.0, [long, short], 0)) == 1  # far dearer, if there is no other cost
    assert local_optima(CORNERS[:2], np.ones(2), 1.0, [short], 0) == [short]
    assert len(local_optima(np.random.default_rng(0).standard_normal((200, 2)), np.ones(200), 9.0, [np.eye(9, 2)], 0)) <= CONTEST.most


@pytest.mark.parametrize(("height", "comparisons"), [(2.988, 2), (2.9, 1)])
def test_local_optima_compete_where_noise_is_low_and_the_best_wins(height, comparisons, monkeypatch):
    """Corners of a rectangle that is nearly a square: its short sides are one optimum, its long ones another.

    Where these cost clearly more, one comparison is enough, and nobody looks around them.
    """
    rng = np.random.default_rng(1)
    corners = np.array([[0.0, 0], [3.0, 0], [0, height], [3, height]])
    server, clients = (np.pad(np.repeat(corners, n, axis=0), ((0, 0), (0, 3))) + 0.1 * rng.standard_normal((4 * n, 5)) for n in (60, 5000))
    prepared, asked = prepare(Settings(2, 8.0, scale="off"), server, 1), []
    with InMemoryFederation([clients]).open(prepared.plan, seed=0) as opened:
        made = opened.noisy_sum

        def noisy_sum(statistic, *given, **more):
            asked.append(statistic.name)
            return made(statistic, *given, **more)

        monkeypatch.setattr(opened, "noisy_sum", noisy_sum)
        found = carry_out(opened, prepared)
    assert asked.count("point-costs") == comparisons
    assert found.centers[:, 1] == pytest.approx([height / 2, height / 2], abs=0.1)


def test_high_noise_leaves_no_contest():
    rng = np.random.default_rng(1)
    points = np.repeat(CORNERS, 50, axis=0) + 0.05 * rng.standard_normal((200, 2))
    model = FedDPKMeans(2, epsilon=0.1, random_state=0).fit([points], server_data=points)
    assert model.cluster_centers_.shape == (2, 2)
    assert pytest.approx(0.1, rel=0.01) == model.privacy_.epsilon_spent
