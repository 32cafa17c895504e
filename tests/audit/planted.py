"""Planted bugs in settings that are audited: each breaks the real code in one place, as a mistake or a bad idea would."""

from dataclasses import dataclass, replace

import numpy as np

from feddp_kmeans.algorithm import prepare, settings
from feddp_kmeans.algorithm.methods import paper, refined
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation import adder, run
from feddp_kmeans.privacy import accounting, ledger, mechanism, noise, plan
from feddp_kmeans.privacy.mechanism import Release, Sensitivity
from feddp_kmeans.silos import batched
from feddp_kmeans.statistics import arithmetic, fixed_point
from feddp_kmeans.statistics import paper_sums as paper_statistics
from feddp_kmeans.statistics import residual_sums as refined_statistics
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.fixed_point import RESOLUTION
from feddp_kmeans.statistics.query import Query, Statistic, constant

PLANTED = {}


@dataclass(frozen=True)
class Planted:
    """A bug, the part of the audit that must see it, and the check that must name it; None: any."""

    plant: object
    part: str
    check: str | None


def planted(part, check=None):
    """Add a bug to the library under the name of the function that plants it."""

    def add(plant):
        PLANTED[plant.__name__] = Planted(plant, part, check)
        return plant

    return add


SENSITIVITY = "no unit moves the sum beyond its sensitivity"
LAW = "noise has the stated law"


def with_sensitivity(statistic, l2, l1=None):
    return replace(statistic, sensitivity=constant(Sensitivity(l1, l2)))


def noise_made_by(patch, made_of):
    """Replace the noise by what ``made_of`` makes of it, of its release and of the exact sum in fine steps."""
    honest = Release.with_noise

    def with_noise(self, part, stream, shares=1):
        noisy = honest(self, part, stream, shares)
        if self.noise_multiplier == 0:
            return noisy
        fine = part << np.int64(self._shift)
        return fine + np.asarray(made_of(self, fine, noisy - fine), dtype=np.int64)

    patch.setattr(Release, "with_noise", with_noise)


# The eight of the published code and its kin.


@planted("books: paper, points", SENSITIVITY)
def delta_for_delta_squared(patch):
    patch.setattr(paper_statistics, "OUTER_PRODUCT", with_sensitivity(paper_statistics.OUTER_PRODUCT, float(RESOLUTION)))


@planted("trials: paper, points", "every number has noise")
def no_noise_on_empty_clusters(patch):
    noise_made_by(patch, lambda release, fine, drawn: np.where(fine == 0, 0, drawn))


@planted("trials: paper, points", "noise is independent")
def one_seed_for_sums_and_counts(patch):
    honest = noise.StreamFactory.stream
    patch.setattr(noise.StreamFactory, "stream", lambda self, label: honest(noise.StreamFactory(self._seed), label.split()[-1][-1]))


@planted("books: paper, points", SENSITIVITY)
def no_clipping_in_lloyds(patch):
    def sums(batch, *, center, radius, centers, projection=None):
        honest = paper_statistics._cluster_sums(batch, center=center, radius=radius, centers=centers, projection=projection)
        if projection is not None:
            return honest
        points = np.rint(np.clip((batch.dense - center) * (RESOLUTION / radius), -1e12, 1e12))
        labels = arithmetic.assign(arithmetic.encoded_points(batch, center, radius), centers)
        return arithmetic.sums_by(points, labels, len(centers)).astype(np.int64).ravel()

    patch.setattr(paper_statistics, "CLUSTER_SUMS", replace(paper_statistics.CLUSTER_SUMS, compute=sums))


@planted("books: paper, clients", SENSITIVITY)
def a_client_that_repeats_itself(patch):
    patch.setattr(
        paper_statistics,
        "sum_bounded_l1",
        lambda counts, bound: (np.minimum(counts, bound) * paper_statistics.COUNT_STEPS).sum(axis=0).astype(np.int64) * len(counts.shape),
    )


@planted("trials: refined, points", "noise is whole steps on whole sums")
def noise_on_floats(patch):
    rng = np.random.default_rng(0)

    def noisy(self, total, stream):
        exact = total * self.grid
        return exact + self.scale * rng.standard_normal(total.shape) if self.noise_multiplier else exact

    patch.setattr(Release, "noisy", noisy)


