"""Census data: one-hot rows, a client a state, server rows that are no client's."""

import json
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.census import CATEGORIES, FEATURES, TABLE, census, census_from_folktables, census_from_records, one_hot
from studies.tests.datasets.people import CODES, WIDTH, people


@pytest.fixture
def folder(tmp_path):
    columns = people()
    table = pa.table(columns | {"state": pa.array(columns["state"]).dictionary_encode(), "row": np.arange(400)})
    pq.write_table(table, tmp_path / TABLE)
    listed = {name: [[code, "words"] for code in codes] for name, codes in CODES.items()}
    (tmp_path / CATEGORIES).write_text(json.dumps({"source": "made up", "categories": listed | {"COW": [[1, "words"]]}}))
    return tmp_path


def records(n=300):
    columns = people(n)
    states = pd.Series(columns.pop("state")).map({"AL": 1, "PR": 72, "WY": 56})
    rng = np.random.default_rng(6)
    numbers = {"AGEP": rng.integers(10, 90, n), "PINCP": rng.choice([50.0, 100, 101, 9e4, np.nan], n), "PWGTP": rng.integers(0, 3, n)}
    return pd.DataFrame(columns | numbers | {"ST": states, "WKHP": rng.choice([0.0, 40, np.nan], n), "EXTRA": "text"})


def adults(frame):
    return frame[(frame.AGEP > 16) & (frame.PINCP > 100) & (frame.WKHP > 0) & (frame.PWGTP >= 1)]


def as_rows(points):
    return sorted(map(tuple, points.toarray() if sparse.issparse(points) else points))


def test_codes_become_columns_in_their_own_order():
    found = one_hot({"OCCP": np.array([10, 40, np.nan]), "SEX": np.array([2.0, 1, np.nan])}, CODES)
    assert found.toarray().tolist() == [[0, 1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0, 1]]
    with pytest.raises(FedDPError, match=r"SEX must be one of its 3 codes, got another one"):
        one_hot({"SEX": np.array([1.0, 7])}, CODES)
    with pytest.raises(FedDPError, match="POBP must be one of its 1 codes, got another one"):
        one_hot({"POBP": np.array([np.nan])}, {"POBP": [1]})


def test_clients_are_states_and_keep_sparse_rows_of_the_class(folder):
    data = census(folder, 2, seed=1, server_in_class=5, server_other=50)
    inside = people()["COW"] == 2
    assert data.n_points == inside.sum() - 5
    assert (data.dimension, data.name, data.unit) == (WIDTH, "census-2", "point")
    assert len(data.clients) == 3
    assert all(sparse.issparse(c) and c.format == "csr" for c in data.clients)
    assert (np.asarray(data.pooled.sum(axis=1)) == 7).all()
    assert isinstance(data.server_points, np.ndarray)
    assert data.server_points.shape == (55, WIDTH)
    assert np.linalg.norm(data.server_points, axis=1) == pytest.approx(7**0.5)


def test_rows_of_the_server_are_taken_from_the_clients(folder):
    data = census(folder, 5, seed=2, server_in_class=20, server_other=0)
    whole = census(folder, 5, seed=2, server_in_class=0, server_other=1)
    together = np.vstack([data.pooled.toarray(), data.server_points])
    assert as_rows(together) == as_rows(whole.pooled)
    sizes = [(people()["COW"] == 5)[people()["state"] == state].sum() for state in ("AL", "PR", "WY")]
    assert [c.shape[0] for c in whole.clients] == sizes


