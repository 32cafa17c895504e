"""The log: every line has a time, JSON lines have named facts, and a kept log is private, bounded and never in the way."""

import json
import logging
import re

import pytest

from feddp_kmeans import FedDPError, _logs
from feddp_kmeans._logs import JsonLines, TimedLines, about, kept_log
from tests.logs import logged

log = logging.getLogger("feddp_kmeans.some.module")


def record(message, *given, **facts):
    return log.makeRecord(log.name, logging.WARNING, "", 0, message, given, None, extra=about("missing", **facts) if facts else None)


def test_a_line_for_people_has_a_time_and_nothing_that_moves_a_cursor():
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d celle \?\[2Jis missing", TimedLines().format(record("celle \x1b[2Jis missing")))
    assert TimedLines(times=False).format(record("%s is missing", "celle")) == "celle is missing"


def test_a_line_for_programs_is_one_json_object():
    line = JsonLines().format(record("celle\nis %s", "missing", site="celle", reason="timed out", run=None, release=""))
    assert "\n" not in line
    told = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", told.pop("time"))
    assert told == {"level": "warning", "event": "missing", "site": "celle", "reason": "timed out", "message": "celle\nis missing"}
    assert json.loads(JsonLines().format(record("plain")))["event"] == "note"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_log_is_kept_for_its_owner_only_and_says_how_it_ended(tmp_path):
    path = tmp_path / "state" / "log.jsonl"

    def work():
        log.info("connected")
        raise FedDPError("the server must answer.")

    with pytest.raises(FedDPError), logged(), kept_log(path, makes_folder=True):
        work()
    assert [row["message"] for row in lines(path)] == ["connected", "ended: the server must answer."]
    assert lines(path)[1]["reason"] == "the server must answer."
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyboardInterrupt), logged(), kept_log(path):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError), logged(), kept_log(path):
        raise ZeroDivisionError("quotes 'Ada Lovelace'")
    assert [row["reason"].split(" in ")[0] for row in lines(path)[2:]] == ["interrupted", "ZeroDivisionError"]
    assert "Lovelace" not in path.read_text()
    log.warning("after the end")
    assert len(lines(path)) == 4


def test_a_kept_log_does_not_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_logs, "_MOST_BYTES", 2000)
    with logged(), kept_log(tmp_path / "log.jsonl"):
        for number in range(500):
            log.info("line %d", number)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["log.jsonl", "log.jsonl.1", "log.jsonl.2", "log.jsonl.3", "log.jsonl.4"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10_000
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    assert lines(tmp_path / "log.jsonl")[-1]["message"] == "line 499"


def test_a_folder_that_is_not_there_is_not_made_for_a_log(tmp_path):
    with logged() as seen, kept_log(tmp_path / "run" / "log.jsonl"):
        log.info("before")
        (tmp_path / "run").mkdir()
        log.info("after")
    assert seen == ["before", "after"]
    assert [row["message"] for row in lines(tmp_path / "run" / "log.jsonl")] == ["after"]


def test_a_log_that_cannot_be_written_is_in_nobody_s_way(tmp_path, capsys):
    (tmp_path / "log.jsonl").mkdir()
    with logged() as seen, kept_log(tmp_path / "log.jsonl"):
        log.info("still here")
    assert seen == ["still here"]
    assert capsys.readouterr().err == ""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(FedDPError, match="must be a folder that can be written"),
        kept_log(tmp_path / "file" / "log.jsonl", makes_folder=True),
    ):
        pass
