"""How to run it again."""

from feddp_kmeans.report.rerun import rerun_section
from tests.report.examples import HARD, made_result


def test_the_command_where_it_is_known_else_the_call():
    assert "feddp fit clients/ --server public.csv -k 3" in rerun_section(made_result())
    call = rerun_section(made_result(command=None, seed=4))
    assert "FedDPKMeans(n_clusters=3, epsilon=1.0, delta=1e-06, privacy_unit=&quot;point&quot;" in call
    assert "random_state=4" in call
    assert "float(&quot;inf&quot;)" in rerun_section(made_result(epsilon=float("inf"), command=None))


def test_a_second_run_costs_a_second_budget_and_versions_are_listed():
    assert "spends the budget a second time" in rerun_section(made_result())
    assert "spends the budget" not in rerun_section(HARD["simulation"])
    assert "feddp-kmeans 0.1.0, python 3.11.7, numpy 2.4.6" in rerun_section(made_result())
    assert "feddp-kmeans 0.1.0." in rerun_section(HARD["old"])
