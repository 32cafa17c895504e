"""Stack Exchange questions: a client a user, a topic by the first tag, server questions that are no client's."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.stack_exchange import stack_exchange

TAGS = [["c#"], ["java"], ["c++", "java"], ["python"], ["java", "c#"], ["sql", "python"]]
SIZES = {"server_per_topic": 4, "server_off_topic": 15}


def write(path, **columns):
    n = len(columns["client"])
    vectors = np.repeat(np.arange(n), 3).astype(np.float16)
    embedding = pa.FixedSizeListArray.from_arrays(pa.array(vectors), 3)
    pq.write_table(pa.table({"title": ["words"] * n, "embedding": embedding, **columns}), path)


@pytest.fixture
def folder(tmp_path):
    """The embedding of row i is (i, i, i); tags repeat every six rows."""
    tags = [TAGS[i % 6] for i in range(60)]
    write(tmp_path / "stackexchange_stackoverflow.parquet", client=np.arange(60) % 7, tags=tags, first_tag=[t[0] for t in tags])
    topics = [[["visas"], ["air-travel"], ["visas", "air-travel"], [], ["money"], None][i % 6] for i in range(60)]
    write(tmp_path / "stackexchange_travel.parquet", client=np.arange(60) // 3, topics=topics, tags=tags)
    return tmp_path


def rows(points):
    return sorted(int(row[0]) for row in points)


def test_the_first_tag_is_the_topic(folder):
    data = stack_exchange(folder, server_per_topic=0, server_off_topic=15)
    on_topic = [i for i in range(60) if i % 6 in (0, 1, 4)]
    assert rows(data.pooled) == on_topic
    assert (data.n_points, data.dimension, data.unit) == (30, 3, "client")
    assert data.name == "stackoverflow (c#, java)"
    assert [rows(c) for c in data.clients] == [[i for i in on_topic if i % 7 == user] for user in range(7)]


def test_the_server_has_questions_of_each_topic_and_others_that_mention_neither(folder):
    data = stack_exchange(folder, **SIZES)
    off, first, second = (rows(data.server_points[part]) for part in (slice(15), slice(15, 19), slice(19, 23)))
    assert {i % 6 for i in off} <= {3, 5}  # not 2: java is a later tag there
    assert {i % 6 for i in first} == {0}
    assert {i % 6 for i in second} <= {1, 4}
    assert len({*off, *first, *second}) == len(data.server_points) == 23


def test_questions_of_the_server_are_taken_from_the_clients(folder):
    data = stack_exchange(folder, **SIZES)
    assert not set(rows(data.pooled)) & set(rows(data.server_points))
    assert data.n_points == 30 - 8


def test_a_user_without_questions_left_vanishes(tmp_path):
    write(tmp_path / "stackexchange_a.parquet", client=np.arange(4), topics=[["x"], ["x"], ["x"], []])
    data = stack_exchange(tmp_path, "a", topics=["x"], server_per_topic=2, server_off_topic=1)
    assert [len(c) for c in data.clients] == [1]
    with pytest.raises(FedDPError, match=r"none left of a \(x\)"):
        stack_exchange(tmp_path, "a", topics=["x"], server_per_topic=3, server_off_topic=1)


def test_a_question_of_two_topics_is_drawn_once(folder):
    for seed in range(20):
        data = stack_exchange(folder, "travel", seed=seed, server_per_topic=9, server_off_topic=30)
        assert len(set(rows(data.server_points))) == 30 + 18
        assert rows(np.concatenate([data.pooled, data.server_points])) == list(range(60))


def test_what_cannot_be_drawn_is_refused(folder, tmp_path):
    with pytest.raises(FedDPError, match="server_off_topic must be from 0 to the 20 rows there are, got 1000"):
        stack_exchange(folder)
    with pytest.raises(FedDPError, match="server_per_topic must be from 0 to the 0 rows there are, got 1"):
        stack_exchange(folder, topics=("nothing",), server_per_topic=1, server_off_topic=1)
    with pytest.raises(FedDPError, match=r"topics must be distinct tags, at least one, got \(\)"):
        stack_exchange(folder, "cooking")
    with pytest.raises(FedDPError, match="got 'java'"):
        stack_exchange(folder, topics="java")
    with pytest.raises(FedDPError, match=r"stackexchange_cooking\.parquet must be a readable"):
        stack_exchange(folder, "cooking", topics=("a", "b"))
    pq.write_table(pa.table({"client": [1], "topics": [["a"]], "embedding": [[0.5]]}), tmp_path / "stackexchange_b.parquet")
    with pytest.raises(FedDPError, match="embedding must be a list of fixed size, got list"):
        stack_exchange(tmp_path, "b", topics=("a",))


@pytest.mark.parametrize(("site", "questions", "clients"), [("stackoverflow", 4_616, 1_123), ("travel", 9_741, 7_229)])
def test_the_real_tables(real, site, questions, clients):
    folder = real(f"stackexchange_{site}.parquet").parent
    whole = stack_exchange(folder, site, server_per_topic=0)
    assert (whole.n_points, len(whole.clients), whole.dimension) == (questions, clients, 384)
    data = stack_exchange(folder, site)
    assert data.n_points == questions - 20
    assert clients - 20 <= len(data.clients) <= clients
    assert min(map(len, data.clients)) >= 1
    assert data.server_points.shape == (1020, 384)
    assert np.linalg.norm(data.pooled, axis=1) == pytest.approx(1, abs=1e-3)
