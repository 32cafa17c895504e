"""The main program of a child process: one of Flower's, made to end with its parent and to keep to what it is for.

Run as ``python -P child.py PARENT HOME PROGRAM ARGUMENTS``; ``HOME`` is removed if the parent is gone at the end. It imports nothing of
this package: so it starts in half the time, and takes half the memory.
"""

import ipaddress
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

_LOOK = 0.5
_FORCE = 15.0
_OPEN = ("/v1/fleet/", "/health")
_IDLE = 3.0
_NAP = 0.25
_SOON = 0.05
"""Seconds after which a part of a message that is still on its way is asked for again; flwr waits for one, and often has to."""

Scope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]


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
    """Run a SuperLink behind our gate."""
    from flwr.superlink import extensions
    from flwr.superlink.cli.flower_superlink import flower_superlink
    from starlette.middleware import Middleware

    extensions.get_middleware = lambda: (Middleware(Gate),)
    flower_superlink()


def _supernode() -> None:
    """Run a SuperNode that looks for messages more often while a run is under way."""
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli.flower_supernode import flower_supernode

    start_client_internal.time = Naps()  # type: ignore[assignment,attr-defined]
    start_client_internal.pull_objects = partial(start_client_internal.pull_objects, initial_backoff=_SOON)  # type: ignore[attr-defined]
    flower_supernode()


class Gate:
    """What a SuperLink answers to whom: an ASGI middleware that answers 403 to other machines outside the Fleet API.

    One port serves nodes (Fleet API, signed by registered keys) and the operator (Control and Runtime APIs, which a SuperLink without user
    accounts leaves open: anybody could register a key or have code run). The second kind is for this machine alone.
    """

    def __init__(self, app: Callable[[Scope, Channel, Channel], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Channel, send: Channel) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or scope["path"].startswith(_OPEN) or _is_local(scope.get("client")):
            await self._app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"for this machine alone"})


class Naps:
    """The time module for a SuperNode: short naps after a message, that grow to flwr's own three seconds when nothing happens."""

    def __init__(self) -> None:
        self._busy = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Sleep for less than was asked for, the less the shorter ago the last message was."""
        waits_for_answer = seconds < _IDLE
        if waits_for_answer:
            self._busy = time.monotonic()
        quiet = time.monotonic() - self._busy
        time.sleep(min(seconds, _NAP + 0.05 * quiet))


def _is_local(client: tuple[str, int] | None) -> bool:
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False


_PROGRAMS: dict[str, Callable[[], None]] = {"superlink": _superlink, "supernode": _supernode}


if __name__ == "__main__":
    main()
