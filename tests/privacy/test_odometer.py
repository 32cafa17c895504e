"""The odometer never counts too little."""

import json
import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.privacy.accounting import composed_epsilon, gaussian_epsilon, gaussian_mu
from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer, filter_for, new_run, total_for, totals
from feddp_kmeans.privacy.unit import PrivacyUnit

SERVER = np.random.default_rng(0).standard_normal((40, 3))


def entry(epsilon=1.0, *, secure=True, **settings):
    return Entry.of(prepare(Settings(2, epsilon, **settings), SERVER, 100).plan, "a run", secure=secure, run=new_run())


def test_five_runs_at_epsilon_1_are_what_they_are():
    total = total_for(PrivacyUnit.POINT, [entry() for _ in range(5)], 1e-6)
    # All noise is Gaussian: five runs are one of sqrt(5) times the mu.
    assert total.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(5) * gaussian_mu(1.0, 1e-6), 1e-6), rel=2e-3)
    assert 2.2 < total.epsilon < 5
    assert str(total) == f"point: epsilon {total.epsilon:.4g} at delta 1e-06 over 5 runs"


def test_one_run_spends_what_it_says_and_mixed_mechanisms_compose():
    for method in ("refined", "paper"):
        assert total_for(PrivacyUnit.POINT, [entry(method=method)], 1e-6).epsilon == pytest.approx(1.0, rel=2e-2)
    both = total_for(PrivacyUnit.POINT, [entry(method="paper"), entry(method="refined")], 1e-6).epsilon
    assert 1.2 < both < 2.0


def test_sampled_and_whole_runs_compose():
    sampled = entry(privacy_unit="client", sampling_rate=0.2)
    whole = entry(privacy_unit="client")
    alone = composed_epsilon(whole.plan.releases, 1e-6)
    for runs in ([sampled, whole], [whole, sampled]):
        # Two runs of epsilon 1; the one of everybody is not amplified by the other's sampling, which would leave 1.02.
        assert 1.3 * alone < total_for(PrivacyUnit.CLIENT, runs, 1e-6).epsilon < 1.5 * alone


def test_client_runs_count_for_points_and_point_runs_bound_nothing_for_clients():
    point, client = totals([entry(), entry(privacy_unit="client")], 1e-6)
    assert point.unit is PrivacyUnit.POINT
    assert 1.2 < point.epsilon < 2.0
    assert client.epsilon == math.inf
    assert str(client) == "client: no bound, 1 of 2 runs protect points only"


@pytest.mark.parametrize("open_run", [entry(math.inf), entry(secure=False)])
def test_a_run_without_privacy_leaves_no_bound(open_run):
    for total in totals([entry(privacy_unit="client"), open_run], 1e-6):
        assert total.epsilon == math.inf
        assert "1 of 2 runs had no noise or a known seed" in str(total)


def test_no_run_spends_nothing():
    assert [t.epsilon for t in totals([], 1e-6)] == [0.0, 0.0]


def test_what_is_booked_is_read_back(tmp_path):
    odometer = Odometer(tmp_path / "data" / "odometer.jsonl")
    assert odometer.entries() == []
    for made in (entry(), entry(method="paper", privacy_unit="client"), entry(math.inf)):
        odometer.book(made)
    again = odometer.entries()
    assert [e.to_dict() for e in again] == [json.loads(line) for line in odometer.path.read_text().splitlines()]
    assert total_for(PrivacyUnit.POINT, again[:2], 1e-6).epsilon == pytest.approx(
        total_for(PrivacyUnit.POINT, [entry(), entry(method="paper", privacy_unit="client")], 1e-6).epsilon, rel=1e-9
    )


