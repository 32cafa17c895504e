"""The client's executor: takes a SuperNode's tasks and answers them with the code installed here.

Flower's own executor would install the app that the server sent and run it next to the private data. This one never opens that app: the
bytes of a message go to the handler, and the handler's bytes go back.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from feddp_kmeans.errors import EmptyMessageError, without_text
from feddp_kmeans.network.flower.body import Handler, answer
from feddp_kmeans.network.flower.compat import HttpRuntime

logger = logging.getLogger(__name__)

_POLL = 0.2
"""Seconds between two looks for a task."""


def execute(runtime: HttpRuntime, handle: Handler, stop: threading.Event, *, poll: float = _POLL) -> None:
    """Answer tasks one after the other until ``stop`` is set. A SuperNode that is away for a while is asked again."""
    while not stop.is_set():
        try:
            if runtime.answer_next(lambda message: answer(message, handle)):
                continue
        except httpx.TransportError:
            pass
        except EmptyMessageError as error:
            logger.warning("a message was not answered: %s", error)
        except Exception as error:  # noqa: BLE001 - one bad message must not end a site's part in a run
            logger.error("a message was not answered: %s", without_text(error))  # noqa: TRY400 - a traceback may quote the data
        stop.wait(poll)


@contextmanager
def executing(address: str, secret: str, handle: Handler) -> Iterator[None]:
    """Answer the tasks of the SuperNode at this address for as long as the block runs."""
    runtime = HttpRuntime(address, secret)
    stop = threading.Event()
    thread = threading.Thread(target=execute, args=(runtime, handle, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        runtime.close()
