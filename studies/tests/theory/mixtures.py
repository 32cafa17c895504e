"""Separated mixtures, and whether two labellings are the same partition."""

import numpy as np

from feddp_studies.theory.assumptions import separation_constant


def separated_mixture(seed, *, n, k=4, dimension=20, constant=1.0, per_component=5):
    """Points of unit variance with means that are exactly c-separated: points, components, means, server points."""
    rng = np.random.default_rng(seed)
    weights = np.full(k, 1 / k)
    means = rng.standard_normal((k, dimension))
    means *= constant / separation_constant(means, weights, 1.0, n)
    labels = rng.choice(k, n)
    points = means[labels] + rng.standard_normal((n, dimension))
    server = means[np.repeat(np.arange(k), per_component)] + rng.standard_normal((k * per_component, dimension))
    return points, labels, means, server


def same_partition(first, second):
    """Whether two labellings differ only by names."""
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def labels_of(points, centers):
    """The nearest center of each point."""
    return (np.square(centers).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1)
