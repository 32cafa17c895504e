"""``feddp words`` as a person runs it."""

import json

import numpy as np
import pytest

from feddp_kmeans.privacy.odometer import Odometer
from tests.cli.command import feddp


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 3000)
    rows = [f"{20 + 40 * g + rng.normal():.2f},{'a cheap flight' if g else 'my visa'}" for g in groups]
    (folder / "questions.csv").write_text("x,title\n" + "\n".join(rows) + "\n")
    (folder / "public.csv").write_text("title\n" + "cheap visa flight\n" * 3 + "a train\n" * 3)
    done = feddp(
        "fit", "questions.csv", "-k", 2, "--epsilon", 4, "--ignore", "title", "--range", "x=0:100", "--out", "run", "-q", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_words_are_shown_written_and_booked(folder):
    done = feddp("words", "run", "questions.csv", "--column", "title", "--server", "public.csv", "--epsilon", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    for told in ("Words that set clusters apart", "visa", "flight", "What was released", "2 runs on these data so far"):
        assert told in done.stdout
    found = json.loads((folder / "run" / "words.json").read_text())
    assert sorted(cluster["name"].split(",")[0] for cluster in found["clusters"]) in (["cheap", "visa"], ["flight", "visa"])
    assert "train" not in done.stdout
    assert [entry.plan.epsilon for entry in Odometer(folder / ".feddp-budget.jsonl").entries()] == [4.0, 2.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--column", "title", "--epsilon", 1), "words must be given by --list"),
        (("--column", "text", "--server", "public.csv", "--epsilon", 1), "text"),
        (("--column", "title", "--list", "none.txt", "--epsilon", 1), "words must be a text file"),
    ],
)
def test_refusals_are_one_line_and_spend_nothing(folder, given, told):
    before = len(Odometer(folder / ".feddp-budget.jsonl").entries())
    done = feddp("words", "run", "questions.csv", *given, "--out", "refused.json", cwd=folder)
    assert (done.returncode, told in done.stderr, len(done.stderr.strip().splitlines())) == (1, True, 1), done.stderr
    assert len(Odometer(folder / ".feddp-budget.jsonl").entries()) == before
