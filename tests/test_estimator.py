"""The scikit-learn face."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

import feddp_kmeans
from feddp_kmeans import FedDPError, FedDPKMeans, InMemoryFederation
from feddp_kmeans.errors import BudgetError
from feddp_kmeans.privacy.odometer import Odometer

RNG = np.random.default_rng(11)
TRUTH = np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4]])
CLIENTS = [TRUTH[RNG.integers(3, size=n)] + 0.1 * RNG.standard_normal((n, 3)) for n in (300, 500, 200)]
SERVER = np.vstack([np.repeat(TRUTH, 8, axis=0) + 0.3 * RNG.standard_normal((24, 3)), RNG.uniform(0, 4, (8, 3))])


def model(**more):
    return FedDPKMeans(3, epsilon=2.0, random_state=0, **more)


def near(centers):
    return np.linalg.norm(TRUTH[:, None] - centers[None], axis=2).min(axis=1).max()


class WithServerData(FedDPKMeans):
    """Gives fit the public server data that scikit-learn's checks cannot pass: fixed points that know nothing of X."""

    def __init__(self, n_clusters=3, *, epsilon=math.inf, random_state=None):
        super().__init__(n_clusters, epsilon=epsilon, random_state=random_state)

    def fit(self, X, y=None, *, groups=None, server_data=None):
        width = X.shape if sparse.issparse(X) else np.asarray(X).shape
        points = np.random.default_rng(0).uniform(-15, 15, (200, width[1] if len(width) > 1 else 1))
        return super().fit(X, y, groups=groups, server_data=points)


EXPECTED_FAILURES = {
    "check_clustering": "labels_ of private points are no private output, so they are not kept",
    "check_estimators_empty_data_messages": "an empty data set is an ordinary input: an error would tell that it is empty",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(WithServerData(), expected_failed_checks=EXPECTED_FAILURES, mark="xfail")),
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", "") if callable(value) else "",
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_every_way_to_name_the_clients_gives_the_same_answer():
    pooled = np.concatenate(CLIENTS)
    groups = np.repeat(["b", "a", "c"], [len(c) for c in CLIENTS])
    names = ["x", "y", "z"]
    ways = [
        model().fit(CLIENTS, server_data=SERVER),
        model().fit(tuple(CLIENTS), server_data=SERVER.tolist()),
        model().fit(InMemoryFederation(CLIENTS), server_data=SERVER),
        model().fit(pooled, groups=groups, server_data=SERVER),
        model().fit(sparse.csr_matrix(pooled), groups=groups, server_data=sparse.csr_matrix(SERVER)),
        model().fit(pd.DataFrame(pooled, columns=names), groups=pd.Series(groups), server_data=pd.DataFrame(SERVER, columns=names)),
    ]
    for way in ways:
        assert np.array_equal(way.cluster_centers_, ways[0].cluster_centers_)
        assert near(way.cluster_centers_) < 0.3
    assert list(ways[-1].feature_names_in_) == names


def test_polars_and_arrow_tables_are_tables():
    polars = pytest.importorskip("polars")
    expected = model().fit(CLIENTS, server_data=SERVER).cluster_centers_
    pooled = np.concatenate(CLIENTS)
    groups = np.repeat(["b", "a", "c"], [len(c) for c in CLIENTS])
    server = polars.DataFrame(SERVER, schema=["x", "y", "z"])
    frame = polars.DataFrame(pooled, schema=["x", "y", "z"])
    fitted = model().fit(frame, groups=polars.Series(groups), server_data=server)
    assert np.array_equal(fitted.cluster_centers_, expected)
    assert list(fitted.feature_names_in_) == ["x", "y", "z"]
    assert np.array_equal(fitted.predict(frame), fitted.predict(frame.to_arrow().to_pandas()))
    frames = [polars.DataFrame(client) for client in CLIENTS]
    assert np.array_equal(model().fit(frames, server_data=server.to_arrow()).cluster_centers_, expected)
    assert np.array_equal(model().fit([f.to_arrow() for f in frames], server_data=server).cluster_centers_, expected)
    with pytest.raises(FedDPError, match="server data must hold numbers only"):
        model().fit(frames, server_data=polars.DataFrame({"x": ["a"], "y": ["b"], "z": ["c"]}))


def test_sparse_clients_are_clients():
    expected = model().fit(CLIENTS, server_data=SERVER).cluster_centers_
    fitted = model().fit([sparse.csr_matrix(client) for client in CLIENTS], server_data=sparse.csc_matrix(SERVER))
    assert np.array_equal(fitted.cluster_centers_, expected)


def test_fitted_attributes_of_the_contract():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    assert fitted.cluster_centers_.shape == (3, 3)
    assert fitted.cluster_counts_.shape == (3,)
    assert fitted.center_stddev_.shape == (3,)
    assert fitted.count_stddev_ > 0
    assert (fitted.n_clusters_, fitted.n_features_in_) == (3, 3)
    assert fitted.privacy_.to_dict()["ledger"] == fitted.plan_.ledger_rows()
    assert not fitted.privacy_.secure
    assert FedDPKMeans(3).fit(CLIENTS, server_data=SERVER).privacy_.secure


