"""What a SuperLink answers to whom.

One port serves nodes (Fleet API, signed by registered keys) and the operator (Control and Runtime APIs, which a SuperLink without user
accounts leaves open: anybody could register a key or have code run). The second kind is for this machine alone.
"""

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

_OPEN = ("/v1/fleet/", "/health")

Scope = MutableMapping[str, Any]
Channel = Callable[..., Awaitable[Any]]


class Gate:
    """An ASGI middleware that answers 403 to other machines outside the Fleet API."""

    def __init__(self, app: Callable[[Scope, Channel, Channel], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Channel, send: Channel) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or scope["path"].startswith(_OPEN) or is_local(scope.get("client")):
            await self._app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"for this machine alone"})


def is_local(client: tuple[str, int] | None) -> bool:
    """Return whether a request comes from this machine's loopback."""
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
