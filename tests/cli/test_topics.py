"""``feddp topics`` as a person runs it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feddp_kmeans.privacy.odometer import Odometer
from tests.cli.command import feddp

ABOUT = ("my visa was refused", "a cheap flight ticket", "the night train to rome")
SAID = ("visa refused embassy form", "flight ticket cheap seat", "train night rome station")


def public_text(number):
    """Return two or three words of a topic, and one of any."""
    rng = np.random.default_rng(number)
    own = rng.permutation(SAID[number % 3].split())[: rng.integers(2, 4)]
    return " ".join([*own, rng.choice(" ".join(SAID).split()), f"word{number % 7}"])


OTHERS = [public_text(number) for number in range(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topics")
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(4000), 2)
    groups = rng.integers(0, 3, 4000)[users]
    vectors = [[float(x) for x in np.eye(3)[g] + 0.05 * rng.standard_normal(3)] for g in groups]
    kind = pa.list_(pa.float32(), 3)
    table = {"user": users, "title": [ABOUT[g] for g in groups], "vector": pa.array(vectors, kind)}
    pq.write_table(pa.table(table), folder / "questions.parquet")
    near = [[float(x) for x in np.eye(3)[place % 3] + 0.2 * rng.standard_normal(3)] for place in range(len(OTHERS))]
    public = {"title": OTHERS, "vector": pa.array(near, kind)}
    pq.write_table(pa.table(public), folder / "public.parquet")
    return folder


def run(folder, *more, epsilon=4):
    given = ("questions.parquet", "--client-column", "user", "--text", "title", "--server", "public.parquet", "-k", 3, "--epsilon", epsilon)
    return feddp("topics", *given, *more, cwd=folder)


@pytest.mark.parametrize(("out", "more"), [("texts", ()), ("stored", ("--vectors", "vector"))])
def test_topics_have_names_words_and_public_texts(folder, out, more):
    done = run(folder, "--out", out, "--odometer", f"{out}.jsonl", *more)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / out / "topics.json").read_text())["topics"]
    assert {frozenset(one["word"] for one in topic["words"]) & {"visa", "flight", "train"} for topic in found} == {
        frozenset({"visa"}),
        frozenset({"flight"}),
        frozenset({"train"}),
    }
    for topic in found:
        assert topic["public_texts"]
        assert set(topic["public_texts"]) <= set(OTHERS)
        assert topic["closest"] != topic["topic"]
    page = (folder / out / "topics.html").read_text()
    assert "All 2 runs on these data together cost epsilon <b>" in page
    assert ABOUT[0] not in page
    assert "More about the clusters" in (folder / out / "report.html").read_text()
    entries = Odometer(folder / f"{out}.jsonl").entries()
    assert len(entries) == 2


def test_a_stopped_run_goes_on_with_the_words(folder):
    assert run(folder, "--out", "again", "--odometer", "again.jsonl", "-q").returncode == 0
    for name in ("topics.json", "words.json"):
        (folder / "again" / name).unlink()
    centers = json.loads((folder / "again" / "result.json").read_text())["centers"]
    assert run(folder, "--out", "again", "--odometer", "again.jsonl", "-q").returncode == 0
    assert json.loads((folder / "again" / "result.json").read_text())["centers"] == centers
    done = run(folder, "--out", "again", "--odometer", "again.jsonl")
    assert done.returncode == 1
    assert "--force" in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--embed", "nothing"), "--embed must be tfidf or the name of a function"),
        (("--vectors", "title"), "--vectors must name a column of lists of numbers"),
        (("--vectors", "missing"), "--vectors must name a column of the tables"),
        (("--limit", 1), "must stay within epsilon 1"),
    ],
)
def test_impossible_options_are_refused(folder, more, message):
    done = run(folder, "--out", "refused", "--odometer", "refused.jsonl", *more)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (folder / "refused.jsonl").exists()


def test_both_runs_must_be_within_the_limit_before_anything_is_replaced(folder):
    assert run(folder, "--out", "kept", "--odometer", "kept.jsonl", "--limit", 4, "-q").returncode == 0
    assert len(Odometer(folder / "kept.jsonl").entries()) == 2
    before = (folder / "kept" / "topics.json").read_bytes()
    done = run(folder, "--out", "kept", "--odometer", "kept.jsonl", "--limit", 5, "--force", epsilon=3.5)
    assert (done.returncode, "must stay within epsilon 5" in done.stderr) == (1, True)
    assert (folder / "kept" / "topics.json").read_bytes() == before
    assert len(Odometer(folder / "kept.jsonl").entries()) == 2


def test_what_was_counted_is_not_counted_again(folder):
    given = ("--out", "counted", "--odometer", "counted.jsonl", "-q")
    assert run(folder, *given, "--language", "en").returncode == 0
    counted = (folder / "counted" / "words.json").read_bytes()
    (folder / "counted" / "topics.json").unlink()
    assert run(folder, *given, "--language", "en").returncode == 0
    assert (folder / "counted" / "words.json").read_bytes() == counted
    assert len(Odometer(folder / "counted.jsonl").entries()) == 2