def test_a_seed_gives_the_same_server_again(folder):
    first, again, other = (census(folder, 2, seed=s, server_in_class=5, server_other=50).server_points for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_class_or_a_server_that_is_too_large_is_refused(folder):
    with pytest.raises(FedDPError, match="employment_class must have more than the server's 20 rows, got 0 of 8"):
        census(folder, 8)
    with pytest.raises(FedDPError, match="server_other must be from 0 to the"):
        census(folder, 2)


def test_missing_and_broken_files_are_refused_by_name(folder):
    (folder / CATEGORIES).write_text('{"categories": {"SCHL": [[1, "x"]]}}')
    with pytest.raises(FedDPError, match=r"acs_income_2018_categories\.json must list"):
        census(folder, 2, server_other=10)
    (folder / TABLE).unlink()
    with pytest.raises(FedDPError, match=r"acs_income_2018\.parquet must be a readable"):
        census(folder, 2)


def test_person_records_are_filtered_as_acs_income():
    frame = records()
    data = census_from_records(frame, 2, server_in_class=3, server_other=10)
    kept = adults(frame)
    assert data.n_points == (kept.COW == 2).sum() - 3
    assert data.dimension == sum(kept[name].nunique() for name in FEATURES)
    whole = census_from_records(frame, 2, codes=CODES, server_in_class=0, server_other=10)
    assert whole.dimension == WIDTH
    assert [c.shape[0] for c in whole.clients] == kept[kept.COW == 2].groupby("ST").size().tolist()


def test_an_empty_cell_has_a_column_of_its_own():
    frame = records()
    frame["SCHL"] = frame["SCHL"].where(frame.index % 2 == 0)
    data = census_from_records(frame, 2, server_in_class=0, server_other=1)
    assert data.dimension == sum(adults(frame)[name].nunique(dropna=False) for name in FEATURES)
    assert (np.asarray(data.pooled.sum(axis=1)) == 7).all()


def test_records_without_a_column_or_with_text_are_refused():
    with pytest.raises(FedDPError, match="records must have the column PINCP"):
        census_from_records(records().drop(columns="PINCP"))
    with pytest.raises(FedDPError, match="SEX must hold numbers"):
        census_from_records(records().assign(SEX="male"))


def test_folktables_gives_records_and_codes(monkeypatch):
    asked = {}

    class Source:
        def __init__(self, **arguments):
            asked.update(arguments)

        def get_data(self, *, download):
            return records()

        def get_definitions(self, *, download):
            return "definitions"

    def generate_categories(features, definition_df):
        assert definition_df == "definitions"
        return {name: {np.nan if c is None else float(c): "words" for c in CODES[name]} for name in features}

    module = types.SimpleNamespace(ACSDataSource=Source, generate_categories=generate_categories)
    monkeypatch.setitem(sys.modules, "folktables", module)
    data = census_from_folktables("cache", 2, server_in_class=3, server_other=10)
    assert asked == {"survey_year": "2018", "horizon": "1-Year", "survey": "person", "root_dir": "cache"}
    same = census_from_records(records(), 2, codes=CODES, server_in_class=3, server_other=10)
    assert np.array_equal(data.pooled.toarray(), same.pooled.toarray())


def test_without_folktables_one_is_told_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "folktables", None)
    with pytest.raises(FedDPError, match="install folktables"):
        census_from_folktables()


def test_the_estimator_takes_these_clients(folder):
    data = census(folder, 2, server_in_class=20, server_other=100)
    model = FedDPKMeans(2, epsilon=5.0, random_state=0).fit(data.clients, server_data=data.server_points)
    assert model.cluster_centers_.shape == (2, WIDTH)


@pytest.mark.parametrize(("employment_class", "rows"), [(2, 133_595), (5, 46_761), (6, 100_226)])
def test_the_real_table(real, employment_class, rows):
    data = census(real(TABLE).parent, employment_class)
    assert data.n_points == rows - 20
    assert (len(data.clients), data.dimension) == (51, 819)
    pooled = data.pooled
    assert sparse.issparse(pooled)
    assert (np.asarray(pooled.sum(axis=1)) == 7).all()
    assert pooled.max() == 1
    assert data.server_points.shape == (1020, 819)
    assert np.linalg.norm(data.server_points, axis=1).max() == pytest.approx(2.6458, abs=1e-4)
