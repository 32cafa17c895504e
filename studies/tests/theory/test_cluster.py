"""Algorithm "Cluster" of the appendix, end to end."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare_lloyds
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_studies.theory.assumptions import MixtureFacts
from feddp_studies.theory.cluster import LloydSpace, cluster, theory_plan
from feddp_studies.theory.separated import labels_of, same_partition, separated_mixture
from feddp_studies.theory.stated_bounds import theory_samples
from tests.variants import slow_after


@pytest.mark.parametrize("seed", slow_after(6, range(100)))
def test_without_noise_the_planted_clustering_comes_out_at_any_seed(seed):
    data = separated_mixture(seed, n=1000)
    settings = Settings(4, float("inf"), lloyd_steps=2)
    found = cluster(InMemoryFederation([data.points]), settings, data.server, facts=MixtureFacts(1000, 0.2, 1.0), seed=seed)
    assert same_partition(labels_of(data.points, found.centers), data.labels)


@pytest.mark.parametrize("constant", [1.0, pytest.param(3.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_with_noise_it_comes_out_at_the_sample_size_that_the_theorem_asks_for(constant, seed):
    facts = MixtureFacts(700_000, 0.24, 1.0)
    assert theory_samples(4, 5, 3, 1.0, 1e-6, facts) <= 760_000
    data = separated_mixture(seed, n=760_000, dimension=5, constant=constant)
    found = cluster(InMemoryFederation([data.points]), Settings(4, 1.0, lloyd_steps=3), data.server, facts=facts, seed=seed)
    assert same_partition(labels_of(data.points, found.centers), data.labels)
    errors = np.linalg.norm(data.means[:, None] - found.centers[None], axis=2).min(axis=1)
    assert (errors < 6 * found.center_stddev.max() * np.sqrt(5)).all()


def test_clusters_a_million_apart_are_found_in_their_own_space():
    rng = np.random.default_rng(5)
    means = np.array([[0.0, 0.0], [40.0, 0.0], [1e6, 0.0], [1e6, 2e6]])
    labels = rng.choice(4, 200_000)
    points = means[labels] + rng.standard_normal((200_000, 2))
    server = means[np.repeat(np.arange(4), 3)] + rng.standard_normal((12, 2))
    found = cluster(
        InMemoryFederation([points]), Settings(4, 8.0, lloyd_steps=2), server, facts=MixtureFacts(200_000, 0.2, 1.0), seed=0, spacing=10.0
    )
    assert same_partition(labels_of(points, found.centers), labels)
    assert np.linalg.norm(means[:, None] - found.centers[None], axis=2).min(axis=1).max() < 5
    assert "in 3 groups" in found.notes[0]
    assert float(found.notes[0].rsplit("radius ", 1)[1].split()[0]) < 5000


def test_the_ledger_adds_up_and_each_part_has_its_quarter():
    data = separated_mixture(0, n=1000)
    facts = MixtureFacts(1000, 0.2, 1.0)
    settings = Settings(4, 2.0, lloyd_steps=3, composition="paper-naive")
    plan = theory_plan(settings, facts, data.server)
    pure = {r.name: r.times / r.noise_multiplier for r in plan.releases if r.mechanism == "laplace"}
    assert pure["anchors"] == pytest.approx(0.5)
    assert pure["simplify"] + pure["weights"] == pytest.approx(0.5)
    # Half of the last quarter is for counts, over Part 2 and three Lloyd steps.
    assert pure["clear counts"] + pure["lloyd counts"] == pytest.approx(0.25)
    assert plan.epsilon_spent <= 2.0
    tight = theory_plan(Settings(4, 2.0, lloyd_steps=3), facts, data.server)
    assert 1.96 < tight.epsilon_spent <= 2.0
    assert all(a.noise_multiplier < b.noise_multiplier for a, b in zip(tight.releases, plan.releases, strict=True))


def test_the_noise_of_counts_is_not_a_choice():
    data = separated_mixture(0, n=1000)
    with pytest.raises(FedDPError, match="noise must be 'auto' for the theory's algorithm"):
        theory_plan(Settings(3, noise="gaussian"), MixtureFacts(1000, 0.2, 1.0), data.server)


def test_what_was_released_is_never_more_than_the_plan():
    data = separated_mixture(0, n=1000)
    found = cluster(InMemoryFederation([data.points]), Settings(4, 1.0), data.server, facts=MixtureFacts(1000, 0.2, 1.0), seed=0)
    planned = {r.name: r.times for r in found.plan.releases}
    assert {row["release"] for row in found.privacy.ledger} == set(planned)
    assert all(row["times"] <= planned[row["release"]] for row in found.privacy.ledger)


def test_groups_that_are_moved_make_noise_that_hides_clusters_at_the_least_n_of_the_theorem():
    data = separated_mixture(6, n=22_371, dimension=5)
    assert theory_samples(4, 5, 3, 4.0, 1e-6, data.facts) <= 22_371
    federation = InMemoryFederation([data.points])
    noisy, exact = (
        cluster(federation, Settings(4, epsilon, lloyd_steps=3, composition="paper-naive"), data.server, facts=data.facts, seed=6)
        for epsilon in (4.0, float("inf"))
    )
    assert "in 3 groups" in noisy.notes[0]
    assert not same_partition(labels_of(data.points, noisy.centers), data.labels)
    assert same_partition(labels_of(data.points, exact.centers), data.labels)


@pytest.mark.parametrize("space", LloydSpace)
def test_a_step_of_part_3_without_noise_is_what_its_space_says(space):
    # Overlapping clusters in 20 dimensions, so that the three ways of measuring distances disagree about some points.
    data = separated_mixture(0, n=4000, constant=0.06)
    found = [
        cluster(
            InMemoryFederation([data.points]),
            Settings(4, float("inf"), lloyd_steps=steps),
            data.server,
            facts=MixtureFacts(4000, 0.2, 1.0),
            seed=0,
            lloyd_space=space,
        )
        for steps in (0, 1)
    ]
    middle = (data.server.min(axis=0) + data.server.max(axis=0)) / 2
    points, centers = data.points - middle, found[0].centers - middle
    pi = found[0].projection @ found[0].projection.T
    distances = {
        LloydSpace.WRITTEN: cdist(points @ pi, centers),
        LloydSpace.PROJECTED: cdist(points @ pi, centers @ pi),
        LloydSpace.FULL: cdist(points, centers),
    }
    off = {}
    for name, some in distances.items():
        labels = some.argmin(axis=1)
        after = np.array([data.points[labels == r].mean(axis=0) for r in range(4)])
        off[name] = np.abs(found[1].centers - after).max()
    # The grid that points are rounded to moves a few of them across a border, out of about 1,000 in a cluster.
    assert 2 * off.pop(space) < min(off.values())


def test_on_a_separated_mixture_the_three_spaces_of_part_3_agree():
    data = separated_mixture(1, n=30_000, dimension=5)
    settings, facts = Settings(4, 4.0, lloyd_steps=3), MixtureFacts(30_000, 0.25, 1.0)
    found = [cluster(InMemoryFederation([data.points]), settings, data.server, facts=facts, seed=1, lloyd_space=s) for s in LloydSpace]
    assert all(np.array_equal(found[0].centers, other.centers) for other in found[1:])


def test_clients_as_the_unit_are_refused():
    data = separated_mixture(0, n=100)
    with pytest.raises(FedDPError, match="privacy_unit must be 'point'"):
        cluster(InMemoryFederation([data.points]), Settings(4, 1.0, privacy_unit="client"), data.server, facts=MixtureFacts(100, 0.2, 1.0))


@pytest.mark.parametrize("epsilon", [float("inf"), 1.0])
@pytest.mark.parametrize("gap", [4.0, 6.0])
def test_the_error_of_the_centers_halves_with_every_lloyd_step_down_to_its_floor(epsilon, gap):
    """The theorem's rate, from starts 0.3 of the way to the next mean."""
    k, dimension, n = 4, 10, 100_000
    rng = np.random.default_rng(1)
    means = np.eye(k, dimension) * gap / np.sqrt(2)
    points = means[rng.choice(k, n)] + rng.standard_normal((n, dimension))
    federation = InMemoryFederation([points])
    start = means + 0.3 * (np.roll(means, 1, axis=0) - means)
    settled = run(federation, prepare_lloyds(Settings(k, float("inf"), lloyd_steps=20, radius=12.0), means, 1, "", 1), start=start, seed=0)
    bias = np.linalg.norm(settled.centers - means, axis=1).max()
    for steps in range(7):
        prepared = prepare_lloyds(Settings(k, epsilon, lloyd_steps=steps, radius=12.0), means, 1, "", 1)
        found = run(federation, prepared, start=start, seed=0)
        error = np.linalg.norm(found.centers - means, axis=1).max()
        noise = found.center_stddev.max() * np.sqrt(dimension)
        assert error <= 0.3 * gap * 2.0**-steps + bias + 2 * noise
    assert error < 0.1