@planted("books: refined, points", "a second accountant finds no more")
def composition_that_forgets_steps(patch):
    honest = plan._tight_factor
    patch.setattr(plan, "_tight_factor", lambda requests, *rest: honest([replace(r, times=1) for r in requests], *rest))


@planted("books: sampled points", "a second accountant finds no more")
def amplification_claimed_for_points(patch):
    for module in (settings, plan):
        patch.setattr(module, "check_sampling", lambda *_: None)
    patch.setattr(Statistic, "whole_clients", True)


# Sensitivities and clipping.


@planted("books: paper, points", SENSITIVITY)
def clipping_at_twice_the_radius(patch):
    honest = fixed_point._encode
    patch.setattr(fixed_point, "_encode", lambda points, center, scale: 2 * honest(points, center, scale / 2))


@planted("books: paper, points", SENSITIVITY)
def long_rows_are_rounded_up(patch):
    patch.setattr(fixed_point, "_shortened", lambda rows: np.rint(RESOLUTION * 1.001 * rows / np.linalg.norm(rows, axis=1)[:, None]))


@planted("books: paper, points", SENSITIVITY)
def the_balls_center_is_forgotten(patch):
    honest = fixed_point._encode
    patch.setattr(fixed_point, "_encode", lambda points, center, scale: honest(points, center, scale) + np.rint(center * scale) + 7)


@planted("books: no server data, clients", SENSITIVITY)
def counts_are_bounded_and_sums_are_not(patch):
    def compute(batch, *, centers, bound, **where):
        units, clusters, values, _ = refined_statistics.residual_vectors(batch, centers=centers, **where)
        lengths = np.bincount(units, values[:, -1] ** 2, minlength=batch.n_clients) ** 0.5
        factors = refined_statistics.BOUNDED_STEPS / np.maximum(bound, lengths)
        return arithmetic.sums_by(np.trunc(values * factors[units, None]), clusters, len(centers)).astype(np.int64).ravel()

    patch.setattr(refined_statistics, "CLIENT_RESIDUALS", replace(refined_statistics.CLIENT_RESIDUALS, compute=compute))


@planted("books: refined, clients", SENSITIVITY)
def moments_bounded_by_their_trace(patch):
    honest = refined_statistics.second_moment_norms
    patch.setattr(
        refined_statistics, "second_moment_norms", lambda encoded, batch: [x / max(1, 0.5 * len(encoded)) for x in honest(encoded, batch)]
    )


@planted("books: paper, clients", SENSITIVITY)
def presence_in_the_wrong_norm(patch):
    def stated(*, bound, **_):
        return Sensitivity(np.sqrt(bound) * paper_statistics.COUNT_STEPS, np.sqrt(bound) * paper_statistics.COUNT_STEPS)

    patch.setattr(paper_statistics, "CLIENT_PRESENCE", replace(paper_statistics.CLIENT_PRESENCE, sensitivity=stated))


@planted("books: refined, clients", SENSITIVITY)
def a_client_is_bounded_in_pieces(patch):
    def whole(self, cohort):
        return (ClientBatch(b.points, np.arange(b.n_points + 1)) for b in self.points())

    patch.setattr(batched.SourceSilo, "whole", whole)


@planted("books: paper, points", SENSITIVITY)
def points_are_centered_on_their_own_mean(patch):
    def sums(batch, **where):
        points = batch.dense
        moved = points - (points.mean(axis=0) if len(points) else 0)
        return paper_statistics._cluster_sums(ClientBatch(moved, batch.starts), **where)

    patch.setattr(paper_statistics, "CLUSTER_SUMS", replace(paper_statistics.CLUSTER_SUMS, compute=sums))


@planted("books: paper, points", SENSITIVITY)
def a_point_counts_for_two_clusters(patch):
    def counts(batch, **where):
        honest = paper_statistics._cluster_counts(batch, **where)
        return honest + np.roll(honest, 1)

    patch.setattr(paper_statistics, "CLUSTER_COUNTS", replace(paper_statistics.CLUSTER_COUNTS, compute=counts))


# The noise.


@planted("trials: refined, points", LAW)
def variance_for_deviation(patch):
    patch.setattr(mechanism, "discrete_gaussian", lambda stream, sigma, size: noise.discrete_gaussian(stream, sigma**0.5, size))


