"""Algorithm "Cluster" of the appendix: private and federated under the theorem's assumptions, and only those, on separation.

Diameter reduction, spectral projection, simplified server data, the margin step, Lloyd's steps; each has its quarter of the budget.
For the study of the theorem: it needs the mixture's least weight and largest standard deviation, and with its many rounds it is
no match for FedDP-KMeans on ordinary data.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import numpy as np

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.server import centers_from_sums, symmetric_from_upper, top_subspace, weighted_kmeans
from feddp_kmeans.algorithm.settings import AUTO, NoiseName, Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.noise import StreamFactory
from feddp_kmeans.privacy.plan import Plan, calibrated_plan, epsilon_share_multiplier
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.arithmetic import project
from feddp_kmeans.statistics.fixed_point import RESOLUTION, Ball
from feddp_kmeans.statistics.query import Statistic
from feddp_studies.theory import anchored_sums as statistics
from feddp_studies.theory.assumptions import MixtureFacts
from feddp_studies.theory.awasthi_sheffet import MARGIN
from feddp_studies.theory.diameter import SPACING, cluster_span, reduce_diameter
from feddp_studies.theory.simplify import freezing_threshold, simplify_rounds, simplify_server_data

LLOYD_STEPS = 5
"""Steps of Part 3 by default."""


class LloydSpace(StrEnum):
    """Between what Part 3 measures distances; the paper's texts differ (docs/theory.md)."""

    WRITTEN = "projected points, centers as they are"
    """The algorithm's box: ``|Pi p - nu_r|``."""
    PROJECTED = "projected points, projected centers"
    """Part 2 carried on: ``|Pi p - Pi nu_r|``."""
    FULL = "points, centers"
    """Cluster(P), FedDP-Lloyds and the theorem of Kumar and Kannan: ``|p - nu_r|``."""


def cluster(
    federation: Federation,
    settings: Settings,
    server_points: FloatArray,
    *,
    facts: MixtureFacts,
    seed: int | None = None,
    on_release: Callable[[str], None] | None = None,
    margin: float = MARGIN,
    spacing: float = SPACING,
    lloyd_space: LloydSpace = LloydSpace.WRITTEN,
) -> Clustering:
    """Return the clustering of the paper's Algorithm "Cluster", at the level of points."""
    server_points = np.ascontiguousarray(server_points, dtype=np.float64)
    settings.check_server(server_points, federation.dimension)
    plan = theory_plan(settings, facts, server_points)
    with federation.open(plan, seed, on_release) as run:
        return _carried_out(run, settings, server_points, facts, margin, spacing, lloyd_space)


def _carried_out(
    run: Run, settings: Settings, server_points: FloatArray, facts: MixtureFacts, margin: float, spacing: float, lloyd_space: LloydSpace
) -> Clustering:
    plan = run.plan
    streams = StreamFactory(run.seed)
    steps = _Steps(run, server_points, facts, settings.epsilon / 4)

    steps.reduce_diameter(spacing)
    projection = steps.projection(settings.fixed_k)
    kept, weights = steps.simplify(projection, streams.integer_seed("simplify"))
    projected = weighted_kmeans(kept, weights, settings.fixed_k, streams.integer_seed("server k-means"))
    centers, counts = steps.clear_means(projection, projected, margin)
    for _ in range(plan.facts["lloyd_steps"]):
        centers, counts = steps.lloyd(centers, projection, lloyd_space)

    return Clustering(
        centers=steps.translation.inverse(centers),
        counts=counts,
        center_stddev=steps.center_stddev,
        projection=projection,
        server_weights=np.ones(len(server_points)),
        plan=plan,
        privacy=run.report(),
        remarks=tuple(steps.remarks),
        notes=(steps.note,),
    )


