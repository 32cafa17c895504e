"""The client's executor: takes messages from a server and answers them with the code installed here.

Flower's own executor would install the app that the server sent and run it next to the private data. This one never fetches that app: the
bytes of a message go to the handler, and the handler's bytes go back.
"""

import http
import logging
import time

import httpx

from feddp_kmeans.errors import EmptyMessageError, without_text
from feddp_kmeans.network.flower.body import Handler, answer
from feddp_kmeans.network.flower.fleet import Fleet

logger = logging.getLogger(__name__)

_NAP, _GROWTH, _LONGEST_NAP = 0.25, 0.05, 3.0
"""Seconds between two looks for a message: the first after a message, how they grow while there is none, and the longest.

Measured with ``feddp serve`` and three sites on two busy cores, from the meeting of the sites to the result: 31 s, and 109 s with flwr's
own pauses of 3 s; a second time 52 s and 95 s."""

_POLITENESS = 10.0
"""How many times as long as the server took for its last answer we leave it in peace: with many sites it has much to do."""


def execute(fleet: Fleet, handle: Handler) -> str:
    """Answer messages one after the other until the connection ends; return why it did."""
    busy = time.monotonic()
    while True:
        began = time.monotonic()
        try:
            if fleet.answer_next(lambda message: answer(message, handle)):
                busy = time.monotonic()
                continue
        except httpx.TransportError:
            return "the server has not answered for a minute"
        except httpx.HTTPStatusError as error:
            if error.response.status_code == http.HTTPStatus.UNAUTHORIZED:
                return "the server does not know us any more; it was restarted, or this site's clock was changed"
            logger.warning("a message was not answered: the server refused to go on with it (status %d).", error.response.status_code)
        except EmptyMessageError as error:
            logger.warning("a message was not answered: %s", error)
        except Exception as error:  # noqa: BLE001 - one bad message must not end a site's part in a run
            logger.error("a message was not answered: %s", without_text(error))  # noqa: TRY400 - a traceback may quote the data
        took = time.monotonic() - began
        time.sleep(min(max(_NAP + _GROWTH * (time.monotonic() - busy), _POLITENESS * took), _LONGEST_NAP))
