"""``feddp ask`` as a person runs it."""

import pytest

from feddp_kmeans.report.result import result_dict, write_result
from feddp_kmeans.tables.schema import Schema
from tests.algorithm.months import COLUMNS, month, year
from tests.cli.command import feddp


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ask")
    write_result(folder / "run", result_dict(year([month(0)])[0], columns=COLUMNS, seed=0))
    (folder / "list.txt").write_text("visa\nflight\n")
    return folder


def test_a_question_is_written_and_says_what_to_do_next(folder):
    done = feddp("ask", "run", "--columns", "age", "--range", "age=0:110", "--out", "q.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "feddp join ... --schema q.json" in done.stdout
    assert [field.kind for field in Schema.read(folder / "q.json").fields][-1:] == ["profile"]
    again = feddp("ask", "run", "--words", "title", "--list", "list.txt", "--out", "q.json", cwd=folder)
    assert again.returncode == 1
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--columns or --words must be given"),
        (("--columns", "age", "--words", "title"), "--columns or --words must be given"),
        (("--columns", "age"), "must have public categories or a public range"),
        (("--words", "title"), "words must be given by --list"),
    ],
)
def test_what_is_no_question_is_refused(folder, options, message):
    done = feddp("ask", "run", *options, "--out", "none.json", cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (folder / "none.json").exists()


def test_a_run_with_an_answer_is_not_asked_again_unless_forced(folder):
    assert feddp("ask", "run", "--columns", "age", "--range", "age=0:110", "--out", "again.json", cwd=folder).returncode == 0
    (folder / "run" / "profile.json").write_text("{}")
    done = feddp("serve", "--insecure", "--about", "run", "--schema", "again.json", "--epsilon", 1, "--out", "answer", cwd=folder)
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert "profile.json" in done.stderr
    (folder / "run" / "profile.json").unlink()