def theory_plan(settings: Settings, facts: MixtureFacts, server_points: FloatArray) -> Plan:
    """Return the plan: a quarter of epsilon and of delta for each of the four parts; sensitivities in units of the reduced radius."""
    if settings.unit is not PrivacyUnit.POINT:
        raise InputError(f"privacy_unit must be 'point' for the theory's algorithm, got {settings.unit.value!r}.")
    if settings.noise is not NoiseName.AUTO:
        raise InputError(
            f"noise must be 'auto' for the theory's algorithm, whose thresholds are those of Laplace noise, got {settings.noise.value!r}."
        )
    n_server, dimension = server_points.shape
    lloyd_steps = LLOYD_STEPS if settings.lloyd_steps == AUTO else int(settings.lloyd_steps)
    rounds = simplify_rounds(n_server, settings.epsilon / 4, facts.min_weight)
    return calibrated_plan(
        settings.unit,
        settings.epsilon,
        settings.delta,
        _requests(settings, n_server, dimension, lloyd_steps, rounds),
        composition=settings.composition,
        facts={
            "method": "theory",
            "n_clusters": settings.fixed_k,
            "dimension": dimension,
            "n_server_points": n_server,
            "lloyd_steps": lloyd_steps,
            "simplify_rounds": rounds,
            **asdict(facts),
        },
        reasons=("a quarter of the budget for each part of the appendix's algorithm; sensitivities are in units of the reduced radius",),
    )


