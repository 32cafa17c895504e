"""Every lemma of the appendix that says something about numbers: the constant that it needs in one draw of a separated mixture.

A constant is what was measured divided by what is stated, with the paper's numbers where it gives any and 1 where it writes O(...).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.spatial.distance import pdist

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.server import weighted_kmeans
from feddp_studies.theory.awasthi_sheffet import MARGIN, is_clear, means_of, squared_distances
from feddp_studies.theory.diameter import reduce_diameter
from feddp_studies.theory.lemma_scene import LemmaScene, cost
from feddp_studies.theory.separated import center_errors, labels_of
from feddp_studies.theory.verdicts import Stated

_DRAWS, _BETA = 400, 0.05

_FAR = 20.0
"""A separation at which every component is a group of its own."""


class Axis(StrEnum):
    """What a lemma is swept over."""

    N = "n"
    D = "d"


@dataclass(frozen=True)
class LemmaCheck:
    """One statement: where its algorithm is, the constant it needs, and the least n of its condition if it has one."""

    name: str
    code: str
    constant: Callable[[LemmaScene], float]
    axis: Axis = Axis.N
    least_n: Callable[[LemmaScene], float] | None = None
    stated: Stated = Stated.IN_NUMBERS


def private_averaging(scene: LemmaScene) -> float:
    """Private averaging, of one G_i: ``Delta log(2/beta) / (|X| epsilon) + Delta sigma(epsilon/2) sqrt(log(2/beta)) / |X|``."""
    rng, size = scene.noise("averaging"), int(scene.mixture.sizes[0])
    total = scene.mixture.sample_means[0] * size
    noise = rng.normal(scale=2 * scene.gaussian * scene.radius, size=(_DRAWS, scene.dimension))
    found = (total + noise) / (size + rng.laplace(scale=2 / scene.epsilon, size=(_DRAWS, 1)))
    error = float(np.quantile(np.linalg.norm(found - total / size, axis=1), 1 - _BETA))
    log = math.log(2 / _BETA)
    return error * size / (scene.radius * (log / scene.epsilon + 2 * scene.gaussian * math.sqrt(log)))


def almost_pca(scene: LemmaScene) -> float:
    """Theorem "pca": Pi is a B-almost k-PCA with ``B = sqrt(d) Delta^2 sigma(epsilon, delta)``, in both norms."""
    return float(max(scene.loss[0], scene.loss[1] / scene.k, 1e-9)) / _pca_loss(scene)


def _pca_loss(scene: LemmaScene) -> float:
    return math.sqrt(scene.dimension) * scene.radius**2 * scene.gaussian


def projected_means(scene: LemmaScene) -> float:
    """Lemma 3.1 of Kamath et al.: ``|mean(G_i) - Pi mean(G_i)| <= (|P - C|_2 + sqrt(B)) / sqrt(|G_i|)`` with the B that Pi has."""
    means, root = scene.mixture.sample_means, np.sqrt(scene.mixture.sizes)
    moved = np.linalg.norm(means - means @ scene.projection, axis=1)
    return float(np.max(moved * root)) / (scene.spectral + math.sqrt(max(0.0, float(scene.loss[0]))))


def spectral_norm(scene: LemmaScene) -> float:
    """Lemma 3.2 of Kamath et al.: ``sqrt(n w_min) sigma / 4 <= |P - C|_2 <= 4 sqrt(n) sigma``; the tighter side."""
    return max(math.sqrt(scene.n / scene.k) / 4 / scene.spectral, scene.spectral / (4 * math.sqrt(scene.n)))


def large_clusters(scene: LemmaScene) -> float:
    """Lemma "largeClusters": with ``n = 24 log(k) / w_min`` all ``|G_i| >= n w_i / 2`` but in one case of 100."""
    n = math.ceil(24 * math.log(scene.k) * scene.k)
    sizes = scene.noise("sizes").multinomial(n, np.full(scene.k, 1 / scene.k), size=100_000)
    return max(float((sizes.min(axis=1) < n / scene.k / 2).mean()), 1e-5) / 0.01


def coreset(scene: LemmaScene) -> float:
    """Lemma "coreset" with P projected, weights off by up to half, and k-means as the best there is (alpha 1)."""
    server = scene.mixture.server @ scene.projection
    exact = scene.weights(np.arange(len(server)))
    weights = exact * scene.noise("coreset").uniform(0.5, 1.5, len(server))
    found = weighted_kmeans(server, np.maximum(weights, 1e-9), scene.k, scene.seed)
    best = cost(scene.projected, scene.mixture.sample_means @ scene.projection)
    return cost(scene.projected, found) / (14 * cost(scene.projected, server) + 12 * best)


def reduced_diameter(scene: LemmaScene) -> float:
    """Lemma "reduceDiam": the moved server points are within ``k log(n) log|Q| sqrt(d) sigma / (epsilon w_min)``, of groups far apart."""
    mixture = replace(scene, separation=_FAR).mixture
    server = mixture.server
    counts = np.bincount(labels_of(mixture.points, server), minlength=len(server))
    noisy = counts + scene.noise("anchors").laplace(scale=1 / scene.epsilon, size=len(server))
    moved = reduce_diameter(server, noisy, mixture.facts, scene.epsilon)
    stated = scene.k * math.log(scene.n) * math.log(len(server)) * math.sqrt(scene.dimension) * scene.k / scene.epsilon
    return float(pdist(moved.anchors + moved.shifts).max()) / stated


def projected_cost(scene: LemmaScene) -> float:
    """Fact "costProj": ``|Pi P - C|_F^2 <= 20 min(k |P - C|_2^2, |P - C|_F^2)``."""
    left = np.square(scene.projected - scene.mixture.means[scene.mixture.labels]).sum()
    return float(left) / (20 * min(scene.k * scene.spectral**2, float(np.square(scene.offsets).sum())))


def projected_cost_samples(scene: LemmaScene) -> float:
    """Return the n from which on the fact's ``B <= sqrt(n w_min) sigma / (4 k)`` is met, at this Delta."""
    return (4 * scene.k * _pca_loss(scene)) ** 2 * scene.k


