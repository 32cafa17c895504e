"""A run that goes on from a finished one: its numbers, names and columns are read back, or refused in one line."""

import json

import pytest

from feddp_kmeans.errors import InputError
from feddp_kmeans.report.about import centers_digest
from feddp_kmeans.report.going_on import Start
from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.tables.stated_columns import StatedColumns
from tests.algorithm.months import COLUMNS, month, year


@pytest.fixture(scope="module")
def found():
    return year([month(0), month(1)])


@pytest.fixture
def folder(found, tmp_path):
    write_result(tmp_path, result_dict(found[0], columns=COLUMNS, seed=0, left_out={"name": "asked for", "hospital": "names the client"}))
    return tmp_path


def test_a_result_leaves_what_its_run_leaves(folder, found):
    start, last = Start.read(folder, "hospital"), found[0].last_run()
    for name in ("centers", "place_stddev", "counts", "within", "weights"):
        assert getattr(start.last, name).tolist() == getattr(last, name).tolist()
    assert start.like.columns == COLUMNS
    assert start.like.left_out == ("name",)
    with pytest.raises(InputError, match="columns must be those of the run of --from"):
        start.like.check_alone(StatedColumns(ranges=("a=0:1",)), None)


def test_names_are_kept_from_run_to_run(folder, found, tmp_path):
    after = result_dict(found[1], columns=COLUMNS, seed=0)
    assert Start.read(folder).told(after)["names"] is None
    words = {"centers": centers_digest(Start.read(folder).result), "clusters": [{"name": name} for name in ("visa", "flight", None)]}
    (folder / "words.json").write_text(json.dumps(words))
    told = Start.read(folder).told(after)
    assert told["names"] == ["visa", "flight", None]
    assert told["changes"]["new_people"] is False
    write_result(tmp_path / "next", told)
    page = (tmp_path / "next" / "report.html").read_text()
    assert "What changed since the earlier run" in page
    assert "Cluster 0: visa" in page
    assert Start.read(tmp_path / "next").told(after)["names"] == ["visa", "flight", None]
    for broken in ("[]", "{", '{"clusters": [{"name": "only one"}]}', '{"clusters": 3}'):
        (folder / "words.json").write_text(broken)
        assert Start.read(folder).told(after)["names"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"useless": "all is noise"}, "must say something about the clusters, got a useless one: all is noise"),
        ({"rehearsal": True}, "must be a run on the clients' data, got a rehearsal"),
        ({"center_stddev": None}, "must be a run of method 'refined', which states center_stddev"),
        ({"place_stddev": [[1.0]]}, "which states place_stddev"),
        ({"spread": [1.0, 2.0]}, "which states spread of its clusters, got another spread"),
        ({"reach": "far"}, "which states reach"),
        ({"count_stddev": -1.0}, "which states count_stddev"),
        ({"inertia": float("nan")}, "must hold a result of feddp fit|finite"),
        ({"noisy_counts": [None, 1.0, 2.0]}, "must be a run with finite sizes and distances"),
    ],
)
def test_other_results_are_refused(folder, change, message):
    result = json.loads((folder / "result.json").read_text()) | change
    (folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(InputError, match=message):
        Start.read(folder)


def test_new_people_are_those_of_no_run_without_one():
    assert Start.read(None) is None
    with pytest.raises(InputError, match="--new-people must be given together with --from"):
        Start.read(None, new_people=True)
