"""Questions about finished clusters, in files and over a federation: the same bits as in one place."""

import json
from dataclasses import replace

import numpy as np
import pytest

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cluster_texts import word_schema
from feddp_kmeans.errors import InputError
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.profiling import profile_schema
from feddp_kmeans.questions import Question
from feddp_kmeans.report.finished_run import read_run
from feddp_kmeans.tables.inputs import open_federation
from feddp_kmeans.tables.schema import ProfileSchema, Schema
from tests.cli.command import feddp

SITES = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    rng = np.random.default_rng(0)
    (folder / "sites").mkdir()
    for site in range(SITES):
        groups = rng.integers(0, 2, 2000)
        rows = [f"{20 + 40 * g + rng.normal():.2f},{'f' if g else 'm'},{'a cheap flight' if g else 'my visa'}" for g in groups]
        (folder / "sites" / f"s{site}.csv").write_text("x,sex,title\n" + "\n".join(rows) + "\n")
    options = ("--ignore", "title", "--ignore", "sex", "--range", "x=0:100", "--odometer", "fit.jsonl", "--out", "run", "-q")
    done = feddp("fit", "sites", "-k", 2, "--epsilon", 4, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "words.txt").write_text("visa\nflight\ntrain\n")
    return folder


def asked(folder, kind):
    """Return the path of a question that ``feddp ask`` wrote."""
    more = ("--columns", "sex,x", "--categories", "sex=f,m") if kind == "profile" else ("--words", "title", "--list", "words.txt")
    done = feddp("ask", "run", *more, "--out", f"{kind}.question.json", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / f"{kind}.question.json"


@pytest.mark.parametrize("kind", ["profile", "words"])
def test_a_question_in_a_file_is_the_question(folder, kind):
    read = Schema.read(asked(folder, kind))
    assert isinstance(read, ProfileSchema)
    fields = Schema.from_dict(json.loads((folder / "run" / "result.json").read_text())["schema"]).fields
    sex = Schema.from_dict({"columns": {"sex": {"categories": ["f", "m"]}}})
    made = profile_schema(fields, ["sex", "x"], sex) if kind == "profile" else word_schema(fields, "title", ["visa", "flight", "train"], 8)
    assert read.fields == made.fields
    assert read.to_dict() == made.to_dict()


@pytest.mark.parametrize("kind", ["profile", "words"])
def test_a_federation_answers_with_the_same_bits_as_one_place(folder, kind, tmp_path):
    pytest.importorskip("flwr")
    from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
    from feddp_kmeans.network.deployment.site import Site
    from feddp_kmeans.network.terms import Trust
    from tests.network.loopback import Loopback

    path = asked(folder, kind)
    question = Question.read(path, read_run(folder / "run"), PrivacyUnit.POINT)
    federation = open_federation(str(folder / "sites"), question.schema)[0]
    with federation.open(question.plan(1.0, 1e-6, SITES), 5) as run:
        expected = question.answer(run).to_dict()
    for trust in (Trust.AGGREGATOR, Trust.SECURE_SUM):
        place = tmp_path / trust.value
        place.mkdir()
        how = {"schema": str(path), "allow_aggregator": True, "allow_simulation": True}
        names = [f"s{number}" for number in range(SITES)]
        sites = [
            Site(name, str(folder / "sites" / f"{name}.csv"), float("inf"), str(place / name), str(place / f"{name}.jsonl"), **how)
            for name in names
        ]
        request = RunRequest("run1", Settings(2, 1.0), str(place / "answer"), "feddp serve", about=str(folder / "run"), schema=str(path))
        request = replace(request, trust=trust, min_sites=SITES, seed=5 if trust is Trust.AGGREGATOR else None)
        carry_out(Loopback(site.participant() for site in sites), opened(request))
        told = json.loads((place / "answer" / question.file).read_text())
        if trust is Trust.AGGREGATOR:
            for name in {*expected} - {"guarantee", "plan", "ledger"}:
                assert json.dumps(told[name]) == json.dumps(expected[name]).replace("NaN", "null")
        else:
            assert "NOT PRIVATE" not in told["guarantee"]
            assert {*expected} <= {*told}


def test_a_question_about_other_columns_is_refused(folder):
    path = asked(folder, "words")
    run = read_run(folder / "run")
    with pytest.raises(InputError, match="the question must be about the columns of this run"):
        Question.read(path, replace(run, columns=("y",)), PrivacyUnit.POINT)
    Schema(run.schema.fields).write(folder / "plain.json")
    with pytest.raises(InputError, match="--schema must be a question that feddp ask wrote"):
        Question.read(folder / "plain.json", run, PrivacyUnit.POINT)