def good_matching(scene: LemmaScene) -> float:
    """Fact "goodMatching": ``|mu_i - nu_i| <= 6 sigma sqrt(n / |G_i|) min(sqrt(k), sqrt(d))`` after Part 1; its polylog is taken as 1."""
    each = 6 * np.sqrt(scene.n / scene.mixture.sizes * min(scene.k, scene.dimension))
    return float(np.max(center_errors(scene.mixture.means, scene.start) / each))


def good_matching_samples(scene: LemmaScene) -> float:
    """Return the n from which on the fact's ``B^2 <= n w_min sigma^2`` is met, at this Delta."""
    return _pca_loss(scene) ** 2 * scene.k


def good_clustering(scene: LemmaScene) -> float:
    """Lemma "goodClustering": Part 1 costs ``n log^2(1 / (epsilon w_min)) k sigma^2 log n``."""
    return cost(scene.projected, scene.start) / (scene.n * math.log(scene.k / scene.epsilon) ** 2 * scene.k * math.log(scene.n))


def means_cost(scene: LemmaScene) -> float:
    """Lemma "meansGoodCenters": clustering ``Pi G_i`` to ``Pi mu_i`` costs ``|G_i| log(n) k sigma^2``."""
    squares = np.square(scene.offsets @ scene.projection).sum(axis=1)
    each = np.bincount(scene.mixture.labels, squares, scene.k) / scene.mixture.sizes
    return float(each.max()) / scene.reach**2


def noise_of_weights(scene: LemmaScene) -> float:
    """Lemma below assumption (2): noise changes the cost of server points by at most ``|Q| log|Q| Delta^2 / epsilon``."""
    server = scene.mixture.server @ scene.projection
    squares = squared_distances(server, scene.start).min(axis=1)
    drawn = scene.noise("changed").laplace(scale=1 / scene.epsilon, size=(_DRAWS, len(server))) @ squares
    return float(np.abs(drawn).max()) / (len(server) * math.log(len(server)) * scene.radius**2 / scene.epsilon)


def kept_points(scene: LemmaScene) -> float:
    """Lemma "simplify", first half: F has a point within ``log(4 log|Q| / (epsilon w_min)) sqrt(k log n) sigma`` of each mean."""
    inside = 4 * math.log(len(scene.mixture.server)) * scene.k / scene.epsilon
    gaps = (scene.mixture.means[:, None] - scene.mixture.server[scene.frozen()][None]) @ scene.projection
    return float(np.linalg.norm(gaps, axis=2).min(axis=1).max()) / (math.log(inside) * scene.reach)


def kept_weights(scene: LemmaScene, threshold: float | None = None) -> float:
    """Lemma "simplify", second half: each point of F has at least ``2 log(n) / epsilon`` client points."""
    lightest = max(float(scene.weights(scene.frozen(threshold)).min(initial=scene.n)), 0.5)
    return 2 * math.log(scene.n) / scene.epsilon / lightest


def kept_weights_as_printed(scene: LemmaScene) -> float:
    """Lemma "simplify", second half, with the threshold of the pseudo-code, ``2 log(n) / epsilon``."""
    return kept_weights(scene, 2 * math.log(scene.n) / scene.epsilon)


