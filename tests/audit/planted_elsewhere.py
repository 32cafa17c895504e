"""More planted bugs: where the audited case does not reach. Each is found by one part of the audit of the product at large."""

from dataclasses import replace

import numpy as np

from feddp_kmeans.algorithm import column_knots, prepare
from feddp_kmeans.algorithm.methods import paper
from feddp_kmeans.audit import books
from feddp_kmeans.federation import run
from feddp_kmeans.network import participant, remote, terms
from feddp_kmeans.network.secure_sum import party
from feddp_kmeans.network.terms import Terms
from feddp_kmeans.privacy import accounting, booking, ledger, mechanism, noise, odometer, plan, totals
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.silos import batches, threads
from feddp_kmeans.statistics import arithmetic, fixed_point, norms, residual_sums, sparse_points
from feddp_kmeans.tables import point_files
from tests.audit.planted import planted


def changed(patch, where, name, made_of):
    """Replace a function by what ``made_of`` makes of the honest one's result."""
    honest = getattr(where, name)
    patch.setattr(where, name, lambda *given, **named: made_of(honest(*given, **named), *given))


# Statistics in their other forms.


@planted("statistic 3: cluster-sums")
def sparse_rows_outside_the_ball_are_not_shortened(patch):
    changed(patch, sparse_points.SparsePoints, "squared_norms", lambda squares, *_: np.minimum(squares, fixed_point.RESOLUTION**2))


@planted("statistic 3: cluster-counts")
def zeros_of_sparse_rows_are_forgotten(patch):
    changed(patch, sparse_points.SparsePoints, "__matmul__", lambda product, points, matrix: points.differences @ matrix)


@planted("statistic 0: cluster-sums")
def numbers_stored_twice_count_once(patch):
    def kept(rows):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.data = rows.data / 2
        return rows

    patch.setattr(batches, "without_duplicates", lambda rows: rows if rows.has_canonical_format else kept(rows))


@planted("statistic 0: cluster-counts")
def a_kernel_forgets_the_last_center(patch):
    from feddp_kmeans.statistics import kernels

    changed(patch, kernels, "nearest", lambda labels, *_: np.minimum(labels, labels.max() - 1))


@planted("statistic 0: cluster-counts")
def a_kernel_in_full_space_forgets_the_last_center(patch):
    from feddp_kmeans.statistics import kernels

    changed(patch, kernels, "labelled", lambda found, *_: (np.minimum(found[0], found[0].max() - 1), found[1]))


