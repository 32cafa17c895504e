"""TensorFlow Federated's Stack Overflow database: both readings counted by hand, and tables that are made once."""

import sqlite3
import sys
import types

import numpy as np
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets import stack_overflow, text_embedding
from feddp_studies.datasets.stack_exchange import stack_exchange
from feddp_studies.datasets.stack_overflow import SETS, make_tables, read_database, stack_overflow_sqlite
from studies.tests.datasets.databases import post, write_database

TOPICS = ("math", "github")


@pytest.fixture
def database(tmp_path):
    """Posts by their numbers, two sentences each: 0 to 19 are questions on topic, 60 to 69 answers on topic."""
    posts = [
        *(post("ann", n, "math|java") for n in range(10)),
        *(post("bob", n, "github|math") for n in range(10, 20)),
        *(post("bob", n, "css|math") for n in range(20, 30)),
        *(post("cat", n, "css|html") for n in range(30, 60)),
        *(post("dan", n, "math", kind="answer") for n in range(60, 70)),
        *(post("eve", n, "math", split="heldout") for n in range(70, 72)),
    ]
    return write_database(tmp_path / "stackoverflow.sqlite", [row for rows in posts for row in rows])


def numbers(texts):
    return np.array([[float(text.split()[1]), 1.0] for text in texts])


def rows(points):
    return sorted(int(row[0]) for row in points)


def load(database, **more):
    return stack_overflow_sqlite(database, TOPICS, embed=numbers, **({"server_per_topic": 2, "server_off_topic": 5} | more))


def test_titles_are_one_for_each_question_and_none_for_answers(database):
    data = load(database, server_per_topic=0)
    assert [rows(c) for c in data.clients] == [list(range(10)), list(range(10, 20))]
    assert data.name == "stackoverflow (math, github)"
    assert data.unit == "client"


def test_sentences_are_all_of_questions_and_answers(database):
    data = load(database, reading="sentences", server_per_topic=0)
    twice = [sorted(2 * list(range(start, start + 10))) for start in (0, 10, 60)]
    assert [rows(c) for c in data.clients] == twice
    assert data.pooled[:2, 0] == pytest.approx([0.0, 0.1])  # the sentences, not the titles
    assert rows(data.server_points) == [row for row in rows(data.server_points) if 30 <= row < 60]


def test_the_servers_titles_are_off_topic_or_taken_from_clients(database):
    data = load(database)
    off, math, github = (rows(data.server_points[part]) for part in (slice(5), slice(5, 7), slice(7, 9)))
    assert len(set(off)) == 5
    assert set(off) <= set(range(30, 60))
    assert set(math) <= set(range(10))
    assert set(github) <= set(range(10, 20))
    assert rows(np.concatenate([data.pooled, data.server_points[5:]])) == list(range(20))


def test_other_questions_are_drawn_uniformly(database):
    """Each of 30 questions is in a sample of 5 with probability 1/6: of 300 samples in 50, standard deviation 6.5."""
    drawn = [rows(load(database, seed=seed).server_points[:5]) for seed in range(300)]
    counts = np.bincount(np.concatenate(drawn), minlength=60)[30:]
    assert counts.sum() == 1500
    assert np.abs(counts - 50).max() < 32  # a false alarm has a chance below 1e-4


def test_the_pool_is_a_uniform_sample_of_all_rows(database, monkeypatch):
    """Each of 60 questions is in a pool of 6 with probability 1/10: of 400 pools in 40, standard deviation 6."""
    monkeypatch.setattr(stack_overflow, "POOL", 6)
    counts = np.zeros(60)
    for seed in range(400):
        sample = stack_overflow._Rows(frozenset(), rng=np.random.default_rng(seed))
        for number in range(60):
            sample.add(("ann", "css", str(number)), sample.place())
        assert len(set(sample.drawn)) == 6
        counts[[int(row[2]) for row in sample.drawn]] += 1
    assert np.abs(counts - 40).max() < 32  # a false alarm has a chance below 1e-5
    table = read_database(database, TOPICS)["titles"]
    assert sum(table["drawn"].to_pylist()) == 6
    assert table.num_rows == 26


def test_splits(database):
    assert [rows(c) for c in load(database, split="heldout", server_per_topic=0, server_off_topic=0).clients] == [[70, 71]]
    assert load(database, split=None, server_per_topic=0).n_points == 22


def test_a_database_or_a_setting_of_another_kind_is_refused(database, tmp_path):
    with pytest.raises(FedDPError, match="server_off_topic must be from 0 to the 30 rows there are, got 31"):
        load(database, server_off_topic=31)
    with pytest.raises(FedDPError, match=r"reading must be one of \['titles', 'sentences'\], got 'words'"):
        load(database, reading="words")
    with pytest.raises(FedDPError, match=r"topics must be the first tag of some row of the database, got \('plotting',\)"):
        stack_overflow_sqlite(database, ("plotting",), embed=numbers)
    with pytest.raises(FedDPError, match="file must exist"):
        load(tmp_path / "none.sqlite")
    (tmp_path / "text.sqlite").write_text("no database at all, " * 100)
    with pytest.raises(FedDPError, match=r"text\.sqlite must be TensorFlow Federated's SQLite database"):
        load(tmp_path / "text.sqlite")
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    with pytest.raises(FedDPError, match=r"empty\.sqlite must be TensorFlow"):
        load(tmp_path / "empty.sqlite")
    with pytest.raises(FedDPError, match="serialized_example_proto must hold bytes, got str"):
        load(write_database(tmp_path / "words.sqlite", [("train", "ann", "words")]))


