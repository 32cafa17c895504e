"""The main program of a child process: one of Flower's programs behind a gate, which ends when its parent does.

Run as ``python -P child.py PARENT HOME PROGRAM ARGUMENTS``, with the secret of its gate on standard input. ``HOME`` is removed if the
parent is gone and cannot do it. Of this package only ``flower.compat`` is imported: it halves the start time and the memory.
"""

import hmac
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from feddp_kmeans.network.flower import compat

_LOOK = 0.5
_FORCE = 5.0

HEALTH = frozenset({("GET", "/health"), ("HEAD", "/health")})
"""Requests that every server answers to everybody: an empty page that shows that it is there."""

FLEET = frozenset(
    ("POST", f"/v1/fleet/{name}")
    for name in (
        *("activate-node", "deactivate-node", "register-node", "unregister-node", "send-node-heartbeat", "get-run", "get-fab"),
        *("pull-messages", "push-messages", "confirm-message-received", "pull-object", "push-object", "bundle"),
    )
)
"""Requests of sites that a SuperLink answers: flwr's Fleet API and our bundles. Each is signed by the site's key. What flwr adds later is
not open."""

_SECRET_LENGTH = 64

Scope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]
App = Callable[[Scope, Channel, Channel], Awaitable[None]]


def main() -> None:
    """Run one of Flower's programs until it ends, or the parent does."""
    parent, home, program, *arguments = sys.argv[1:]
    secret = sys.stdin.read()
    threading.Thread(target=_end_with, args=(int(parent), home), daemon=True).start()
    sys.argv = [f"flower-{program}", *arguments]
    _PROGRAMS[program](secret)


def _end_with(parent: int, home: str) -> None:
    """End this process when its parent is gone. The folder is removed first: a server may not survive the signal."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    shutil.rmtree(home, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_FORCE)
    os._exit(1)


class Gate:
    """An ASGI app around one of Flower's, which answers 403 to whoever does not know the secret.

    One port serves sites (Fleet API, signed by registered keys) and this machine (Control and Runtime APIs, which a SuperLink without
    accounts leaves open: anybody could register a key or have code run). ``everybody`` lists the first kind, method and path exactly as
    they are sent; all other requests need the secret, wherever they come from.
    """

    def __init__(self, app: App, secret: str, everybody: frozenset[tuple[str, str]]) -> None:
        if len(secret) != _SECRET_LENGTH:
            raise ValueError(f"secret must have {_SECRET_LENGTH} characters, got {len(secret)}.")
        self._app = app
        self._proof = f"Bearer {secret}".encode()
        self._everybody = everybody

    async def __call__(self, scope: Scope, receive: Channel, send: Channel) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and (self._is_open(scope) or self._knows(scope))):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"not for you"})
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _is_open(self, scope: Scope) -> bool:
        """Return whether a request is for everybody. One that had to be decoded, or has more to it than a path, is not."""
        known = (scope["method"], scope["path"]) in self._everybody
        return known and scope.get("raw_path") == scope["path"].encode() and not scope.get("root_path") and not scope.get("query_string")

    def _knows(self, scope: Scope) -> bool:
        """Return whether a request has exactly one authorization header, and the secret in it."""
        proofs = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(proofs) == 1 and hmac.compare_digest(proofs[0], self._proof)


_PROGRAMS: dict[str, Callable[[str], None]] = {
    "superlink": lambda secret: compat.run_superlink(lambda app: Gate(app, secret, HEALTH | FLEET)),
}


if __name__ == "__main__":
    main()
