"""Flower's processes as children: started with a log file, waited for until they are ready, and stopped when we end.

Each child watches its parent (``deployment.child``), so none outlives a parent that is killed. What they serve is behind a gate. Its
secret is new for each start and reaches a child through a pipe, never by a command line, the environment or a file.
"""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.flower import OFF
from feddp_kmeans.silos.threads import THREADS

_STOP = 5.0
"""Seconds that a child has to end by itself, before it is killed: it keeps nothing that could be lost."""

_READY = 300.0
"""Seconds that a child has to be ready. It takes ten on an idle machine, and ends by itself if something is wrong."""

_CHILD = Path(__file__).with_name("child.py")
"""Not imported: what it needs of Flower takes a second and 20 MB at every site."""

_LOOK = 0.1
_ANSWER = 10.0
_HEALTH, _GUARDED = "/health", "/docs"
_KEPT = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PYTHONPATH", THREADS}
    | {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}
)
"""The variables of our environment that a child sees, with LC_*. Others might open a port, trust a header or name a proxy."""


class Child:
    """One of Flower's processes, with its log in a file of the private folder ``home``."""

    def __init__(self, program: str, arguments: Sequence[str], home: str, secret: str) -> None:
        self.program = program
        self._log = Path(home) / f"{program}.log"
        command = [sys.executable, "-P", str(_CHILD), str(os.getpid()), home, program, *arguments]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own module
                command, env=_environment(home), stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        assert self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin as pipe:
            pipe.write(secret.encode())

    @property
    def running(self) -> bool:
        """Return whether the process is alive."""
        return self.process.poll() is None

    def log(self) -> str:
        """Return the output of the process so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_until(self, ready: Callable[[], bool], seconds: float = _READY) -> None:
        """Wait until the process is ready; raise if it ends before, or takes too long."""
        end = time.monotonic() + seconds
        while not ready() or not self.running:
            if not self.running:
                raise InputError(f"the {self.program} must start, but it ended: {last_words(self.log())}")
            if time.monotonic() > end:
                raise InputError(f"the {self.program} must be ready within {seconds:g} s; it is not.")
            time.sleep(_LOOK)

    def stop(self) -> None:
        """End the process, gently first, and whatever is left of its group."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOP)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def private_folder(parent: str | None = None) -> TemporaryDirectory[str]:
    """Return a new folder that only we may read, removed when the block ends; in the default place for temporary files without a parent."""
    return TemporaryDirectory(prefix="feddp-", dir=parent, ignore_cleanup_errors=True)


@contextmanager
def started(program: str, arguments: Sequence[str], home: str, secret: str) -> Iterator[Child]:
    """Yield a child that is stopped at the end of the block."""
    process = Child(program, arguments, home, secret)
    try:
        yield process
    finally:
        process.stop()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the block as Ctrl-C does: children are stopped and files removed."""
    if not hasattr(os, "killpg"):
        raise InputError(f"feddp serve, join and simulate must run on Linux, macOS or another POSIX system, got {sys.platform}.")

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port() -> int:
    """Return a port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_taken(port: int) -> bool:
    """Return whether something on this machine listens on a port already."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_healthy(port: int, authority: Path | None = None) -> bool:
    """Return whether a server on this machine answers; with an authority, over TLS with a certificate signed by it."""
    return _status(port, _HEALTH, authority) == http.client.OK


def check_guarded(port: int, authority: Path | None = None) -> None:
    """Refuse one of Flower's servers that is not behind our gate."""
    if _status(port, _GUARDED, authority) != http.client.FORBIDDEN:
        raise InputError(f"the server on port {port} must refuse requests without its secret, got one that answers them.")


def _environment(home: str) -> dict[str, str]:
    """Return the environment of a child whose files are in ``home``."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}
    return kept | OFF | {"FLWR_HOME": home}


def _status(port: int, path: str, authority: Path | None) -> int | None:
    """Return the status that a request without the secret gets from a server on this machine; None for no answer."""
    if authority is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER)
    else:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=_ANSWER, context=ssl.create_default_context(cafile=authority))
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def last_words(log: str) -> str:
    """Return the last line of a log that is not empty and not Flower's link to its help."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and "For more information" not in line]
    return lines[-1] if lines else "no output"
