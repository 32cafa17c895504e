"""``feddp report``: a page from a result that was written before."""

import json

import pytest

from feddp_kmeans.cli.report import write_report
from feddp_kmeans.errors import FedDPError
from tests.cli.command import feddp
from tests.report.examples import HARD


def written(folder, result):
    folder.mkdir(exist_ok=True)
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def test_the_command_writes_the_page_and_says_where(tmp_path):
    run = written(tmp_path / "run", HARD["ordinary"])
    done = feddp("report", run)
    assert (done.returncode, done.stdout) == (0, f"{run / 'report.html'}\n")
    assert "Private clustering report" in (run / "report.html").read_text()
    assert feddp("report", tmp_path / "none").stderr.startswith("feddp: run must be a folder with a result.json")


def test_a_folder_or_the_file_and_another_place(tmp_path):
    run = written(tmp_path / "run", HARD["old"])
    assert write_report(run, None) == write_report(run / "result.json", None) == run / "report.html"
    assert write_report(run, tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must hold a result of feddp fit: JSON must be readable"),
        ("[]", "got a list"),
        ('{"version": "1"}', "got one without 'method'"),
        (None, "must be a folder with a result"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(tmp_path, content, message):
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(FedDPError, match=message):
        write_report(tmp_path, None)


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    run = written(tmp_path / "run", HARD["ordinary"])
    for place in (tmp_path, tmp_path / "none" / "page.html"):
        with pytest.raises(FedDPError, match="--out must be a file"):
            write_report(run, place)
