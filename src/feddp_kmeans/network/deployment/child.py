"""The main program of a child process: one of Flower's, made to end with its parent and to keep to what it is for.

Run as ``python -P child.py PARENT HOME PROGRAM ARGUMENTS``, with the secret of its gate on standard input. ``HOME`` is removed if the
parent is gone and cannot do it. Of this package, Flower's servers import the module of compatibility only: they start in half the time, and
take half the memory.
"""

import hmac
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

_LOOK = 0.5
_FORCE = 15.0

HEALTH = frozenset({("GET", "/health"), ("HEAD", "/health")})
"""What every server answers to everybody: an empty page that says it is there."""

FLEET = frozenset(
    ("POST", f"/v1/fleet/{name}")
    for name in (
        "activate-node",
        "confirm-message-received",
        "deactivate-node",
        "get-fab",
        "get-run",
        "pull-messages",
        "pull-object",
        "push-messages",
        "push-object",
        "register-node",
        "send-node-heartbeat",
        "unregister-node",
    )
)
"""What a SuperLink answers to sites: flwr's Fleet API, where each request is signed by the site's key. What flwr adds later is not open."""

_SECRET_LENGTH = 64

Scope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]
App = Callable[[Scope, Channel, Channel], Awaitable[None]]
Routes = frozenset[tuple[str, str]]


def main() -> None:
    """Run one of Flower's programs until it ends, or the parent does."""
    parent, home, program, *arguments = sys.argv[1:]
    secret = sys.stdin.read()
    threading.Thread(target=_end_with, args=(int(parent), home), daemon=True).start()
    sys.argv = [f"flower-{program}", *arguments]
    _PROGRAMS[program](secret)


def _end_with(parent: int, home: str) -> None:
    """End this process when its parent is gone; the folder goes first, since a server's last act is to die of the signal."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    shutil.rmtree(home, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_FORCE)
    os._exit(1)


def _superlink(secret: str) -> None:
    """Run a SuperLink behind our gate."""
    from feddp_kmeans.network.flower import compat

    compat.run_superlink(lambda app: Gate(app, secret, HEALTH | FLEET))


def _supernode(secret: str) -> None:
    """Run a SuperNode behind our gate."""
    from feddp_kmeans.network.flower import compat

    compat.run_supernode(lambda app: Gate(app, secret, HEALTH))


def _serverapp(secret: str) -> None:
    """Run the server's half of the first run of the SuperLink at an address; the authority's certificate says that TLS is on."""
    from feddp_kmeans.network.flower import compat

    address, authority = sys.argv[1:]
    compat.run_server_half(address, Path(authority).read_bytes() if authority else None, secret)


class Gate:
    """What a server of Flower's answers to whom: an ASGI app around its own, that answers 403 to whoever does not know the secret.

    One port serves sites (Fleet API, signed by registered keys) and this machine (Control and Runtime APIs, which a SuperLink without
    accounts leaves open: anybody could register a key or have code run). ``everybody`` lists the first kind, method and path exactly as
    they are sent; all the rest takes the secret, wherever it comes from.
    """

    def __init__(self, app: App, secret: str, everybody: Routes) -> None:
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
        """Return whether a request is for everybody. What had to be decoded, or has more to it than a path, is not."""
        known = (scope["method"], scope["path"]) in self._everybody
        return known and scope.get("raw_path") == scope["path"].encode() and not scope.get("root_path") and not scope.get("query_string")

    def _knows(self, scope: Scope) -> bool:
        """Return whether a request proves that it knows the secret, once."""
        proofs = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(proofs) == 1 and hmac.compare_digest(proofs[0], self._proof)


_PROGRAMS: dict[str, Callable[[str], None]] = {"superlink": _superlink, "supernode": _supernode, "serverapp": _serverapp}


if __name__ == "__main__":
    main()
