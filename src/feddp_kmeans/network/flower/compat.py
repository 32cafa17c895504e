"""All that we use of Flower (flwr) beyond its documentation: private names and patches. When flwr changes, this is the file to mend.

``flwr.app``, ``flwr.clientapp``, ``flwr.serverapp`` and ``flwr.simulation`` are documented, and imported where they are used. Flower's
programs take a second or two to import: each is imported by the process that runs it.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import httpx
from flwr.app import Context, Error, Message
from flwr.app.user_config import UserConfigValue
from flwr.cli.build import build_fab_from_disk
from flwr.common.constant import ErrorCode, SubStatus
from flwr.common.serde import fab_to_proto, user_config_to_proto
from flwr.proto.control_pb2 import RegisterNodeRequest, StartRunRequest
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import FlowerError
from flwr.supercore.fab import Fab
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.inflatable import inflatable_utils
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.client import ProtobufClient, ProtobufClientInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from feddp_kmeans.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

_NAME = "feddp"
_LOOK = 0.2

RETRY = 0.05
"""Seconds after which a part of a message that is still on its way is asked for again; flwr's first retry is after 1 s.

Measured with ``feddp serve`` and three ``feddp join`` on two busy cores (9 releases, secure-sum), from the meeting of the sites to the
result: 31 s, and 61 s without this patch; a second time 52 s and 71 s."""

_IDLE, _NAP, _GROWTH = 3.0, 0.25, 0.05


def knock(client: ProtobufClient, secret: str) -> None:
    """Make a client prove with each request that it knows the secret of a server on this machine (``deployment.child.Gate``).

    The client connects directly: flwr's would use whatever proxy the environment names.
    """
    http = client._client  # noqa: SLF001 - flwr offers no other way
    http.headers["authorization"] = f"Bearer {secret}"
    http.follow_redirects = False
    http._mounts.clear()  # noqa: SLF001 - the proxies


def retry_soon() -> None:
    """Patch: parts of messages are asked for again after ``RETRY`` seconds."""
    for function in (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree):
        assert function.__kwdefaults__ is not None
        function.__kwdefaults__["initial_backoff"] = RETRY


def _runtime(address: str, secret: str, authority: bytes | None = None, token: str | None = None) -> RuntimeHttpClient:
    """Return a connection to the Runtime API of a server on this machine; with the token of a task, for that task."""
    interceptors: list[ProtobufClientInterceptor] = [RuntimeVersionHttpInterceptor(component_name=_NAME)]
    if token is not None:
        interceptors.append(RuntimeTokenHttpInterceptor(token))
    client = RuntimeHttpClient.from_server_address(address, authority is None, authority, interceptors)
    knock(client, secret)
    return client


def _waiting_task(client: RuntimeHttpClient, kind: TaskType) -> str | None:
    """Return the token of a waiting task of this kind, or None."""
    found = client.AcquireTask(AcquireTaskRequest(supported_task_types=[kind]))
    return found.token if found.HasField("task") and found.token else None


class HttpRuntime:
    """The Runtime API of a SuperNode on this machine, whose gate knows the secret."""

    def __init__(self, address: str, secret: str) -> None:
        retry_soon()
        self._address, self._secret = address, secret
        self._client = _runtime(address, secret)

    def acquire(self) -> "HttpTask | None":
        """Return a waiting task, or None."""
        token = _waiting_task(self._client, TaskType.CLIENT_APP)
        return None if token is None else HttpTask(_runtime(self._address, self._secret, token=token))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class HttpTask:
    """One task of a SuperNode, with the heartbeat that it needs until it is closed."""

    def __init__(self, client: RuntimeHttpClient) -> None:
        self._client = client
        self._context: Context | None = None
        self._heartbeat = HeartbeatSender(self._beat)
        self._heartbeat.start()

    def pull(self) -> Message:
        """Return the message. The server's app comes along with it and is dropped unread."""
        message, self._context, _run, _app = pull_task_input(self._client)
        return message

    def push(self, reply: Message) -> None:
        """Send the reply."""
        assert self._context is not None
        push_message(self._client, reply, self._context)

    def close(self, error: str = "") -> None:
        """Report that the task is done, or that it failed and why."""
        if self._heartbeat.is_running:
            self._heartbeat.stop()
        push_task_output(self._client, self._context, SubStatus.FAILED if error else SubStatus.COMPLETED, error)
        self._client.close()

    def _beat(self) -> bool:
        try:
            self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
        except httpx.HTTPError:
            return False
        return True


