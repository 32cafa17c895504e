"""The command as tests run it: in this process, or as a process of its own where that is the point."""

import contextlib
import io
import subprocess
import sys
from dataclasses import dataclass

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
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        patch.setattr(sys, "argv", ["feddp", *map(str, arguments)])
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.delenv("FEDDP_TABLES", raising=False)
        if cwd is not None:
            patch.chdir(cwd)
        # Imported here, so that its consoles find no terminal however the tests were started.
        from feddp_kmeans.cli.main import main

        with pytest.raises(SystemExit) as ended:
            main()
    return Done(ended.value.code or 0, stdout.getvalue(), stderr.getvalue())


def feddp_process(*arguments, **options):
    """Run the command as a process of its own."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=900, **options)
