"""The log as the command line shows it, and as a library keeps it."""

import logging
import os
import pty
import re
import subprocess
import sys

import pytest

from feddp_kmeans.cli.terminal import log_shown, show_log
from tests.cli.command import COMMAND

LOG = logging.getLogger("feddp_kmeans.tables.point_files")
LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d a note with \[brackets\]\n"


def test_the_log_is_shown_as_plain_lines_only_while_a_command_runs(capsys):
    with log_shown():
        LOG.info("a note with [brackets]")
        LOG.warning("%d of %d rows", 1, 2)
    LOG.warning("after")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "a note with [brackets]\n1 of 2 rows\n")


def test_long_commands_show_the_time_of_each_line(capsys):
    with log_shown():
        show_log(times=True)
        LOG.info("a note with [brackets]")
    assert re.fullmatch(LINE, capsys.readouterr().err)


def test_quiet_shows_warnings_only(capsys):
    with log_shown():
        show_log(quiet=True)
        LOG.info("progress")
        LOG.warning("rows are left out")
    assert capsys.readouterr().err == "rows are left out\n"


@pytest.mark.parametrize(("before", "expected"), [("", ""), ("logging.basicConfig(format='%(message)s')", "a warning\n")])
def test_as_a_library_it_shows_nothing_unless_asked(before, expected):
    code = f"import logging, feddp_kmeans; {before}\nlogging.getLogger('feddp_kmeans.x').warning('a warning')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", expected)


@pytest.mark.parametrize(
    ("more", "styled"), [pytest.param({}, True, marks=pytest.mark.slow), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)]
)
def test_no_color_means_plain_text_on_a_terminal(more, styled):
    clean = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    ours, theirs = pty.openpty()
    asked = [*COMMAND, "plan", "-k", "2", "--dimension", "1"]
    with subprocess.Popen(asked, stdout=theirs, stderr=theirs, stdin=theirs, env=clean | {"TERM": "xterm"} | more) as done:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    os.close(ours)
    assert done.returncode == 0
    assert b"multiplier" in shown
    assert (b"\x1b[" in shown) is styled


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the command has ended
        return b""
