"""The specs: complete, and free of repeated runs."""

import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.reproduction.problems import CENTRAL, LOADERS, load_problem
from feddp_studies.reproduction.specs import EXPERIMENTS
from feddp_studies.rivals import BASELINES

OTHERS = {"refined", "paper", "published-noise", "elbow of paper", "elbow of refined", "assumptions"}


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=str)
@pytest.mark.parametrize("quick", [True, False])
def test_a_spec_names_known_methods_and_data_and_repeats_no_run(experiment, quick):
    trials = experiment.trials(quick=quick)
    keys = [repr(trial.key) for trial in trials]
    assert len(keys) == len(set(keys)) > 0
    assert {trial.problem for trial in trials} <= {*LOADERS, *CENTRAL}
    assert {trial.config.method for trial in trials} <= OTHERS | set(BASELINES)


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS.values() if e.kind == "pareto"], ids=lambda e: e.name)
def test_quick_runs_are_some_of_the_full_ones(experiment):
    full = {repr(trial.key) for trial in experiment.trials()}
    assert {repr(trial.key) for trial in experiment.trials(quick=True)} <= full


def test_every_figure_has_both_methods_the_rivals_and_the_floor():
    for experiment in EXPERIMENTS.values():
        if experiment.kind == "pareto":
            methods = {config.method for config in experiment.configs}
            assert {"refined", "paper", "server-kmeans++", "server-lloyds", "sphere-packing", "k-fed", "oracle-floor"} <= methods


def test_seeds_are_counted_from_zero():
    assert {trial.seed for trial in EXPERIMENTS["mixture-point"].trials(seeds=2)} == {0, 1}


def test_data_that_must_be_read_needs_a_folder():
    with pytest.raises(FedDPError, match="--tables must name the folder with the tables of census-5"):
        load_problem("census-5", 0, None)
    with pytest.raises(FedDPError, match="data set must be one of"):
        load_problem("moon", 0, None)