def test_predict_transform_and_score_agree():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    pooled = np.concatenate(CLIENTS)
    distances = fitted.transform(pooled)
    assert np.array_equal(fitted.predict(pooled), distances.argmin(axis=1))
    assert fitted.score(pooled) == pytest.approx(-np.square(distances.min(axis=1)).sum())
    assert np.array_equal(model().fit_predict(CLIENTS, server_data=SERVER), fitted.predict(pooled))
    assert model().fit_transform(CLIENTS, server_data=SERVER) == pytest.approx(distances)
    assert len(fitted.get_feature_names_out()) == 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_row_that_is_not_finite_has_no_cluster(form):
    fitted = model().fit(CLIENTS, server_data=SERVER)
    rows = np.array([[4.0, 0, 0], [np.nan, 0, 0], [0, np.inf, 0]])
    labels = fitted.predict(form(rows))
    assert labels[0] >= 0
    assert labels[1:].tolist() == [-1, -1]
    assert np.isfinite(fitted.score(form(rows)))
    assert np.isnan(fitted.transform(form(rows))[1:]).all()


def test_it_pickles_clones_and_works_in_a_pipeline():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(SERVER), fitted.predict(SERVER))
    assert clone(fitted).get_params() == fitted.get_params()
    pipeline = make_pipeline(FunctionTransformer(), model())
    labels = pipeline.fit(np.concatenate(CLIENTS), feddpkmeans__server_data=SERVER).predict(SERVER)
    assert len(set(labels)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": CLIENTS, "server_data": SERVER[:, :2]}, "clients have 3, the server has 2"),
        ({"X": CLIENTS, "server_data": [["a"] * 3] * 9}, "server data must hold numbers only"),
        ({"X": CLIENTS, "server_data": SERVER[:2]}, "n_clusters must be at most the number of server points, 2, got 3"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, message):
    with pytest.raises(FedDPError, match=message):
        model().fit(**arguments)


@pytest.mark.parametrize("more", [{"method": "paper"}, {"init": "server-lloyds"}])
def test_server_data_are_needed_by_what_starts_from_them(more):
    with pytest.raises(FedDPError, match="server_data must be given for"):
        model(**more).fit(CLIENTS)


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


def test_a_random_state_is_a_number_or_none():
    with pytest.raises(FedDPError, match="random_state must be None or a whole number"):
        FedDPKMeans(3, random_state=np.random.default_rng(0)).fit(CLIENTS, server_data=SERVER)


def test_labels_of_a_federation_stay_with_its_clients():
    with pytest.raises(FedDPError, match="whose points stay where they are"):
        model().fit_predict(InMemoryFederation(CLIENTS), server_data=SERVER)


def test_the_public_names_are_those_of_the_module():
    assert feddp_kmeans.__all__ == sorted(feddp_kmeans.__all__)
    assert len(feddp_kmeans.__all__) <= 12
    assert all(hasattr(feddp_kmeans, name) for name in feddp_kmeans.__all__)


def test_fits_are_written_on_the_odometer_before_their_first_release(rng, tmp_path):
    books = tmp_path / "budget.jsonl"
    points = rng.standard_normal((50, 2))
    fitted = FedDPKMeans(2, epsilon=1.0, method="paper", odometer=books, limit=1.5).fit(points, server_data=points)
    (entry,) = Odometer(books).entries()
    assert entry.private
    assert entry.plan.releases == tuple(replace(release, integer_sensitivity=1.0) for release in fitted.plan_.releases)
    with pytest.raises(BudgetError, match="must stay within epsilon"):
        fitted.fit(points, server_data=points)
    assert len(Odometer(books).entries()) == 1
    with pytest.raises(FedDPError, match="same number of columns"):
        FedDPKMeans(2, odometer=books).fit([points, np.ones((3, 5))])
    assert len(Odometer(books).entries()) == 1


def test_a_simulated_fit_is_booked_as_one(rng, tmp_path):
    points = rng.standard_normal((50, 2))
    FedDPKMeans(2, method="paper", random_state=1, odometer=tmp_path / "budget.jsonl").fit(points, server_data=points)
    (entry,) = Odometer(tmp_path / "budget.jsonl").entries()
    assert not entry.private


def test_a_federation_that_is_given_is_not_changed(rng, tmp_path):
    points, books = rng.standard_normal((50, 2)), tmp_path / "budget.jsonl"
    federation = InMemoryFederation([points])
    FedDPKMeans(2, odometer=books, random_state=1).fit(federation)
    FedDPKMeans(2, random_state=1).fit(federation)
    assert federation.books is None
    assert len(Odometer(books).entries()) == 1


def test_a_limit_needs_an_odometer(rng):
    with pytest.raises(FedDPError, match="odometer must be given together with a limit"):
        FedDPKMeans(2, limit=1.0).fit(rng.standard_normal((50, 2)))