def test_a_run_beyond_the_limit_is_refused_and_not_booked(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry(), limit=Limit(1.5))
    with pytest.raises(BudgetError, match=r"must stay within epsilon 1\.2; with this run it is point: epsilon 1\.4"):
        odometer.book(entry(), limit=Limit(1.2))
    with pytest.raises(BudgetError, match="no bound"):
        odometer.book(entry(math.inf), limit=Limit(100))
    assert len(odometer.entries()) == 1


def test_a_limit_adds_up_at_its_own_delta_and_not_at_the_asking_run_s(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry(1.0, delta=1e-6), limit=Limit(1.0))
    with pytest.raises(BudgetError, match=r"within epsilon 1; with this run it is point: epsilon 2\.39\d* at delta 1e-06"):
        odometer.book(entry(0.85, delta=1e-2), limit=Limit(1.0))
    loose = Limit(1.0, 1e-2)
    odometer.book(entry(0.1, delta=1e-6), limit=loose)
    assert filter_for(PrivacyUnit.POINT, odometer.entries(), 1e-2).within(loose)


@pytest.mark.parametrize("epsilon", [0, 0.0, -1.0, math.nan, "2", None, True])
def test_a_limit_is_a_positive_number(epsilon):
    with pytest.raises(FedDPError, match="limit must be a positive epsilon, got"):
        Limit(epsilon)


@pytest.mark.parametrize("delta", [0, -1e-6, 1.0, math.nan, "1e-6"])
def test_the_delta_of_a_limit_is_one(delta):
    with pytest.raises(FedDPError, match="limit_delta must be between 0 and 1, got"):
        Limit(1.0, delta)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_gaussian_runs_cost_the_filter_nothing(delta):
    for runs in ([entry()], [entry(0.3), entry(0.2, privacy_unit="client"), entry(0.5)]):
        limited, total = (made(PrivacyUnit.POINT, runs, delta).epsilon for made in (filter_for, total_for))
        assert limited == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("settings", [{"method": "paper"}, {"privacy_unit": "client", "sampling_rate": 0.2}])
def test_other_runs_cost_the_filter_more_and_only_the_first_may_take_its_own_accounting(tmp_path, settings):
    first = entry(**settings)
    limited, total = (made(first.plan.unit, [first], 1e-6).epsilon for made in (filter_for, total_for))
    assert limited > 1.5 * total
    odometer = Odometer(tmp_path / "odometer.jsonl")
    with pytest.raises(BudgetError, match="must stay within"):
        odometer.book(first, limit=Limit(0.9))
    odometer.book(first, limit=Limit(1.0))
    with pytest.raises(BudgetError, match="must stay within"):  # by its own accounting 0.01 would still fit
        odometer.book(entry(0.01, **settings), limit=Limit(1.2))
    odometer.book(entry(0.01, **settings), limit=Limit(1.1 * limited))


def test_an_old_entry_makes_a_run_no_first_one(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry(0.01))
    with pytest.raises(BudgetError, match="must stay within"):
        odometer.book(entry(1.0, method="paper"), limit=Limit(1.5))


def test_lines_of_0_1_are_read_and_counted_and_newer_ones_refused_by_name(tmp_path):
    odometer, made = Odometer(tmp_path / "odometer.jsonl"), entry()
    old = {name: value for name, value in made.to_dict().items() if name not in {"format", "run"}}
    odometer.path.write_text(json.dumps(old) + "\n")
    assert odometer.entries() == [replace(Entry.from_dict(made.to_dict()), run="")]
    odometer.book(made)
    assert total_for(PrivacyUnit.POINT, odometer.entries(), 1e-6).epsilon == pytest.approx(
        gaussian_epsilon(math.sqrt(2) * gaussian_mu(1.0, 1e-6), 1e-6), rel=2e-3
    )
    for stated in (3, 0, "2", True, None):
        odometer.path.write_text(json.dumps(made.to_dict() | {"format": stated}) + "\n")
        with pytest.raises(FedDPError, match=r"line 1 of odometer\.jsonl .* format of a line of the odometer must be from 1 to 2, got"):
            odometer.entries()


