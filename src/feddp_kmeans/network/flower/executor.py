"""The client's executor: takes a SuperNode's tasks and answers them with the code installed here.

It stands where Flower's own executor would install the app that the server sent, and run it next to the private data. This one never opens
that app: a message's bytes go to the handler, and the handler's bytes go back.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import httpx
from flwr.app import Context, Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime import run_clientapp
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from feddp_kmeans.errors import without_text
from feddp_kmeans.network.flower.client_app import Handler, answer
from feddp_kmeans.network.flower.knock import knock
from feddp_kmeans.network.flower.pace import hasten

_POLL = 0.2
"""Seconds between two looks for a task."""

_NAME = "feddp"
_NOT_ANSWERED = "the client could not answer"

hasten(run_clientapp, "pull_and_inflate_object_from_tree")


class Runtime(Protocol):
    """A SuperNode's side of the work: tasks, and for each its message and its reply."""

    def acquire(self) -> str | None:
        """Return the token of a task that waits, or None."""
        ...

    def task(self, token: str) -> "Task":
        """Return the task of a token."""
        ...


class Task(Protocol):
    """One message that is to be answered."""

    def pull(self) -> Message:
        """Return the message."""
        ...

    def push(self, reply: Message) -> None:
        """Send the reply."""
        ...

    def close(self, error: str = "") -> None:
        """Say that the task is done, or that it failed and why."""
        ...


def execute(runtime: Runtime, handle: Handler, stop: threading.Event, *, poll: float = _POLL, on_error: Callable[[str], None]) -> None:
    """Answer tasks one after the other until ``stop`` is set. A SuperNode that is away for a while is asked again."""
    while not stop.is_set():
        try:
            token = runtime.acquire()
            if token:
                _answer_one(runtime.task(token), handle)
                continue
        except httpx.TransportError:
            pass
        except Exception as error:  # noqa: BLE001 - one bad message must not end a client's part in a run
            on_error(f"a message was not answered: {without_text(error)}")
        stop.wait(poll)


def _answer_one(task: Task, handle: Handler) -> None:
    """Answer a task. What goes wrong here is told here; the server learns only that it went wrong."""
    failed = _NOT_ANSWERED
    try:
        message = task.pull()
        try:
            reply = answer(message, handle)
            failed = ""
        except Exception:
            task.push(Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, _NOT_ANSWERED), reply_to=message))
            raise
        task.push(reply)
    finally:
        task.close(failed)


class HttpRuntime:
    """The Runtime API of a SuperNode on this machine, whose gate knows the secret."""

    def __init__(self, address: str, secret: str) -> None:
        self._address, self._secret = address, secret
        self._client = self._connect()

    def acquire(self) -> str | None:
        """Return the token of a task that waits, or None."""
        found = self._client.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
        return found.token if found.HasField("task") and found.token else None

    def task(self, token: str) -> "HttpTask":
        """Return the task of a token."""
        return HttpTask(self._connect(RuntimeTokenHttpInterceptor(token)))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _connect(self, *interceptors: RuntimeTokenHttpInterceptor) -> RuntimeHttpClient:
        version = RuntimeVersionHttpInterceptor(component_name=_NAME)
        client = RuntimeHttpClient.from_server_address(self._address, True, None, [version, *interceptors])  # noqa: FBT003 - loopback
        knock(client, self._secret)
        return client


class HttpTask:
    """One task of a SuperNode, with the sign of life that it asks for while the task is worked on."""

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
        """Say that the task is done, or that it failed and why."""
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


@contextmanager
def executing(address: str, secret: str, handle: Handler, on_error: Callable[[str], None]) -> Iterator[None]:
    """Answer the tasks of the SuperNode at this address for as long as the block runs."""
    runtime = HttpRuntime(address, secret)
    stop = threading.Event()
    thread = threading.Thread(target=execute, args=(runtime, handle, stop), kwargs={"on_error": on_error}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        runtime.close()
