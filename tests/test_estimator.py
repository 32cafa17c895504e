"""The scikit-learn face."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import feddp_kmeans
from feddp_kmeans import FedDPError, FedDPKMeans
from tests.three_corners import CLIENTS, SERVER, model, near

MUST_FAIL = {
    "check_clustering": "labels_: the exact labels of private points are no private output, so they are not kept",
    "check_estimators_empty_data_messages": "an empty client is ordinary input: an error would reveal that it is empty",
}
"""The checks of scikit-learn that a private method must not pass, each with its reason."""


def test_scikit_learns_own_checks_pass_but_for_two():
    results = check_estimator(FedDPKMeans(), expected_failed_checks=MUST_FAIL, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "xfail"}
    assert set(failed) == set(MUST_FAIL)
    assert failed["check_clustering"] == "'FedDPKMeans' object has no attribute 'labels_'"
    assert "does not raise a ValueError when an empty data is used" in failed["check_estimators_empty_data_messages"]
    assert sum(result["status"] == "passed" for result in results) > 40


def test_fitted_attributes_of_the_contract():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    assert fitted.cluster_centers_.shape == (3, 3)
    assert fitted.cluster_counts_.shape == (3,)
    assert fitted.center_stddev_.shape == (3,)
    assert fitted.count_stddev_ > 0
    assert np.isfinite(fitted.inertia_)
    assert fitted.inertia_stddev_ > 0
    assert (fitted.n_clusters_, fitted.n_features_in_) == (3, 3)
    assert fitted.privacy_.to_dict()["ledger"] == fitted.plan_.ledger_rows()
    assert not fitted.privacy_.secure
    assert FedDPKMeans(3).fit(CLIENTS, server_data=SERVER).privacy_.secure


def test_it_pickles_clones_and_works_in_a_pipeline():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(SERVER), fitted.predict(SERVER))
    assert clone(fitted).get_params() == fitted.get_params()
    pipeline = make_pipeline(FunctionTransformer(), model())
    labels = pipeline.fit(np.concatenate(CLIENTS), feddpkmeans__server_data=SERVER).predict(SERVER)
    assert len(set(labels)) == 3


def test_a_plain_table_is_enough():
    table = np.concatenate(CLIENTS)
    fitted = FedDPKMeans(3).fit(table)
    assert fitted.privacy_.secure
    assert fitted.privacy_.epsilon_spent <= 1.0
    assert fitted.clustering_.server_weights.shape == (0,)
    assert near(model().fit(table).cluster_centers_) < 0.3
    assert near(model(box=(-1, 5)).fit(table).cluster_centers_) < 0.3
    assert near(model(box=([-1, -1, -1], [5.0, 5, 5])).fit(table, server_data=SERVER).cluster_centers_) < 0.3
    assert near(model(radius=6.0).fit(table).cluster_centers_) < 0.3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"box": (1, 0)}, "with low below high, got"),
        ({"box": 3}, "box must be two finite numbers or vectors"),
        ({"box": (0, np.inf)}, "box must be two finite numbers or vectors"),
        ({"box": (0, 1), "radius": 2.0}, "box must not be given together with radius"),
        ({"box": ([0, 0], [1, 1])}, "vectors of 3 coordinates"),
    ],
)
def test_a_box_that_is_none_is_refused(more, message):
    with pytest.raises(FedDPError, match=message):
        model(**more).fit(CLIENTS)


def public_things():
    """The public classes and functions, and the public methods and properties that are ours."""
    for name in feddp_kmeans.__all__:
        thing = getattr(feddp_kmeans, name)
        if isinstance(thing, str):
            continue
        yield name, thing
        for base in getattr(thing, "__mro__", ()):
            for member, value in vars(base).items() if base.__module__.startswith("feddp_kmeans") else ():
                made = getattr(value, "__func__", getattr(value, "fget", value))
                if not member.startswith("_") and inspect.isfunction(made):
                    yield f"{name}.{member}", made


def test_every_public_docstring_has_an_example():
    """Doctest runs them: pytest looks into src."""
    named = dict(public_things())
    assert {"FedDPKMeans.predict", "InMemoryFederation.from_groups", "Plan.epsilon_spent"} <= set(named)
    assert not [name for name, thing in named.items() if ">>>" not in (thing.__doc__ or "")]


def test_the_public_names_are_those_of_the_module():
    assert feddp_kmeans.__all__ == sorted(feddp_kmeans.__all__)
    assert len(feddp_kmeans.__all__) <= 12
    assert all(hasattr(feddp_kmeans, name) for name in feddp_kmeans.__all__)
