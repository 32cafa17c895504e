"""The command as tests run it: in this process, or as a process of its own where that is the point."""

import contextlib
import io
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
import pytest

COMMAND = [sys.executable, "-c", "from feddp_kmeans.cli.main import main; main()"]


@dataclass(frozen=True)
class Done:
    """How a command ended, named as ``subprocess`` names it."""

    returncode: int
    stdout: str
    stderr: str


def feddp(*arguments, cwd=None):
    """Run the command here. An exception that a person would see as a traceback fails the test."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        # What a command writes where it stands is gone afterwards, unless the test says where that is.
        where = cwd or stack.enter_context(tempfile.TemporaryDirectory())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        stack.enter_context(contextlib.redirect_stdout(stdout))
        stack.enter_context(contextlib.redirect_stderr(stderr))
        patch.setattr(sys, "argv", ["feddp", *map(str, arguments)])
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.delenv("FEDDP_TABLES", raising=False)
        patch.delenv("FEDDP_STACKOVERFLOW", raising=False)
        patch.chdir(where)
        # Imported here, so that its consoles find no terminal however the tests were started.
        from feddp_kmeans.cli.main import main

        with pytest.raises(SystemExit) as ended:
            main()
    return Done(ended.value.code or 0, stdout.getvalue(), stderr.getvalue())


def feddp_process(*arguments, cwd=None, **options):
    """Run the command as a process of its own."""
    with tempfile.TemporaryDirectory() as elsewhere:
        asked = [*COMMAND, *map(str, arguments)]
        return subprocess.run(asked, capture_output=True, text=True, check=False, timeout=900, cwd=cwd or elsewhere, **options)


def with_data(tmp_path):
    """Make three clients and a server table in a folder."""
    rng = np.random.default_rng(0)
    (tmp_path / "clients").mkdir()
    for index in range(3):
        np.save(tmp_path / "clients" / f"{index}.npy", rng.standard_normal((4000, 2)) + 4 * (index % 2))
    np.save(tmp_path / "server.npy", rng.standard_normal((20, 2)) + 4 * (np.arange(20) % 2)[:, None])
    return tmp_path


def command_in(folder, monkeypatch, capsys):
    """Return what runs a command in this folder, as its terminal would: its exit status and all that it said, in one line."""
    from feddp_kmeans.cli.main import main

    monkeypatch.chdir(folder)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["feddp", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, " ".join((said.out + said.err).split())

    return run
