"""The client's executor: takes a SuperNode's tasks and answers them with the code installed here.

Flower's own executor would install the app that the server sent and run it next to the private data. This one never opens that app: the
bytes of a message go to the handler, and the handler's bytes go back.
"""

import logging
import time
from collections.abc import Callable

import httpx

from feddp_kmeans.errors import EmptyMessageError, without_text
from feddp_kmeans.network.flower.body import Handler, answer
from feddp_kmeans.network.flower.compat import HttpRuntime

logger = logging.getLogger(__name__)

_POLL = 0.2
"""Seconds between two looks for a task."""


def execute(runtime: HttpRuntime, handle: Handler, is_running: Callable[[], bool]) -> None:
    """Answer tasks one after the other while the SuperNode is running. One that does not answer for a while is asked again."""
    while is_running():
        try:
            if runtime.answer_next(lambda message: answer(message, handle)):
                continue
        except httpx.TransportError:
            pass
        except EmptyMessageError as error:
            logger.warning("a message was not answered: %s", error)
        except Exception as error:  # noqa: BLE001 - one bad message must not end a site's part in a run
            logger.error("a message was not answered: %s", without_text(error))  # noqa: TRY400 - a traceback may quote the data
        time.sleep(_POLL)