def test_a_run_is_booked_once(tmp_path):
    odometer, made = Odometer(tmp_path / "odometer.jsonl"), entry()
    odometer.book(made)
    with pytest.raises(BudgetError, match="a run must be booked once"):
        odometer.book(made)
    assert [e.run for e in odometer.entries()] == [made.run]


def test_a_limit_is_one_for_the_unit_that_the_run_protects(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry())
    with pytest.raises(BudgetError, match="client: no bound, 1 of 2 runs protect points only"):
        odometer.book(entry(privacy_unit="client"), limit=Limit(100))


def test_the_samplers_errors_add_up_too():
    runs = [entry(), entry(method="paper")]
    errors = sum(release.sampler_epsilon for run in runs for release in run.plan.releases)
    ideal = [replace(run, plan=replace(run.plan, releases=tuple(replace(r, values=0) for r in run.plan.releases))) for run in runs]
    total, without = (total_for(PrivacyUnit.POINT, entries, 1e-6).epsilon for entries in (runs, ideal))
    assert total - without == pytest.approx(errors, rel=1e-3)
    assert errors > 0


class Slow(Odometer):
    """Leaves others time between its look at the total and its writing."""

    def check_limit(self, *given):
        super().check_limit(*given)
        time.sleep(0.3)


def test_two_runs_at_once_do_not_both_take_the_last_of_a_budget(tmp_path):
    made, refused = entry(), []

    def book():
        try:
            Slow(tmp_path / "odometer.jsonl").book(made, limit=Limit(1.2))
        except BudgetError as error:
            refused.append(error)

    threads = [threading.Thread(target=book) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == len(Odometer(tmp_path / "odometer.jsonl").entries()) == 1


def test_a_damaged_line_is_an_error_and_not_skipped(tmp_path):
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry())
    with odometer.path.open("a") as file:
        file.write('{"when": "half')
    with pytest.raises(FedDPError, match=r"line 2 of odometer\.jsonl must be a run"):
        odometer.entries()


FIELDS = ["format", "run", "when", "what", "privacy_unit", "epsilon", "delta", "sampling_rate", "secure", "releases", "mechanism"]
LEAVES = st.none() | st.booleans() | st.floats() | st.text(max_size=5)
PLAIN = st.recursive(LEAVES, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), x), max_leaves=12)


@given(PLAIN)
def test_anything_else_is_refused(anything):
    with pytest.raises(FedDPError):
        Entry.from_dict(anything)


def test_an_odometer_under_two_names_books_nothing(tmp_path):
    """A file is replaced when it grows, so the other name of a hard link would keep what was there before."""
    odometer = Odometer(tmp_path / "odometer.jsonl")
    odometer.book(entry())
    other = Odometer(tmp_path / "other.jsonl")
    other.path.hardlink_to(odometer.path)
    for one in (odometer, other):
        with pytest.raises(FedDPError, match="must be a file of one name"):
            one.book(entry())
    other.path.unlink()
    odometer.book(entry())
    assert len(odometer.entries()) == 2


def test_a_step_reads_the_lines_of_its_own_run_only(tmp_path, monkeypatch):
    odometer, runs = Odometer(tmp_path / "odometer.jsonl"), [entry() for _ in range(5)]
    for made in runs:
        odometer.begin(made, "")
    read = []
    monkeypatch.setattr(Entry, "from_dict", lambda given, made=Entry.from_dict: read.append(given["run"]) or made(given))
    with odometer.step(runs[3].run, "", "one"):
        pass
    odometer.check(runs[3].run, "one")
    assert set(read) == {runs[3].run}
    odometer.path.write_text(odometer.path.read_text().replace(runs[3].run, "somebodyelse"))
    with pytest.raises(BudgetError, match="must go on from its latest state"), odometer.step(runs[3].run, "one", "two"):
        raise AssertionError("a run that is no longer booked took a step")
