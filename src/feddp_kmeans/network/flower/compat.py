"""What a server uses of Flower (flwr) beyond its documentation: private names and patches.

What a site uses is in ``fleet``, how messages are sent and taken in ``mailbox`` and ``bundles``: when flwr changes, mend these four.

``flwr.app``, ``flwr.clientapp``, ``flwr.serverapp`` and ``flwr.simulation`` are documented, and imported where they are used. Flower's
programs take a second or two to import: each is imported by the process that runs it.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from flwr.cli.build import build_fab_from_disk
from flwr.common.serde import fab_to_proto, run_from_proto
from flwr.proto.control_pb2 import RegisterNodeRequest, StartRunRequest
from flwr.proto.runtime_pb2 import AcquireTaskRequest, PullTaskInputRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import FlowerError
from flwr.supercore.fab import Fab
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.client import ProtobufClient, ProtobufClientInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.flower.bundles import Bundles
from feddp_kmeans.network.flower.fleet import UNKNOWN_KEY, go_straight

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from flwr.serverapp import Grid

_NAME = "feddp"
_LOOK = 0.2
_PATIENCE = 60.0
"""Seconds without an answer after which the server gives up on its SuperLink; flwr never does."""

Client = TypeVar("Client", bound=ProtobufClient)


def knock(client: ProtobufClient, secret: str) -> None:
    """Make a client prove with each request that it knows the secret of a server on this machine (``deployment.child.Gate``)."""
    client._client.headers["authorization"] = f"Bearer {secret}"  # noqa: SLF001 - flwr offers no other way
    go_straight(client)


def _connected(kind: type[Client], address: str, secret: str, authority: bytes | None = None, token: str | None = None) -> Client:
    """Return a connection to a server on this machine, whose gate knows the secret; with the token of a task, for that task."""
    interceptors: list[ProtobufClientInterceptor] = [RuntimeVersionHttpInterceptor(component_name=_NAME)]
    if token is not None:
        interceptors.append(RuntimeTokenHttpInterceptor(token))
    client = kind.from_server_address(address, authority is None, authority, interceptors)
    knock(client, secret)
    return client


def _waiting_task(client: RuntimeHttpClient, kind: TaskType) -> str | None:
    """Return the token of a waiting task of this kind, or None."""
    found = client.AcquireTask(AcquireTaskRequest(supported_task_types=[kind]))
    return found.token if found.HasField("task") and found.token else None


@contextmanager
def _alive(client: RuntimeHttpClient) -> Iterator[None]:
    """Send the heartbeats that a task needs for as long as the block runs."""

    def beat() -> bool:
        try:
            client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
        except httpx.HTTPError:
            return False
        return True

    sender = HeartbeatSender(beat)
    sender.start()
    try:
        yield
    finally:
        if sender.is_running:
            sender.stop()


class Control:
    """The operator's connection to a SuperLink on this machine, whose gate knows the secret."""

    def __init__(self, address: str, secret: str, authority: bytes | None) -> None:
        self._address, self._secret, self._authority = address, secret, authority
        self._client = _connected(ControlHttpClient, address, secret, authority)

    def register(self, name: str, key: "EllipticCurvePublicKey") -> None:
        """Admit a site."""
        with named_refusals(f"register {name!r}"):
            self._client.RegisterNode(RegisterNodeRequest(public_key=public_key_to_bytes(key), name=name))

    @contextmanager
    def run(self, app: Path) -> Iterator["Grid"]:
        """Start a run of the app in this folder and yield its grid; this process takes the place of the ServerApp.

        Flower's own executor would pass the task's token on a command line, where every user of the machine can read it, and start a
        session of its own, which outlives ours.
        """
        from flwr.superlink.grid import HttpGrid

        content = build_fab_from_disk(app)
        fab = fab_to_proto(Fab(hashlib.sha256(content).hexdigest(), content, {}))
        with named_refusals("start the run"):
            self._client.StartRun(StartRunRequest(fab=fab))
        with closing(_connected(RuntimeHttpClient, self._address, self._secret, self._authority)) as client:
            while not (token := _waiting_task(client, TaskType.SERVER_APP)):
                time.sleep(_LOOK)
        grid = HttpGrid(self._address, self._authority is None, self._authority, token=token)
        grid._retry_invoker.max_time = _PATIENCE  # noqa: SLF001 - flwr offers no other way
        knock(grid._runtime_client, self._secret)  # noqa: SLF001 - as above
        task_client = _connected(RuntimeHttpClient, self._address, self._secret, self._authority, token)
        with closing(grid), closing(task_client), _alive(task_client):
            task = task_client.PullTaskInput(PullTaskInputRequest())
            TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = task.task_id, task.run.run_id, task.context.node_id
            grid.set_run(run_from_proto(task.run))
            yield grid

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def named_refusals(what: str) -> Iterator[None]:
    """Raise a refusal of the SuperLink as one line: what it had to do, and its status and message."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        stated = FlowerError.from_json(error.response.text)
        answer = f"{error.response.status_code}{'' if stated is None else f': {stated.message}'}"
        raise InputError(f"the SuperLink must {what}, but answered {answer}.") from None


def run_superlink(gate: Callable[[Any], Any]) -> None:
    """Run a SuperLink that takes bundles, with the options of the command line, behind a gate. Patch: a site learns whether it is known."""
    from flwr.superlink.cli.flower_superlink import flower_superlink
    from flwr.superlink.servicer.fleet import fleet_handlers

    fleet_handlers.activate_node = telling(fleet_handlers.activate_node)
    lighten()
    serve_behind(lambda app: gate(Bundles(app)))
    flower_superlink()


def telling(activate: Callable[..., Any]) -> Callable[..., Any]:
    """Return flwr's function that admits a site, whose refusal says more. Whoever asks has proved that the key is its own."""

    def told(request: Any, state: Any) -> Any:
        try:
            return activate(request=request, state=state)
        except FlowerError as error:
            if state.get_node_id_by_public_key(request.public_key) is None:
                error.public_details = UNKNOWN_KEY
            raise

    return told


def lighten() -> None:
    """Patch: what flwr wraps around requests of its Control API is left off all others, where it does nothing but take most of the time.

    So are its traces and its log of events, which are both off. Errors, protobuf and the check of a site's signature stay.
    """
    from flwr.supercore.routers.runtime.tracing import RuntimeTracingMiddleware
    from flwr.superlink.routers.control import middlewares as control
    from flwr.superlink.routers.fleet.middlewares import FleetEventLogMiddleware

    idle = [RuntimeTracingMiddleware, FleetEventLogMiddleware, control.ControlEventLogMiddleware, control.ControlLicenseMiddleware]
    for kind in (*idle, control.ControlAuthenticationMiddleware, control.ControlSensitiveResponseMiddleware):
        kind.__call__ = around_control(kind.__call__)  # type: ignore[method-assign]


def around_control(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """Return an ASGI app's method that wraps requests of the Control API only."""

    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        wraps = scope["type"] == "http" and scope["path"].startswith("/v1/control/")
        await (wrapped(self, scope, receive, send) if wraps else self.app(scope, receive, send))

    return call


def serve_behind(gate: Callable[[Any], Any]) -> None:
    """Patch uvicorn: whatever this process serves is behind the gate, and no header of a proxy is believed."""
    import uvicorn

    plain = uvicorn.Config.__init__

    def guarded(self: uvicorn.Config, app: Any, **options: Any) -> None:
        plain(self, gate(app), **options | {"proxy_headers": False, "ws": "none", "server_header": False})

    uvicorn.Config.__init__ = guarded  # type: ignore[assignment]
