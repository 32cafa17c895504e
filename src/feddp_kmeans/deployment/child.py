"""The main program of a child process: one of Flower's, made to end with its parent and to keep to what it is for.

Run as ``python -m feddp_kmeans.deployment.child PARENT HOME PROGRAM ARGUMENTS``; ``HOME`` is removed if the parent is gone at the end.
"""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from feddp_kmeans.federation import flower  # noqa: F401 - it sets the environment before flwr is imported

_LOOK = 0.5
_FORCE = 15.0
_LONGEST_NAP = 3.0


def main() -> None:
    """Run one of Flower's programs until it ends, or the parent does."""
    parent, home, program, *arguments = sys.argv[1:]
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    sys.argv = [f"flower-{program}", *arguments]
    try:
        _PROGRAMS[program]()
    finally:
        if os.getppid() != int(parent):
            shutil.rmtree(home, ignore_errors=True)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_FORCE)
    os._exit(1)


def _superlink() -> None:
    """Run a SuperLink that gives strangers its Fleet API alone: nodes sign what they say there, and elsewhere nobody has to."""
    from flwr.superlink import extensions
    from flwr.superlink.cli.flower_superlink import flower_superlink
    from starlette.middleware import Middleware

    from feddp_kmeans.deployment.gate import Gate

    extensions.get_middleware = lambda: (Middleware(Gate),)
    flower_superlink()


def _supernode() -> None:
    """Run a SuperNode that looks for messages more often while a run is under way."""
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli.flower_supernode import flower_supernode

    start_client_internal.time = _Naps()  # type: ignore[assignment,attr-defined]
    flower_supernode()


class _Naps:
    """The time module, with short naps after a message that grow to flwr's own three seconds: an exchange takes one second, not four."""

    def __init__(self) -> None:
        self._busy = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Sleep less than was asked for, the less the shorter ago the last message was."""
        waits_for_answer = seconds < _LONGEST_NAP
        if waits_for_answer:
            self._busy = time.monotonic()
        quiet = time.monotonic() - self._busy
        time.sleep(min(seconds, 0.1 + 0.05 * quiet))


_PROGRAMS: dict[str, Callable[[], None]] = {"superlink": _superlink, "supernode": _supernode}


if __name__ == "__main__":
    main()