def _requests(settings: Settings, n_server: int, dimension: int, lloyd_steps: int, rounds: int) -> list[Release]:
    epsilon, delta, k = settings.epsilon / 4 if math.isfinite(settings.epsilon) else 1.0, settings.delta / 4, settings.fixed_k

    def counts(name: str, share: float, values: int, times: int = 1) -> Release:
        multiplier = epsilon_share_multiplier(Mechanism.LAPLACE, epsilon * share, delta)
        return Release(name, Mechanism.LAPLACE, 1.0, 1.0, multiplier, values, times)

    def sums(name: str, share: float, delta_share: float, values: int, steps: int, times: int = 1) -> Release:
        multiplier = epsilon_share_multiplier(Mechanism.GAUSSIAN, epsilon * share, delta * delta_share)
        return Release(name, Mechanism.GAUSSIAN, 1.0, float(steps), multiplier, values, times)

    means = lloyd_steps + 1  # Part 2 and the steps of Part 3 share the last quarter.
    requests = [
        counts("anchors", 1.0, n_server),
        sums("outer product", 1.0, 1.0, dimension * (dimension + 1) // 2, RESOLUTION**2),
        counts("simplify", 1 / (rounds + 2), n_server, rounds + 1),
        counts("weights", 1 / (rounds + 2), n_server),
        sums("clear sums", 0.5 / means, 1 / means, k * dimension, RESOLUTION),
        counts("clear counts", 0.5 / means, k),
    ]
    if lloyd_steps:
        requests += [
            sums("lloyd sums", 0.5 / means, 1 / means, k * dimension, RESOLUTION, lloyd_steps),
            counts("lloyd counts", 0.5 / means, k, lloyd_steps),
        ]
    return requests


class _Steps:
    """The noisy steps of one run."""

    def __init__(self, run: Run, server_points: FloatArray, facts: MixtureFacts, epsilon: float) -> None:
        self._run = run
        self._plan = run.plan
        self._server_points = server_points
        self._facts = facts
        self._epsilon = epsilon
        self.remarks: list[str] = []

    def reduce_diameter(self, spacing: float) -> None:
        """Fix the translation of the lemma, and the public ball around the moved server points that client points are clipped to."""
        counts = self._run.noisy_sum(statistics.ANCHOR_COUNTS, self._plan["anchors"], anchors=self._server_points)
        self.translation = reduce_diameter(self._server_points, counts, self._facts, self._epsilon, spacing)
        self._anchors = self.translation.anchors + self.translation.shifts
        middle = (self._anchors.min(axis=0) + self._anchors.max(axis=0)) / 2
        reach = float(np.linalg.norm(self._anchors - middle, axis=1).max())
        self.ball = Ball(middle, reach + cluster_span(self._facts, len(middle)))
        groups = int(self.translation.groups.max()) + 1
        self.note = f"{len(self._anchors)} server points kept, in {groups} groups; radius {self.ball.radius:.6g} after moving them"

    def projection(self, k: int) -> FloatArray:
        """Return Pi: the top k eigenvectors of the noisy outer product about the ball's center."""
        upper = self._noisy_sum(statistics.MOVED_OUTER_PRODUCT, "outer product")
        return top_subspace(symmetric_from_upper(upper, self.ball.dimension), k)

    def simplify(self, projection: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return the projected server points of F, and the noisy number of client points nearest to each."""
        points = project(self.ball.encode(self._anchors), projection)
        rounds = self._plan.facts["simplify_rounds"]
        threshold = freezing_threshold(rounds, len(points), self._facts.n_points, self._epsilon)

        def noisy_weights(candidates: IntArray) -> FloatArray:
            return self._noisy_sum(statistics.MOVED_COUNTS, "simplify", centers=points[candidates], projection=projection)

        frozen = simplify_server_data(len(points), noisy_weights, rounds, threshold, seed)
        if len(frozen) == 0:
            self.remarks.append("no server point has enough client points around it to outlive the noise; all of them are kept")
            frozen = np.arange(len(points))
        weights = self._noisy_sum(statistics.MOVED_COUNTS, "weights", centers=points[frozen], projection=projection)
        return points[frozen], np.maximum(weights, np.finfo(float).tiny)

    def clear_means(self, projection: FloatArray, centers: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
        """Return the noisy means and sizes of the S_r, the points clear of other clusters (Part 2)."""
        fallback = self.ball.decode(centers @ projection.T)
        public = {"centers": centers, "projection": projection, "margin": margin}
        return self._means(statistics.CLEAR_SUMS, statistics.CLEAR_COUNTS, "clear", fallback, public)

    def lloyd(self, centers: FloatArray, projection: FloatArray, space: LloydSpace) -> tuple[FloatArray, FloatArray]:
        """Return the centers after one noisy Lloyd step, and the noisy sizes (Part 3)."""
        public = {"centers": (centers - self.ball.center) / self.ball.grid}
        if space is LloydSpace.WRITTEN:
            public["projection"] = projection @ projection.T  # The paper's Pi, d x d: projected points keep their d coordinates.
        elif space is LloydSpace.PROJECTED:
            public = {"centers": public["centers"] @ projection, "projection": projection}
        return self._means(statistics.MOVED_SUMS, statistics.MOVED_COUNTS, "lloyd", centers, public)

    def _means(
        self, sums: Statistic, counts: Statistic, name: str, fallback: FloatArray, public: dict[str, Any]
    ) -> tuple[FloatArray, FloatArray]:
        noisy_counts = self._noisy_sum(counts, f"{name} counts", **public)
        noisy_sums = self.ball.radius * self._noisy_sum(sums, f"{name} sums", **public).reshape(fallback.shape)
        smallest = max(0.5, 2 * self._run.made[f"{name} counts"].stddev)
        means = centers_from_sums(noisy_sums, noisy_counts, fallback - self.ball.center, smallest)
        self.center_stddev: FloatArray = self.ball.radius * self._run.made[f"{name} sums"].stddev / np.maximum(noisy_counts, smallest)
        return self.ball.clip(self.ball.center + means), noisy_counts

    def _noisy_sum(self, statistic: Statistic, name: str, **public: Any) -> FloatArray:
        where: dict[str, Any] = {"center": self.ball.center, "radius": self.ball.radius}
        moves: dict[str, Any] = {"anchors": self.translation.anchors, "shifts": self.translation.shifts}
        return self._run.noisy_sum(statistic, self._plan[name], **where, **moves, **public)
