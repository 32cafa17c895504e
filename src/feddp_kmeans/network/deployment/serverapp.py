"""The server's half of a run as a process: it takes the first task of a SuperLink, in the place of Flower's own executor.

Flower's would pass the task's token on a command line, where every user of the machine can read it, and start a session of its own,
which outlives ours.
"""

import time
from pathlib import Path
from queue import Queue

import httpx
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.grid import HttpGrid
from flwr.superlink.runtime import run_serverapp

from feddp_kmeans.network.flower.knock import knock

_NAME = "feddp"
_LOOK = 0.2


def run_first(address: str, authority: str = "", *, secret: str) -> None:
    """Wait for a run at the SuperLink at this address and run its ServerApp; the authority's certificate says that TLS is on."""
    root = Path(authority).read_bytes() if authority else None
    token = _first_token(address, root, secret)
    connect = HttpGrid._connect  # noqa: SLF001 - flwr offers no other way

    def connect_and_knock(self: HttpGrid) -> None:
        connect(self)
        knock(self._runtime_client, secret)

    HttpGrid._connect = connect_and_knock  # type: ignore[method-assign]  # noqa: SLF001 - as above
    run_serverapp(address, Queue(), token, root is None, root, runtime_dependency_install=False)


def _first_token(address: str, root: bytes | None, secret: str) -> str:
    """Return the token of the first task; a SuperLink that is not there yet is waited for."""
    client = RuntimeHttpClient.from_server_address(address, root is None, root, [RuntimeVersionHttpInterceptor(component_name=_NAME)])
    knock(client, secret)
    while True:
        try:
            found = client.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP]))
        except httpx.TransportError:
            found = None
        if found is not None and found.token:
            client.close()
            return str(found.token)
        time.sleep(_LOOK)