@planted("statistic 0: point-residuals")
def a_kernel_forgets_half_of_each_distance(patch):
    from feddp_kmeans.statistics import kernels

    changed(patch, kernels, "labelled", lambda found, *_: (found[0], found[1] // 2))


@planted("statistic 0: point-residuals")
def a_kernel_in_full_space_adds_weights_in_float32(patch):
    from feddp_kmeans.statistics import kernels

    changed(patch, kernels, "encoded_sums", lambda sums, *_: sums.astype(np.float32).astype(np.float64))


@planted("statistic 0: point-residuals")
def a_kernel_adds_weights_in_float32(patch):
    from feddp_kmeans.statistics import kernels

    changed(patch, kernels, "weighted_sums", lambda sums, *_: sums.astype(np.float32).astype(np.float64))


@planted("statistic 1: point-count")
def a_batch_on_threads_is_lost(patch):
    honest = threads._add_in_threads

    def add(total, first, rest, submit, n):
        next(rest, None)
        honest(total, first, rest, submit, n)

    patch.setattr(threads, "_add_in_threads", add)


@planted("statistic 0: point-count")
def the_last_row_of_a_file_is_left_out(patch):
    honest = point_files.PointFile.pieces
    patch.setattr(point_files.PointFile, "pieces", lambda self, rows: (piece[:-1] for piece in honest(self, rows)))


@planted("statistic 0: client-distances")
def shares_of_a_client_add_up_to_more_than_one(patch):
    patch.setattr(norms, "SHARE_STEPS", norms.SHARE_STEPS + (norms.SHARE_STEPS >> 3))


@planted("statistic 2: client-second-moment")
def a_trace_weighs_twice(patch):
    patch.setattr(residual_sums, "second_moment_norms", lambda encoded, batch: 2 * [arithmetic.outer_product_norms(encoded, batch) / 2])


@planted("statistic 0: point-residuals")
def counts_of_residuals_are_not_bounded(patch):
    changed(patch, arithmetic, "squared_norms", lambda squares, *_: squares * 0.25)


# Federations and their noise.


@planted("federation: sites, secure sum")
def shares_as_if_nobody_colluded(patch):
    patch.setattr(Terms, "shares", property(lambda self: self.threshold if self.trust is terms.Trust.SECURE_SUM else 1))


@planted("federation: sites, secure sum")
def one_site_adds_no_noise(patch):
    honest = Release.with_noise

    def with_noise(self, part, stream, shares=1):
        return part << np.int64(self._shift) if shares > 1 and not part.any() else honest(self, part, stream, shares)

    patch.setattr(Release, "with_noise", with_noise)


@planted("federation: sites, secure sum")
def sites_send_their_parts_without_masks(patch):
    patch.setattr(party.Party, "mask", lambda self, number, values, query: values)
    patch.setattr(remote.Aggregator, "unmasked", lambda self, round_, survivors, masked, replies, query=b"": masked.copy())


@planted("federation: sites, aggregator")
def sites_outside_the_cohort_are_asked(patch):
    honest = remote.RemoteAdder._plain_sum
    patch.setattr(
        remote.RemoteAdder,
        "_plain_sum",
        lambda self, session, asked, question: honest(self, session, replace(asked, cohort=None), question),
    )


@planted("federation: a Dask cluster")
def tasks_draw_one_cohort_for_each_name(patch):
    honest = run.Run._cohort
    kept = {}
    patch.setattr(run.Run, "_cohort", lambda self, label: kept.setdefault((self.id, label), honest(self, label)))


@planted("federation: kept on record")
def a_record_books_without_its_times(patch):
    def once(plan):
        return replace(plan, releases=tuple(replace(r, times=1) for r in plan.releases))

    changed(patch, booking.Entry, "of", lambda made, *_: replace(made, plan=once(made.plan)))


@planted("federation: files")
def a_run_is_booked_once_a_federation(patch):
    honest, booked = booking.Books.book, []

    def book(self, *given, **named):
        if self not in booked:
            booked.append(self)
            honest(self, *given, **named)

    patch.setattr(booking.Books, "book", book)


@planted("federation: sites, secure sum")
def a_site_does_not_book(patch):
    patch.setattr(terms.Policy, "book", lambda self, *given: None)


@planted("records")
def noise_starts_anew_after_a_stop(patch):
    honest = run.Run.noisy_sum

    def noisy_sum(self, statistic, release, **public):
        made = honest(self, statistic, release, **public)
        self.streams = noise.StreamFactory(self.seed)
        return made

    patch.setattr(run.Run, "noisy_sum", noisy_sum)


# Accounts and books.


@planted("accounts")
def sampling_counts_twice(patch):
    honest = accounting._pld_epsilon
    patch.setattr(accounting, "_pld_epsilon", lambda rows, *rest: honest(tuple(((m, s, rate**2), n) for (m, s, rate), n in rows), *rest))


@planted("accounts")
def gaussian_is_taken_for_laplace(patch):
    honest = accounting.runs_epsilon

    def runs(rows, *rest):
        return honest([([replace(r, mechanism=mechanism.Mechanism.LAPLACE) for r in releases], rate) for releases, rate in rows], *rest)

    patch.setattr(accounting, "runs_epsilon", runs)


@planted("accounts")
def naive_shares_that_forget_a_step(patch):
    honest = plan.epsilon_share_multiplier
    patch.setattr(paper, "epsilon_share_multiplier", lambda law, epsilon, delta: honest(law, 2 * epsilon, delta))


@planted("accounts")
def runs_on_points_count_for_clients(patch):
    patch.setattr(totals, "_unbounded", lambda unit, entries: "")


@planted("refusals")
def the_limit_is_not_kept(patch):
    patch.setattr(odometer.Odometer, "check_limit", lambda self, entry, limit, later=(): None)


@planted("refusals")
def a_plan_may_be_exceeded(patch):
    patch.setattr(ledger.Ledger, "book", lambda self, release, times=1: self._booked.update({release: times}))


@planted("books: no server data, points", "ledger, plan and what was seen agree")
def releases_made_as_one_have_too_little_noise(patch):
    honest = Release.as_one
    patch.setattr(Release, "as_one", lambda self, times=1: replace(honest(self, times), noise_multiplier=self.noise_multiplier / times))


@planted("refusals")
def queries_are_not_checked(patch):
    patch.setattr(run, "check_query", lambda *given: None)
    patch.setattr(participant, "check_query", lambda *given: None)


@planted("federation: arrays")
def a_run_is_booked_after_its_first_release(patch):
    patch.setattr(run.Run, "book", lambda self, state=None: None)


@planted("books: paper, naive composition")
def the_report_says_tight(patch):
    patch.setattr(
        prepare,
        "calibrated_plan",
        lambda *given, **named: replace(plan.calibrated_plan(*given, **named), composition=plan.Composition.TIGHT),
    )


@planted("books: paper, clients, Gaussian counts")
def gaussian_counts_have_the_sensitivity_of_laplace(patch):
    def halved(rows, *_):
        return [replace(row, integer_sensitivity=row.integer_sensitivity * (0.5 if "count" in row.name else 1)) for row in rows]

    changed(patch, paper.PaperMethod, "requests", halved)


@planted("books: refined, clients")
def result_states_another_delta(patch):
    changed(patch, books, "result_dict", lambda fields, *_: fields | {"delta": fields["delta"] / 10})


@planted("books: sampled clients")
def sampled_runs_are_booked_at_half_the_rate(patch):
    changed(patch, plan.Plan, "from_dict", lambda made, *_: replace(made, sampling_rate=made.sampling_rate / 2))


@planted("books: sites, secure sum")
def a_secure_sum_run_says_it_is_secret(patch):
    patch.setattr(run, "PrivacyReport", lambda **given: ledger.PrivacyReport(**(given | {"secure": True})))


@planted("knots: point")
def knots_of_two_columns_at_the_price_of_one(patch):
    changed(
        patch,
        column_knots,
        "gaussian_releases",
        lambda rows, *_: [replace(row, integer_sensitivity=row.integer_sensitivity / 2) for row in rows],
    )


@planted("knots: client", "a second accountant finds no more")
def looks_at_columns_that_cost_as_much_as_one(patch):
    changed(
        patch,
        column_knots,
        "calibrated_plan",
        lambda made, *_: replace(made, releases=tuple(replace(row, noise_multiplier=row.noise_multiplier / 2) for row in made.releases)),
    )
