"""What fit is given: clients in every form, server data, seeds and books."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from feddp_kmeans import FedDPError, FedDPKMeans, InMemoryFederation
from feddp_kmeans.errors import BudgetError, FedDPWarning
from feddp_kmeans.privacy.odometer import Odometer
from tests.three_corners import CLIENTS, SERVER, model, near


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


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "object"])
def test_missing_cells_of_a_frame_are_missing_in_one_table_and_in_many(kind):
    expected = model().fit([np.tile([[0.0, 1], [1, 0], [2, 2]], (50, 1)), np.tile([[5.0, 5], [6, 6]], (100, 1))]).cluster_centers_
    frames = [pd.DataFrame({"a": [0, 1, None, 2] * 50, "b": [1, 0, 9, 2] * 50}), pd.DataFrame({"a": [5, 6] * 100, "b": [5, 6] * 100})]
    frames = [frame.assign(a=frame["a"].astype("Int64").astype(kind)) for frame in frames]
    assert np.array_equal(model().fit(frames).cluster_centers_, expected)
    table, groups = pd.concat(frames), np.repeat([0, 1], [200, 200])
    assert np.array_equal(model().fit(table, groups=groups).cluster_centers_, expected)


@pytest.mark.parametrize("kind", ["timedelta64[s]", "datetime64[s]", "datetime64[s, UTC]", "period[D]"])
def test_columns_of_times_are_refused_by_name_whatever_stands_beside_them(kind):
    when = pd.Series(range(3)).astype("datetime64[s]" if kind.startswith("per") else "int64").astype(kind)
    frame = pd.DataFrame({"a": [0.5, 1, 2], "when": when})
    for X in (frame, [frame, frame]):
        with pytest.raises(FedDPError, match="must hold numbers only, got something else in column 'when': leave the column out"):
            model().fit(X)


@pytest.mark.parametrize("names", [["41.0", "18398.52"], ["Rome", "7"], ["3", "1", "2"]])
def test_a_frame_whose_names_may_be_a_row_is_warned_of(names):
    """As pandas.read_csv makes it of a file without names; the warning quotes none of them."""
    frame = pd.DataFrame(np.random.default_rng(0).random((40, len(names))), columns=names)
    for X in (frame, [frame, frame]):
        with pytest.warns(FedDPWarning, match="columns of X have numbers for names: if they are the first row") as seen:
            model().fit(X)
        assert not any(name in str(warning.message) for warning in seen for name in names if "columns of X" in str(warning.message))


@pytest.mark.parametrize("names", [["0", "1"], ["1", "2", "3"], [0, 1], ["a", "b"], ["2019", "2020", "2021", "2022"]])
def test_a_frame_with_other_names_is_not(names):
    frame = pd.DataFrame(np.random.default_rng(0).random((40, len(names))), columns=names)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model().fit(frame)
    assert not any("numbers for names" in str(warning.message) for warning in seen)


def test_sparse_clients_are_clients():
    expected = model().fit(CLIENTS, server_data=SERVER).cluster_centers_
    fitted = model().fit([sparse.csr_matrix(client) for client in CLIENTS], server_data=sparse.csc_matrix(SERVER))
    assert np.array_equal(fitted.cluster_centers_, expected)


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


def test_a_random_state_is_a_number_or_none():
    with pytest.raises(FedDPError, match="random_state must be None or a whole number"):
        FedDPKMeans(3, random_state=np.random.default_rng(0)).fit(CLIENTS, server_data=SERVER)


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


def test_weights_are_refused_with_the_reason():
    with pytest.raises(FedDPError, match="sample_weight must not be given: a weight multiplies a person's influence"):
        FedDPKMeans(2).fit(CLIENTS, sample_weight=np.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        FedDPKMeans(2).fit(CLIENTS, weights=1)
