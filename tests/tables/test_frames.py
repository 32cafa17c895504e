"""Frames with words in Python: the estimator encodes them by a schema or by ranges, and describes its centers in their terms."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from feddp_kmeans import FedDPKMeans, InMemoryFederation
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.frames import encoded, schema_given, schema_of_coordinates
from feddp_kmeans.tables.schema import Schema

RULES = {
    "age": {"range": [0, 100]},
    "income": {"range": [0, 1e6], "scale": "log"},
    "sex": {"categories": ["female", "male"]},
    "joined": {"date": ["2015-01-01", "2026-12-31"]},
    "member": {"boolean": True},
    "id": {"ignore": True},
}
INF = float("inf")


def people(n, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "age": np.where(kind, 70, 30) + rng.integers(-3, 4, n),
            "income": np.where(kind, 20_000, 90_000) * np.exp(0.1 * rng.standard_normal(n)),
            "sex": np.where(kind, "female", "male"),
            "joined": pd.to_datetime(np.where(kind, "2016-05-01", "2025-05-01")),
            "member": np.where(kind, "yes", "no"),
        }
    )


def test_frames_with_words_are_fitted_predicted_and_described(tmp_path):
    table = people(400, 0)
    (tmp_path / "schema.toml").write_text('[columns.age]\nrange = [0, 100]\n[columns.sex]\ncategories = ["female", "male"]\n')
    Schema.from_dict({"columns": RULES}).write(tmp_path / "all.toml")
    models = [
        FedDPKMeans(2, epsilon=INF, random_state=0, schema=way)
        for way in (RULES, Schema.from_dict({"columns": RULES}), str(tmp_path / "all.toml"))
    ]
    for model in models:
        labels = model.fit_predict(table)
        assert len({*zip(labels, table.sex, strict=True)}) == 2
        told = {part.column: part for part in model.profiles_[labels[np.flatnonzero(table.sex == "female")[0]]]}
        assert told["age"].value == pytest.approx(table.age[table.sex == "female"].mean())
        assert told["income"].value == pytest.approx(np.expm1(np.log1p(table.income[table.sex == "female"] / 1000).mean()) * 1000, rel=1e-4)
        assert (told["sex"].value, told["joined"].value, told["member"].value) == ("female", "2016-05-01", "yes")
        assert model.cluster_centers_.shape == (2, len(model.schema_.columns))
        assert model.plan_.facts["radius"] == pytest.approx(model.schema_.radius)
    assert np.array_equal(models[0].cluster_centers_, models[2].cluster_centers_)
    assert np.array_equal(models[0].predict(pa.Table.from_pandas(table)), models[0].predict(table[["sex", *table.columns.drop("sex")]]))
    assert models[0].transform(table).shape == (400, 2)
    assert models[0].score(table) > -400
    assert clone(models[0]).get_params()["schema"] == RULES


def test_clients_and_server_data_are_encoded_alike():
    clients, public = [people(200, seed) for seed in (1, 2, 3)], people(40, 9)
    model = FedDPKMeans(2, epsilon=INF, random_state=0, schema=RULES).fit(clients, server_data=public)
    labels = model.fit_predict(clients, server_data=public)
    sexes = np.concatenate([client.sex for client in clients])
    assert len({*zip(labels, sexes, strict=True)}) == 2
    whole = pd.concat(clients)
    grouped = FedDPKMeans(2, epsilon=INF, random_state=0, schema=RULES).fit(whole, groups=np.repeat([0, 1, 2], 200), server_data=public)
    assert np.allclose(np.sort(grouped.cluster_centers_, axis=0), np.sort(model.cluster_centers_, axis=0))


def test_ranges_alone_make_a_schema_and_the_other_columns_are_open():
    table = people(50, 0)[["age", "income"]]
    schema = schema_given(None, {"age": (0, 120)}, table)
    assert schema.fields == (NumberColumn("age", 0, 120), OpenColumn("income"))
    assert schema_given(None, {"x1": (0, 9, "log")}, np.zeros((3, 2))).fields == (OpenColumn("x0"), NumberColumn("x1", 0, 9, scale="log"))
    assert schema_given(RULES, {"age": (0, 120)}, table).fields[0] == NumberColumn("age", 0, 120)
    assert encoded(schema, table)[:, 1] == pytest.approx(table.income)
    array = np.random.default_rng(0).uniform(0, 50, (500, 2))
    model = FedDPKMeans(2, epsilon=INF, ranges={"x0": (0, 50), "x1": (0, 100)}, random_state=0).fit(array)
    assert model.profiles_[0][1].value == pytest.approx(100 * model.cluster_centers_[0, 1])
    assert FedDPKMeans(2, epsilon=INF, random_state=0).fit(array, server_data=array[:9]).profiles_ is None


@pytest.mark.parametrize(
    ("schema", "ranges", "message"),
    [
        (None, {"agee": (0, 1)}, "ranges must name columns of X, got 'agee': did you mean age?"),
        (None, [1], "ranges must be a dict of a range per column"),
        (None, {"age": 3}, "range of column 'age' must be two numbers or two dates"),
        (
            None,
            {"age": (0, 120)},
            "columns 'id', 'sex', 'member' of X must hold numbers, got words in most cells: drop them, or say what they hold",
        ),
        (3, None, "schema must be a Schema, a dict of rules per column, or the path of a file, got int"),
        ({"sex": {"boolean": True}}, None, "column 'sex' of X must hold words for yes and no, got words in most cells"),
        ({"town": {"categories": ["a"]}}, None, "column 'town' must be in table"),
        ("none.toml", None, "schema must be a readable JSON or TOML file"),
    ],
)
def test_a_wrong_schema_is_refused_in_one_line(schema, ranges, message):
    table = people(50, 0).drop(columns="joined")
    with pytest.raises(FedDPError, match=message) as error:
        FedDPKMeans(2, schema=schema, ranges=ranges).fit(table)
    assert len(str(error.value).splitlines()) == 1
    assert "p1" not in str(error.value)


def test_points_of_a_federation_are_encoded_already():
    schema = Schema((NumberColumn("a", 0, 9), NumberColumn("b", 0, 9)))
    model = FedDPKMeans(1, epsilon=INF, schema=schema, random_state=0).fit(InMemoryFederation([np.full((60, 2), 0.5)]))
    assert model.profiles_[0][0].value == pytest.approx(9 * model.cluster_centers_[0, 0])
    with pytest.raises(FedDPError, match="ranges must be given with tables"):
        FedDPKMeans(1, ranges={"a": (0, 9)}).fit(InMemoryFederation([np.zeros((3, 2))]))


def test_coordinates_of_sites_and_stated_columns_make_a_schema():
    age, sex = NumberColumn("age", 0, 120), CategoryColumn("sex", ("f", "m"))
    assert schema_of_coordinates(["age", "rent"], ()) is None
    assert schema_of_coordinates(["rent", "sex=f", "sex=m", "age"], (age, sex)) == Schema((OpenColumn("rent"), sex, age))
    for other in (["age"], ["age", "sex=f"], ["age", "sex=m", "sex=f"], ["age", "sex"]):
        with pytest.raises(FedDPError, match=r"sites must have the columns that the server states, .age., .sex., .* the same words"):
            schema_of_coordinates(other, (age, sex))


def test_scikit_learns_attributes_are_about_the_columns_of_the_table():
    table, how = people(60, 0), {"epsilon": INF, "random_state": 0}
    for seen in (table, [table, table], pa.Table.from_pandas(table, preserve_index=False)):
        model = FedDPKMeans(2, schema=RULES, **how).fit(seen)
        assert (model.n_features_in_, list(model.feature_names_in_)) == (6, [*table.columns])
        assert model.cluster_centers_.shape == (2, 6)
        assert model.predict(table[["member", *table.columns.drop("member")]]).shape == (60,)
    assert list(model.get_feature_names_out()) == ["feddpkmeans0", "feddpkmeans1"]
    assert model.set_output(transform="pandas").transform(table).shape == (60, 2)
    array = table[["age", "income"]].to_numpy()
    model = FedDPKMeans(2, ranges={"x0": (0, 100)}, **how).fit(array)
    assert (model.n_features_in_, hasattr(model, "feature_names_in_")) == (2, False)
    model.set_params(schema={"sex": {"categories": ["female", "male", "other"]}}, ranges=None).fit(table)
    assert (model.n_features_in_, model.cluster_centers_.shape, len(model.predict(table))) == (6, (2, 3), 60)
    model.set_params(schema=None).fit(array)
    assert (model.n_features_in_, hasattr(model, "feature_names_in_"), len(model.predict(array))) == (2, False, 60)
