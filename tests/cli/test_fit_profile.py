"""``feddp fit --profile``, as a person runs it."""

import json
import math
from types import SimpleNamespace

import pytest

from feddp_kmeans.algorithm.settings import NoiseName, Settings
from feddp_kmeans.cli.after_run import AfterRun
from feddp_kmeans.cli.fit_profile import FitProfile, shared_out
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS
from tests.cli.command import feddp
from tests.cli.people import people_lines

COLUMNS = ("--range", "income=0:100", "--range", "age=0:110", "--categories", "sex=f,m", "--ignore", "sex")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text("income,age,sex\n" + "\n".join(people_lines()) + "\n")
    return folder


def fit(folder, *more, epsilon=1, table="people.csv", clusters=("-k", 2)):
    return feddp("fit", table, *clusters, "--epsilon", epsilon, "--odometer", "budget.jsonl", *more, cwd=folder)


def entries(folder):
    return Odometer(folder / "budget.jsonl").entries()


def test_a_fit_and_its_profile_share_one_budget_and_are_not_paid_twice(folder):
    done = fit(folder, *COLUMNS, "--profile", "sex,age", "--limit", 1, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "clusters have epsilon 0.8868 and their profile 0.4218, which together cost epsilon 1" in done.stderr
    assert "2 runs on these data so far: together epsilon 0.99" in done.stdout
    assert [field["name"] for field in json.loads((folder / "run" / "result.json").read_text())["schema"]["columns"]] == ["income", "age"]
    counted = (folder / "run" / "profile.json").read_bytes()
    sex, age = json.loads(counted)["columns"]
    assert sorted(round(shares[0], 1) for shares in sex["shares"][:2]) == [0.2, 0.8]
    assert sorted(round(mean, -1) for mean in age["means"][:2]) == [30, 50]
    page = (folder / "run" / "report.html").read_text()
    assert "2 runs on these data are on record" in page
    assert len(entries(folder)) == 2

    again = fit(folder, *COLUMNS, "--profile", "sex,age", "--resume", "run", "-q")
    assert again.returncode == 0, again.stderr
    assert (folder / "run" / "profile.json").read_bytes() == counted
    (folder / "run" / "profile.json").unlink()  # as if it had stopped between the two
    more = fit(folder, *COLUMNS, "--profile", "sex,age", "--resume", "run", "-q")
    assert more.returncode == 0, more.stderr
    assert (folder / "run" / "profile.json").exists()
    assert len(entries(folder)) == 3


def test_the_next_month_has_a_profile_too(folder):
    assert fit(folder, *COLUMNS, "--out", "first", "-q", epsilon=4).returncode == 0
    more = ("--from", "first", "--profile", "sex", "--categories", "sex=f,m", "--out", "second", "-q")
    done = fit(folder, *more, epsilon=4, clusters=())
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "second" / "profile.json").read_text())
    assert [column["column"] for column in found["columns"]] == ["sex"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((*COLUMNS, "--profile", "height"), "column 'height' must have"),
        (("--range", "income=0:100", "--ignore", "sex", "--profile", "sex"), "column 'sex' must have categories or a public range"),
        ((*COLUMNS, "--profile", "sex", "--limit", 0.9), "must stay within epsilon 0.9"),
        ((*COLUMNS, "--profile", "sex", "--profile-share", 1), "--profile-share"),
    ],
)
def test_impossible_profiles_are_refused_before_anything_is_spent(folder, more, message):
    before = entries(folder)
    done = fit(folder, *more, "--out", "refused")
    assert done.returncode in {1, 2}
    assert message in done.stderr
    assert not (folder / "refused").exists()
    assert entries(folder) == before


def test_nothing_is_asked_about_made_up_points_or_about_a_useless_run(folder):
    before = entries(folder)
    assert fit(folder, *COLUMNS, "--profile", "sex", "--rehearse", "--out", "rehearsal", "-q").returncode == 0
    assert not (folder / "rehearsal" / "profile.json").exists()
    assert entries(folder) == before
    (folder / "few.csv").write_text("income,age,sex\n20,30,f\n60,50,m\n")
    done = fit(folder, *COLUMNS, "--profile", "sex", "--out", "useless", "-q", epsilon=0.1, table="few.csv")
    assert done.returncode == 3
    assert not (folder / "useless" / "profile.json").exists()
    assert len(entries(folder)) == len(before) + 1


def test_a_budget_without_noise_stays_one_and_all_noise_is_gaussian():
    settings, epsilon = shared_out(Settings(2, math.inf), 0.2)
    assert (settings.epsilon, epsilon) == (math.inf, math.inf)
    assert shared_out(Settings(2, 1.0), 0.2)[0].noise is NoiseName.GAUSSIAN


def test_an_answer_about_these_clusters_is_kept(tmp_path):
    from feddp_kmeans.report.about import about_text
    from feddp_kmeans.report.result import result_dict, write_result
    from tests.algorithm.months import COLUMNS as NAMES
    from tests.algorithm.months import month, year

    result = result_dict(year([month(0)])[0], columns=NAMES, seed=0)
    write_result(tmp_path, result)
    (tmp_path / "profile.json").write_text(about_text(result, {"columns": []}))
    asked = FitProfile(SimpleNamespace(), SimpleNamespace(n_clients=1), 1.0, Settings(3, 1.0))
    asked.carry_out(AfterRun(tmp_path, "people.csv", 1.0, 1e-6, None, 1e-6, None, None, False, False, True, AS_THE_HEADER_SAYS))
    assert json.loads((tmp_path / "profile.json").read_text())["columns"] == []