def large_mass(scene: LemmaScene) -> float:
    """Fact "largeMass": all of ``Pi G_i`` is within ``sqrt(k log n) sigma`` of ``Pi mu_i``."""
    return float(np.linalg.norm(scene.offsets @ scene.projection, axis=1).max()) / scene.reach


def first_points(scene: LemmaScene) -> float:
    """Fact "initInduction": some server point is within ``sqrt(k log n) sigma`` of each mean, after projection."""
    gaps = (scene.mixture.means[:, None] - scene.mixture.server[None]) @ scene.projection
    return float(np.linalg.norm(gaps, axis=2).min(axis=1).max()) / scene.reach


def clear_means(scene: LemmaScene) -> float:
    """Theorem "step2": Part 2 brings each center within ``|P - C|_2 / (c sqrt(|G_i|))`` of its mean."""
    distances = squared_distances(scene.projected, scene.start)
    labels = distances.argmin(axis=1)
    clear = is_clear(distances, labels, MARGIN)
    found = means_of(scene.mixture.points[clear], labels[clear], scene.start)
    errors = center_errors(scene.mixture.means, found)
    return float(np.max(errors * np.sqrt(scene.mixture.sizes))) * scene.separation / scene.spectral


def halving(scene: LemmaScene) -> float:
    """Theorem "step3": from ``gamma |P - C|_2 / sqrt(|G_i|)`` off, with gamma = c k / 50, a Lloyd step halves the error at least."""
    return _halving(scene, scene.mixture.means)


def halving_of_samples(scene: LemmaScene) -> float:
    """Theorem "step3" with the sample mean of G_i for mu_i, which is what Kumar and Kannan prove."""
    return _halving(scene, scene.mixture.sample_means)


def _halving(scene: LemmaScene, targets: FloatArray) -> float:
    points = scene.mixture.points
    away = scene.noise("away").standard_normal(targets.shape)
    off = scene.separation * scene.k / 50 * scene.spectral / np.sqrt(scene.mixture.sizes)
    begin = targets + away / np.linalg.norm(away, axis=1)[:, None] * off[:, None]
    after = np.linalg.norm(targets - means_of(points, labels_of(points, begin), begin), axis=1)
    return max(float(np.max(2 * after / off)), 1e-9)


CHECKS = (
    LemmaCheck("Private averaging", "`privacy/mechanism.py`, `algorithm/server.py`", private_averaging, Axis.D),
    LemmaCheck("Theorem `pca` (Dwork et al.)", "`cluster._Steps.projection`", almost_pca, Axis.D, stated=Stated.UP_TO_A_CONSTANT),
    LemmaCheck("Lemma 3.1 (Kamath et al.)", "`cluster._Steps.projection`", projected_means),
    LemmaCheck("Lemma 3.2 (Kamath et al.)", "of the data", spectral_norm),
    LemmaCheck("Lemma `largeClusters`, at its own n", "of the data", large_clusters),
    LemmaCheck("Lemma `coreset`", "`algorithm/server.py: weighted_kmeans`", coreset),
    LemmaCheck("Lemma `reduceDiam`", "`theory.diameter.reduce_diameter`", reduced_diameter, stated=Stated.UP_TO_A_CONSTANT),
    LemmaCheck("Fact `costProj`", "`cluster._Steps.projection`", projected_cost, least_n=projected_cost_samples),
    LemmaCheck("Fact `goodMatching`", "`cluster._Steps.simplify`", good_matching, least_n=good_matching_samples),
    LemmaCheck("Lemma `goodClustering`", "`cluster._Steps.simplify`", good_clustering, stated=Stated.UP_TO_A_CONSTANT),
    LemmaCheck("Lemma `meansGoodCenters`", "of the data", means_cost),
    LemmaCheck("Lemma on assumption (2)", "`theory.assumptions.check_server_size`", noise_of_weights),
    LemmaCheck("Lemma `simplify`, near points", "`theory.simplify.simplify_server_data`", kept_points),
    LemmaCheck("Lemma `simplify`, weights, threshold of the proof", "`theory.simplify.freezing_threshold`", kept_weights),
    LemmaCheck("the same, threshold of the pseudo-code", "not used", kept_weights_as_printed),
    LemmaCheck("Fact `largeMass`", "of the data", large_mass),
    LemmaCheck("Fact `initInduction`", "of the data", first_points),
    LemmaCheck("Theorem `step2`", "`cluster._Steps.clear_means`", clear_means, stated=Stated.UP_TO_A_CONSTANT),
    LemmaCheck("Theorem `step3`", "`cluster._Steps.lloyd`", halving),
    LemmaCheck("the same, of sample means", "`cluster._Steps.lloyd`", halving_of_samples),
)
