"""Every reader of a data set: a right answer or one clear line, whatever is in the file."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.census import CATEGORIES, TABLE, census
from feddp_studies.datasets.central import load_central
from feddp_studies.datasets.example_proto import text_features
from feddp_studies.datasets.stack_exchange import stack_exchange
from feddp_studies.datasets.stack_overflow import stack_overflow_sqlite
from studies.tests.datasets.databases import write_database
from studies.tests.datasets.people import CODES, people
from studies.tests.datasets.protos import example
from tests.hostile import refused_or_right, spoilt_bytes, spoilt_json, written


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_objects_in_a_file_are_refused(tmp_path, suffix):
    path = written(tmp_path / f"x{suffix}", pickle.dumps(np.array([[object, 1]], dtype=object)))
    with pytest.raises(FedDPError):
        load_central(path)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(spoilt_bytes(example(title="t", tags="a|b", n=3, f=2.5)))
def test_a_spoilt_example_is_refused_or_read(message):
    refused_or_right(lambda: text_features(message))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_spoilt_databases_and_loaders_tables_are_refused_or_read(place, data):
    database = place / "so.sqlite"
    if not database.exists():
        texts = [{"title": f"t{i}", "tags": "math" if i % 2 else "css", "type": "question", "creation_date": str(i)} for i in range(12)]
        write_database(database, [("train", "ann", example(**text)) for text in texts])
        embeddings = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(24.0)), 2)
        questions = {"client": list(range(12)), "topics": [["a"], ["b"], ["x"]] * 4, "embedding": embeddings}
        pq.write_table(pa.table(questions), place / "stackexchange_t.parquet")
        columns = people(60)
        pq.write_table(pa.table(columns | {"state": pa.array(columns["state"]).dictionary_encode()}), place / "census.parquet")
    (place / "census").mkdir(exist_ok=True)
    codes = {"categories": {name: [[code, "w"] for code in codes] for name, codes in CODES.items()}}
    spoilt = written(place / "z.sqlite", data.draw(spoilt_bytes(database.read_bytes())))
    embed = lambda titles: np.ones((len(titles), 2))  # noqa: E731
    refused_or_right(lambda: stack_overflow_sqlite(spoilt, ("math", "css"), embed=embed, server_per_topic=1, server_off_topic=0))
    written(place / "stackexchange_z.parquet", data.draw(spoilt_bytes((place / "stackexchange_t.parquet").read_bytes())))
    refused_or_right(lambda: stack_exchange(place, "z", topics=("a", "b"), server_per_topic=1, server_off_topic=1))
    written(place / "census" / TABLE, data.draw(spoilt_bytes((place / "census.parquet").read_bytes())))
    written(place / "census" / CATEGORIES, data.draw(spoilt_json(codes)))
    refused_or_right(lambda: census(place / "census", 2, server_in_class=2, server_other=5))
    written(place / "census" / TABLE, (place / "census.parquet").read_bytes())
    refused_or_right(lambda: census(place / "census", 2, server_in_class=2, server_other=5))
