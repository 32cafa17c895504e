"""The command in a process that is killed at a given step on the disk; ``python -m tests.crashes`` forks such processes.

A step is what changes files: opening one to write, renaming, removing, making a folder, forcing to disk. The process dies by SIGKILL just
before its step of that number. Files that were opened to be written in place are listed on stdout.
"""

import contextlib
import os
import signal
import sys

_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.truncate"}


class Steps:
    """Counts steps beneath a folder, and ends the process at the last."""

    def __init__(self, last, folder):
        self.left, self.folder, self.opened = last, os.path.realpath(folder), []

    def take(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event, given):
        if event == "open":
            path, _, flags = given
            if isinstance(path, str) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and self._is_ours(path):
                self.opened.append(path)
                self.take()
        elif event in _CHANGES and isinstance(given[0], str | os.PathLike) and self._is_ours(given[0]):
            self.take()

    def _is_ours(self, path):
        return os.path.realpath(os.fspath(path)).startswith(self.folder + os.sep)


def run(last, folder, arguments):
    """Run the command, to be killed before its step number ``last``; return how it ended and what it opened in place."""
    from feddp_kmeans.cli.main import main

    steps = Steps(last, folder)
    sys.addaudithook(steps.audit)
    fsync = os.fsync

    def counted(handle):
        steps.take()
        fsync(handle)

    os.fsync = counted
    os.chdir(folder)
    sys.argv = ["feddp", *arguments]
    code = 0
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # noqa: PTH123
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return code, [path for path in steps.opened if not path.endswith((".unfinished", ".feddp.lock"))]


def forked(last, folder, arguments, errors):
    """Run the command in a child of this process, which has all imports behind it; return its exit status (minus the signal)."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            handle = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 2)
            status, in_place = run(last, folder, arguments)
            if in_place:
                os.write(2, f"opened in place: {in_place}".encode())
                status = 71
        finally:
            os._exit(int(status))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve(first):
    """Answer lines of JSON, [step, folder, arguments, file for errors], with exit statuses; the first command is run here, to be warm."""
    import json

    here = os.getcwd()  # noqa: PTH109
    run(10**9, *json.loads(first))
    os.chdir(here)
    for line in sys.stdin:
        sys.stdout.write(f"{forked(*json.loads(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
