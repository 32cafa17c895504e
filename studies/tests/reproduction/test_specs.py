"""The specs: complete, and free of repeated runs."""

import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.reproduction.claim_verdicts import CENSUS, CLIENTS, QUESTIONS
from feddp_studies.reproduction.data_set import DataSet
from feddp_studies.reproduction.methods import METHODS, ComparedMethod, Config, register_method
from feddp_studies.reproduction.problems import DATA_SETS, data_set, register_data_set
from feddp_studies.reproduction.specs import EXPERIMENTS
from feddp_studies.rivals import BASELINES

NOT_IN_FIGURES = {"optimal"}  # the line that all costs are compared with


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
@pytest.mark.parametrize("quick", [True, False])
def test_a_spec_names_known_methods_and_data_and_repeats_no_run(experiment, quick):
    trials = experiment.trials(quick=quick)
    keys = [trial.key for trial in trials]
    assert len(keys) == len(set(keys)) > 0
    assert {trial.data_set for trial in trials} <= set(DATA_SETS)
    assert {trial.config.method for trial in trials} <= set(METHODS)


def test_every_rival_is_a_method():
    assert set(BASELINES) - NOT_IN_FIGURES <= set(METHODS)


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS.values() if e.kind == "pareto"], ids=lambda e: e.name)
def test_quick_runs_are_some_of_the_full_ones(experiment):
    full = {trial.key for trial in experiment.trials()}
    assert {trial.key for trial in experiment.trials(quick=True)} <= full


def test_every_figure_has_both_methods_the_rivals_and_the_floor():
    for experiment in EXPERIMENTS.values():
        if experiment.kind == "pareto":
            methods = {config.method for config in experiment.configs}
            assert {"refined", "paper", "server-kmeans++", "server-lloyds", "sphere-packing", "k-fed", "oracle-floor"} <= methods


def test_grids_could_refute_the_paper():
    """Each part of the budget is the largest in some setting, five Lloyd steps are tried, and at client level other bounds B."""
    for name in ("mixture-point", *CENSUS, *CLIENTS, *QUESTIONS):
        own = [config for config in EXPERIMENTS[name].configs if config.method == "paper"]
        assert {config.shares.index(max(config.shares)) for config in own} == {0, 1, 2, 3}
        assert max(config.lloyd_steps for config in own) == 5
        if data_set(EXPERIMENTS[name].data_sets[0]).unit is PrivacyUnit.CLIENT:
            assert {config.bounds for config in own} == {0.5, 1.0, 2.0}


def test_seeds_are_counted_from_zero():
    assert {trial.seed for trial in EXPERIMENTS["mixture-point"].trials(seeds=2)} == {0, 1}


def test_seeds_are_many_enough():
    for experiment in EXPERIMENTS.values():
        drawn = all(name.startswith(("mixture", "missing", "clients")) for name in experiment.data_sets)
        least = 10 if experiment.kind in ("pareto", "missing", "elbow") and drawn else 1 if experiment.kind == "assumptions" else 5
        assert experiment.seeds >= least, experiment.name


def test_a_spec_has_another_digest_if_its_runs_change():
    before = EXPERIMENTS["elbow"]
    assert before.digest == EXPERIMENTS["elbow"].digest
    changed = [type(before)(**{**vars(before), name: value}) for name, value in (("seeds", 9), ("epsilons", [2.0]), ("title", "x"))]
    assert len({before.digest, *(one.digest for one in changed)}) == 4


def test_data_that_must_be_read_needs_a_folder():
    with pytest.raises(FedDPError, match="--tables must name the folder with the tables of census-5"):
        data_set("census-5").load(0, None)
    with pytest.raises(FedDPError, match="data set must be one of"):
        data_set("moon")


def test_a_method_that_takes_part_everywhere_is_in_every_figure_of_costs(monkeypatch):
    monkeypatch.setitem(METHODS, "mine", ComparedMethod("mine", "Mine", METHODS["paper"].cluster, __name__, everywhere=[Config("mine", 2)]))
    for experiment in EXPERIMENTS.values():
        named = {trial.config.method for trial in experiment.trials()}
        assert ("mine" in named) == (experiment.kind == "pareto")


def test_a_name_is_registered_once():
    with pytest.raises(FedDPError, match="method must have a name of its own, got 'paper'"):
        register_method(ComparedMethod("paper", "other", METHODS["paper"].cluster, __name__))
    with pytest.raises(FedDPError, match="data set must have a name of its own, got 'mixture'"):
        register_data_set(DataSet("mixture", lambda **_: None))
