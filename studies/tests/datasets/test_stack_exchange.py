"""Stack Exchange questions: a client a user, a topic by the first tag, server questions that are no client's."""

import sqlite3
import sys
import types

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.stack_exchange import stack_exchange, stack_overflow_sqlite
from studies.tests.datasets.protos import example

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


# The TensorFlow Federated database.


def sentences(client, number, tags, kind="question", split="train"):
    """Return two sentences of one question, as the database holds them."""
    same = {"title": f"title {number}", "tags": tags, "type": kind, "creation_date": f"2017-01-{number:02d}", "score": 3}
    return [(split, client, example(**same, tokens=f"sentence {i}")) for i in range(2)]


@pytest.fixture
def database(tmp_path):
    examples = [
        *(row for n in range(10) for row in sentences("ann", n, "math|java")),
        *(row for n in range(10, 20) for row in sentences("bob", n, "github|math")),
        *(row for n in range(20, 30) for row in sentences("bob", n, "css|math")),
        *(row for n in range(30, 60) for row in sentences("cat", n, "css|html")),
        *(row for n in range(60, 70) for row in sentences("dan", n, "math", kind="answer")),
        *(row for n in range(70, 72) for row in sentences("eve", n, "math", split="heldout")),
    ]
    path = tmp_path / "stackoverflow.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)")
        connection.execute("CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)")
        connection.executemany("INSERT INTO examples VALUES (?, ?, ?)", examples)
        for split, client in {row[:2] for row in examples}:
            connection.execute("INSERT INTO client_metadata VALUES (?, ?, ?)", (client, split, 2))
    connection.close()
    return path


def numbers(titles):
    return np.array([[float(title.split()[1]), 1.0] for title in titles])


def load(database, **more):
    return stack_overflow_sqlite(database, ("math", "github"), embed=numbers, **({"server_per_topic": 2, "server_off_topic": 5} | more))


def test_questions_are_found_once_and_answers_never(database):
    data = load(database, server_per_topic=0)
    assert [rows(c) for c in data.clients] == [list(range(10)), list(range(10, 20))]
    assert data.name == "stackoverflow (math, github)"
    assert data.unit == "client"


def test_the_servers_titles_are_off_topic_or_taken_from_clients(database):
    data = load(database)
    off, math, github = (rows(data.server_points[part]) for part in (slice(5), slice(5, 7), slice(7, 9)))
    assert len(set(off)) == 5
    assert set(off) <= set(range(30, 60))
    assert set(math) <= set(range(10))
    assert set(github) <= set(range(10, 20))
    assert rows(np.concatenate([data.pooled, data.server_points[5:]])) == list(range(20))


def test_the_sample_of_other_questions_is_uniform(database):
    """Each of 30 questions is in a sample of 5 with probability 1/6: of 300 samples in 50, standard deviation 6.5."""
    drawn = [rows(load(database, seed=seed).server_points[:5]) for seed in range(300)]
    counts = np.bincount(np.concatenate(drawn), minlength=60)[30:]
    assert counts.sum() == 1500
    assert np.abs(counts - 50).max() < 32  # a false alarm has a chance below 1e-4


def test_splits(database):
    assert [rows(c) for c in load(database, split="heldout", server_per_topic=0, server_off_topic=0).clients] == [[70, 71]]
    assert load(database, split=None, server_per_topic=0).n_points == 22


def test_a_database_or_an_embedding_of_another_kind_is_refused(database, tmp_path):
    with pytest.raises(FedDPError, match="server_off_topic must be at most the 30 questions there are, got 31"):
        load(database, server_off_topic=31)
    with pytest.raises(FedDPError, match="embed must give a row for each of 25 titles, got shape"):
        stack_overflow_sqlite(database, ("math", "github"), embed=lambda _: np.zeros(3), server_off_topic=5)
    with pytest.raises(FedDPError, match="file must exist"):
        load(tmp_path / "none.sqlite")
    (tmp_path / "text.sqlite").write_text("no database at all, " * 100)
    with pytest.raises(FedDPError, match=r"text\.sqlite must be TensorFlow Federated's SQLite database"):
        load(tmp_path / "text.sqlite")
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    with pytest.raises(FedDPError, match=r"empty\.sqlite must be TensorFlow"):
        load(tmp_path / "empty.sqlite")


def test_sentence_transformers_embeds_unless_told_otherwise(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FedDPError, match="install sentence-transformers"):
        stack_overflow_sqlite(database)
    model = types.SimpleNamespace(encode=numbers)
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer={"all-MiniLM-L6-v2": model}.get))
    data = stack_overflow_sqlite(database, ("math", "github"), server_per_topic=0, server_off_topic=5)
    assert data.n_points == 20