def test_the_papers_pairs_have_two_readings_each():
    assert len(SETS) == 8
    assert SETS["so-github-pdf"].topics == SETS["so-github-pdf-sentences"].topics == ("github", "pdf")
    assert SETS["so-plot-cookies"].paper_clients == 2_720
    assert [name for name, made in SETS.items() if made.paper == "Figure 2, right"] == ["so-github-pdf", "so-github-pdf-sentences"]


# Tables that are made once.


@pytest.fixture
def embedding(monkeypatch):
    """Make ``counted:embed`` importable; return the numbers of texts that it was given."""
    given = []
    module = types.SimpleNamespace(embed=lambda texts: given.append(len(texts)) or numbers(texts))
    monkeypatch.setitem(sys.modules, "counted", module)
    monkeypatch.setattr(text_embedding, "PART", 4)
    return given


@pytest.fixture
def pair(tmp_path):
    posts = [
        *(post("ann", n, "github") for n in range(3)),
        *(post("bob", n, "pdf", kind="answer") for n in range(3, 5)),
        *(post("cat", n, "css") for n in range(5, 8)),
    ]
    return write_database(tmp_path / "so.sqlite", [row for rows in posts for row in rows])


def make(database, folder, *names):
    said = []
    assert make_tables(database, folder, names, "counted:embed", said.append) == folder
    return said


def test_the_database_is_read_once_and_each_text_embedded_once(pair, tmp_path, embedding, monkeypatch):
    said = make(pair, tmp_path / "t", "so-github-pdf")
    assert embedding == [4, 2]  # three titles on topic and three others
    assert said[0] == "so.sqlite: 3 of 3 clients read"
    assert said[1:3] == ["so-github-pdf: 4 of 6 texts embedded", "so-github-pdf: 6 of 6 texts embedded"]
    assert said[3:] == ["so-github-pdf: 1 clients in the database, 9,237 in the paper"]
    monkeypatch.setattr(stack_overflow, "read_database", None)
    assert make(pair, tmp_path / "t", "so-github-pdf") == said[3:]
    assert make(pair, tmp_path / "t", "so-github-pdf-sentences")[-1] == (
        "so-github-pdf-sentences: 2 clients in the database, 9,237 in the paper"
    )
    assert embedding == [4, 2, 4, 4, 4, 4]  # ten sentences on topic and six others
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == [
        "database.txt",
        "embed.txt",
        "sentences.parquet",
        "stackexchange_so-github-pdf-sentences.parquet",
        "stackexchange_so-github-pdf.parquet",
        "titles.parquet",
    ]
    sizes = {"server_per_topic": 1, "server_off_topic": 3}
    data = stack_exchange(tmp_path / "t", "so-github-pdf-sentences", topics=("github", "pdf"), **sizes)
    assert rows(data.server_points[:3]) == [row for row in rows(data.server_points[:3]) if row >= 5]
    assert data.n_points == 8


def test_an_interrupted_embedding_goes_on(pair, tmp_path, embedding, monkeypatch):
    def stop(texts):
        if len(texts) < 4:
            raise KeyboardInterrupt
        return numbers(texts)

    monkeypatch.setitem(sys.modules, "counted", types.SimpleNamespace(embed=stop))
    with pytest.raises(KeyboardInterrupt):
        make(pair, tmp_path / "t", "so-github-pdf")

    def fail(texts):
        raise ValueError("other")

    module = types.SimpleNamespace(embed=lambda texts: embedding.append(len(texts)) or numbers(texts), other=fail)
    monkeypatch.setitem(sys.modules, "counted", module)
    with pytest.raises(FedDPError, match="got ValueError: other"):  # parts of another embedding are not taken
        make_tables(pair, tmp_path / "t", ["so-github-pdf"], "counted:other")
    make(pair, tmp_path / "t", "so-github-pdf")
    assert embedding == [2]
    table = pq.read_table(tmp_path / "t" / "stackexchange_so-github-pdf.parquet")
    assert [row[0] for row in table["embedding"].to_pylist()] == [float(text.split()[1]) for text in table["text"].to_pylist()]


def test_a_folder_is_for_one_database_and_one_embedding(pair, database, tmp_path, embedding):
    make(pair, tmp_path / "t", "so-github-pdf")
    with pytest.raises(FedDPError, match=r"--out must be another folder: .* made from another database or with another --embed"):
        make(database, tmp_path / "t", "so-github-pdf")
    sys.modules["counted"].other = numbers
    with pytest.raises(FedDPError, match="--out must be another folder"):
        make_tables(pair, tmp_path / "t", ["so-github-pdf"], "counted:other")


def test_what_tables_cannot_be_made_of_is_refused(pair, tmp_path, embedding):
    with pytest.raises(FedDPError, match="--stackoverflow must name a file, got"):
        make(tmp_path / "none.sqlite", tmp_path / "t", "so-github-pdf")
    (tmp_path / "text.sqlite").write_text("no database at all, " * 100)
    with pytest.raises(FedDPError, match="must be TensorFlow"):  # and the folder can still be used
        make(tmp_path / "text.sqlite", tmp_path / "t", "so-github-pdf")
    with pytest.raises(FedDPError, match=r"topics must be the first tag of some row of the database, got \('plot', 'cookies'\)"):
        make(pair, tmp_path / "t", "so-plot-cookies")
    (tmp_path / "t" / "titles.parquet").write_text("spoilt")
    with pytest.raises(FedDPError, match=r"titles\.parquet must be a readable"):
        make(pair, tmp_path / "t", "so-github-pdf")