@planted("trials: refined, points", LAW)
def four_fifths_of_the_noise(patch):
    patch.setattr(mechanism, "discrete_gaussian", lambda stream, sigma, size: noise.discrete_gaussian(stream, 0.8 * sigma, size))


@planted("trials: paper, points", LAW)
def laplace_noise_of_half_the_scale(patch):
    patch.setattr(mechanism, "rounded_laplace", lambda stream, scale, size: noise.rounded_laplace(stream, scale // 2, size))


@planted("trials: refined, points", LAW)
def noise_of_the_first_release_for_all(patch):
    honest = adder.ExactAdder.noisy_sum

    def noisy_sum(self, asked):
        quiet = 0.3 * asked.release.noise_multiplier * (asked.release.noise_multiplier > 0)
        return honest(self, replace(asked, release=replace(asked.release, noise_multiplier=quiet)))

    patch.setattr(adder.ExactAdder, "noisy_sum", noisy_sum)


@planted("trials: paper, points", "noise is independent")
def noise_kept_for_the_next_step(patch):
    kept = {}

    def keep(release, fine, drawn):
        if release.name == "outer product":
            kept.clear()
        return kept.setdefault(drawn.shape, drawn)

    noise_made_by(patch, keep)


@planted("trials: refined, points", "each number has the stated noise")
def no_noise_on_the_last_number(patch):
    noise_made_by(
        patch, lambda release, fine, drawn: np.where(np.arange(fine.size).reshape(fine.shape) == fine.size - 1, drawn // 3, drawn)
    )


@planted("trials: refined, points", LAW)
def noise_of_one_sign(patch):
    noise_made_by(patch, lambda release, fine, drawn: np.abs(drawn))


@planted("federation: arrays", "noise is not cut off")
def noise_cut_off_at_four_deviations(patch):
    def cut(release, fine, drawn):
        limit = int(4 * release.scale / release.fine_step)
        return np.clip(drawn, -limit, limit)

    noise_made_by(patch, cut)


@planted("federation: arrays", LAW)
def uniform_noise_of_the_same_variance(patch):
    rng = np.random.default_rng(0)
    noise_made_by(patch, lambda r, fine, drawn: (rng.random(drawn.shape) - 0.5) * (np.sqrt(12) * r.scale / r.fine_step))


@planted("trials: refined, points", "lowest bits are uniform")
def noise_on_a_coarser_grid(patch):
    noise_made_by(patch, lambda release, fine, drawn: (drawn >> 10) << 10)


@planted("federation: arrays", LAW)
def no_noise_at_large_scales(patch):
    honest = noise.discrete_gaussian
    patch.setattr(mechanism, "discrete_gaussian", lambda s, sigma, size: honest(s, sigma, size) * (sigma < 2.0**33))


@planted("federation: sites, secure sum", LAW)
def shares_of_too_little_noise(patch):
    honest = Release.with_noise
    patch.setattr(Release, "with_noise", lambda self, part, stream, shares=1: honest(self, part, stream, shares**2))


@planted("books: refined, points", "runs are alike where they have one seed")
def the_same_key_in_every_run(patch):
    patch.setattr(noise.SystemStream, "__init__", lambda self: noise._ChaCha20Stream.__init__(self, lambda: bytes(32)))


@planted("books: refined, points", "runs are alike where they have one seed")
def noise_from_elsewhere(patch):
    rng = np.random.default_rng()
    patch.setattr(mechanism, "discrete_gaussian", lambda s, sigma, size: np.rint(sigma * rng.standard_normal(size)).astype(np.int64))


# Plan, ledger and accounting.


@planted("books: refined, points", "a second accountant finds no more")
def a_lloyd_step_is_not_paid_for(patch):
    honest = refined.RefinedMethod.requests

    def requests(self):
        return [replace(r, noise_multiplier=r.noise_multiplier * 0.7) if r.name == "lloyd sums" else r for r in honest(self)]

    calibrate = plan.calibrated_plan

    def quieter(*rest, **more):
        made = calibrate(*rest, **more)
        return replace(
            made, releases=tuple(replace(r, noise_multiplier=r.noise_multiplier * (0.7 if r.times > 1 else 1)) for r in made.releases)
        )

    patch.setattr(refined.RefinedMethod, "requests", requests)
    patch.setattr(prepare, "calibrated_plan", quieter)


@planted("books: refined, points", "a second accountant finds no more")
def delta_is_ignored(patch):
    honest = accounting.gaussian_mu
    patch.setattr(plan, "gaussian_mu", lambda epsilon, delta: honest(epsilon, 1e-2))


@planted("books: refined, points", "a second accountant finds no more")
def the_curve_is_half_as_steep(patch):
    patch.setattr(plan, "gaussian_mu", lambda epsilon, delta: 1.2 * accounting.gaussian_mu(epsilon, delta))


@planted("books: refined, clients", "a second accountant finds no more")
def amplified_by_a_sampling_that_is_not_done(patch):
    honest = plan._tight_factor
    patch.setattr(plan, "_tight_factor", lambda requests, epsilon, delta, rate: honest(requests, epsilon, delta, 0.5))


@planted("books: paper, points", "ledger, plan and what was seen agree")
def a_release_that_is_not_booked(patch):
    honest = paper.PaperRun._noisy_sum

    def twice(self, name, **public):
        honest(self, name, **public)
        return honest(self, name, **public)

    patch.setattr(paper.PaperRun, "_noisy_sum", twice)
    patch.setattr(ledger.Ledger, "book", lambda self, release, times=1, sums=None: self._booked.__setitem__(release, release.times))


@planted("books: paper, points", "ledger, plan and what was seen agree")
def a_release_beside_the_ledger(patch):
    def around(self, name, **public):
        aggregate, ball, run = self.method.aggregates[name], self.method.ball, self.run
        query = Query(aggregate.statistic, {"center": ball.center, "radius": ball.radius} | public, run.dimension)
        found = run._adder.noisy_sum(adder.Asked(query, run.plan[name], 0, None, run.streams.stream(name)))
        run.made[name] = run.plan[name]
        return found.values

    patch.setattr(paper.PaperRun, "_noisy_sum", around)


@planted("audit: paper, points", "runs do not fail, whatever the points are")
def an_error_that_tells_of_empty_clusters(patch):
    def counts(batch, **where):
        found = paper_statistics._cluster_counts(batch, **where)
        if batch.n_points and not found.all():
            raise FedDPError("clusters must hold a point.")
        return found

    patch.setattr(paper_statistics, "CLUSTER_COUNTS", replace(paper_statistics.CLUSTER_COUNTS, compute=counts))


@planted("books: paper, points", "the outcome follows from the releases alone")
def exact_counts_beside_the_noisy_ones(patch):
    stash = []
    honest = batched.BatchedSilo.exact_sum

    def exact_sum(self, query, cohort=None):
        stash.append(honest(self, query, cohort))
        return stash[-1].copy()

    patch.setattr(batched.BatchedSilo, "exact_sum", exact_sum)
    divide = paper.centers_from_sums
    patch.setattr(paper, "centers_from_sums", lambda *given: divide(*given) + 1e-12 * stash.pop(0).sum() * len(stash))


@planted("books: refined, points", "the report promises what was asked for")
def a_seeded_run_that_says_it_is_secret(patch):
    patch.setattr(run, "PrivacyReport", lambda **given: ledger.PrivacyReport(**(given | {"secure": True})))


@planted("books: refined, points", "all state what is spent")
def an_odometer_that_forgets_times(patch):
    honest = Release.from_dict
    patch.setattr(Release, "from_dict", lambda row: honest(row | {"times": 1}))


@planted("federation: arrays", "each release draws its own clients")
def one_cohort_for_all_releases(patch):
    honest = run.Run._cohort

    def cohort(self, label):
        if not hasattr(self, "_same"):
            self._same = honest(self, label)
        return self._same

    patch.setattr(run.Run, "_cohort", cohort)


@planted("federation: arrays", "clients take part as often as stated")
def clients_are_drawn_twice(patch):
    honest = run.Run._cohort

    def cohort(self, label):
        once = honest(self, label)
        return None if once is None else once | honest(self, label)

    patch.setattr(run.Run, "_cohort", cohort)


@planted("federation: arrays", "clients take part as often as stated")
def everybody_takes_part(patch):
    patch.setattr(run.Run, "_cohort", lambda self, label: None)