def failed_reply(message: Message, reason: str) -> Message:
    """Return the reply that says that a message could not be answered."""
    return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)


class Control:
    """The operator's connection to a SuperLink on this machine, whose gate knows the secret."""

    def __init__(self, address: str, secret: str, authority: bytes | None) -> None:
        interceptors = [RuntimeVersionHttpInterceptor(component_name=_NAME)]
        self._client = ControlHttpClient.from_server_address(address, authority is None, authority, interceptors)
        knock(self._client, secret)

    def register(self, name: str, key: "EllipticCurvePublicKey") -> None:
        """Admit a site."""
        with named_refusals(f"register {name!r}"):
            self._client.RegisterNode(RegisterNodeRequest(public_key=public_key_to_bytes(key), name=name))

    def submit(self, app: Path, config: Mapping[str, UserConfigValue]) -> None:
        """Start a run of the app in this folder."""
        content = build_fab_from_disk(app)
        fab = fab_to_proto(Fab(hashlib.sha256(content).hexdigest(), content, {}))
        with named_refusals("start the run"):
            started = self._client.StartRun(StartRunRequest(fab=fab, override_config=user_config_to_proto(dict(config))))
        if not started.HasField("run_id"):
            raise InputError("the SuperLink must start the run, but refused the app.")

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
    """Run a SuperLink, with the options of the command line, behind a gate."""
    from flwr.superlink.cli.flower_superlink import flower_superlink

    serve_behind(gate)
    flower_superlink()


def run_supernode(gate: Callable[[Any], Any]) -> None:
    """Run a SuperNode, with the options of the command line, behind a gate. Patch: it looks for messages more often during a run."""
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli.flower_supernode import flower_supernode

    serve_behind(gate)
    retry_soon()
    start_client_internal.time = Naps()  # type: ignore[assignment,attr-defined]
    flower_supernode()


def run_server_half(address: str, authority_file: str, secret: str) -> None:
    """Wait for a run at the SuperLink at this address and run its ServerApp in this process. Patch: its grid knows the secret.

    An empty ``authority_file`` means no TLS. Flower's own executor would pass the task's token on a command line, where every user of the
    machine can read it, and start a session of its own, which outlives ours.
    """
    from flwr.superlink.grid import HttpGrid
    from flwr.superlink.runtime import run_serverapp

    authority = Path(authority_file).read_bytes() if authority_file else None
    token = _first_token(_runtime(address, secret, authority))
    connect = HttpGrid._connect  # noqa: SLF001 - flwr offers no other way

    def connect_and_knock(self: HttpGrid) -> None:
        connect(self)
        knock(self._runtime_client, secret)

    HttpGrid._connect = connect_and_knock  # type: ignore[method-assign]  # noqa: SLF001 - as above
    retry_soon()
    run_serverapp(address, Queue(), token, authority is None, authority, runtime_dependency_install=False)


def _first_token(client: RuntimeHttpClient) -> str:
    """Return the token of the first task; wait for it, and for a SuperLink that does not answer yet."""
    while True:
        with suppress(httpx.TransportError):
            if token := _waiting_task(client, TaskType.SERVER_APP):
                client.close()
                return token
        time.sleep(_LOOK)


def serve_behind(gate: Callable[[Any], Any]) -> None:
    """Patch uvicorn: whatever this process serves is behind the gate, and believes nothing that a client says about itself."""
    import uvicorn

    plain = uvicorn.Config.__init__

    def guarded(self: uvicorn.Config, app: Any, **options: Any) -> None:
        plain(self, gate(app), **options | {"proxy_headers": False, "ws": "none", "server_header": False})

    uvicorn.Config.__init__ = guarded  # type: ignore[assignment]


class Naps:
    """The time module for a SuperNode: short naps after a message, which grow to flwr's own three seconds when nothing happens.

    Measured as ``RETRY`` was: 31 s, and 109 s with flwr's own pauses; a second time 52 s and 95 s.
    """

    def __init__(self) -> None:
        self._busy = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Sleep at most this long, and less if the last message was a short time ago."""
        if seconds < _IDLE:  # flwr sleeps this long only while it waits for an answer
            self._busy = time.monotonic()
        time.sleep(min(seconds, _NAP + _GROWTH * (time.monotonic() - self._busy)))
