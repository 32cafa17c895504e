"""Lemma "reduceDiam": far-apart groups of clusters are moved next to one another, and their centers moved back afterwards."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_studies.theory.anchored_sums import moved, nearest
from feddp_studies.theory.assumptions import MixtureFacts

SPACING = 100.0
"""Distance between the groups' representatives, in diameters of a group: the lemma's constant."""


@dataclass(frozen=True)
class Translation:
    """Where each group of server points moves: public, made of server data and noisy counts."""

    anchors: FloatArray
    """The server points that are kept."""
    shifts: FloatArray
    """What is added to the points nearest to each of them."""
    groups: IntArray
    """The group of each."""

    def forward(self, points: FloatArray) -> FloatArray:
        """Return the points, each moved with the group of its nearest anchor."""
        return moved(points, self.anchors, self.shifts)

    def inverse(self, centers: FloatArray) -> FloatArray:
        """Return centers of moved points in the data's own space, each moved back with the group of its nearest moved anchor."""
        there = self.anchors + self.shifts
        back: FloatArray = centers - self.shifts[nearest(centers, there)]
        return back


def cluster_span(facts: MixtureFacts, dimension: int) -> float:
    """Return ``D = 4 log(n) sqrt(d) sigma``: no two points of one component are farther apart, with high probability."""
    return 4 * math.log(facts.n_points) * math.sqrt(dimension) * facts.max_stddev


def reduce_diameter(
    server_points: FloatArray, noisy_counts: FloatArray, facts: MixtureFacts, epsilon: float, spacing: float = SPACING
) -> Translation:
    """Return the translation, from the noisy number of client points nearest to each server point.

    Server points whose surroundings hold neither many server points (they are *frozen*) nor many client points are dropped. The
    others are joined if they are nearer than D; each connected component is a group. Its first point goes to ``(i spacing D', 0,
    ..., 0)``, with D' the largest diameter of a group, but at least D, since a component of the mixture may have only one server point.
    A single group stays where it is.
    """
    span = cluster_span(facts, server_points.shape[1])
    near = cdist(server_points, server_points) < span
    many_server = epsilon * facts.n_points * facts.min_weight / (200 * math.log(max(2, len(server_points))))
    frozen = near.sum(axis=1) >= many_server
    crowded = near @ noisy_counts >= facts.n_points * facts.min_weight / 3
    kept = frozen | crowded
    if not kept.any():
        kept[:] = True
    anchors = np.ascontiguousarray(server_points[kept])
    n_groups, groups = connected_components(near[np.ix_(kept, kept)], directed=False)
    shifts = np.zeros_like(anchors)
    if n_groups > 1:
        members = [anchors[groups == g] for g in range(n_groups)]
        diameter = max(span, *(float(pdist(m).max(initial=0.0)) for m in members))
        for g, points in enumerate(members):
            shifts[groups == g] = -points[0]
            shifts[groups == g, 0] += g * spacing * diameter
    return Translation(anchors, shifts, groups)
