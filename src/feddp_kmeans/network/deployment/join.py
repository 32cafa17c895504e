"""A site's half of a federation: one process that holds the data, asks the server for messages and answers them.

Messages are answered by the package installed here, within the limits stated here; the app that the server offers is never fetched.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import httpx
from filelock import FileLock, Timeout

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.kit import PORTS
from feddp_kmeans.network.deployment.obstacles import NotReachedError, reach
from feddp_kmeans.network.flower.body import Handler
from feddp_kmeans.network.flower.executor import execute
from feddp_kmeans.network.flower.fleet import Fleet
from feddp_kmeans.network.secure_sum.identity import load_identity

logger = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
_LOCK = "joined.lock"


@dataclass(frozen=True)
class Connection:
    """The server's address, and the files for TLS and for the proof of our key; without them for trials on one machine."""

    name: str
    """The site's."""
    address: str
    authority: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        host, _, port = self.address.rpartition(":")
        if not (host and port.isdecimal() and int(port) in PORTS):
            raise InputError(f"the server's address must be host:port, got {self.address!r:.80}.")

    def check(self) -> None:
        """Refuse a connection that something stands in the way of, and say what."""
        try:
            self.entered().close()
        except NotReachedError as error:
            raise InputError(f"{error}.") from None

    def entered(self) -> Fleet:
        """Return a connection on which the server has admitted us. Raise what stands in the way, by its name."""
        host, _, port = self.address.rpartition(":")
        reached = reach(host.strip("[]"), int(port), self.authority)
        authority = None if self.authority is None else self.authority.read_bytes()
        fleet = Fleet(self.address, authority, None if self.key is None else load_identity(self.key))
        try:
            fleet.enter()
        except httpx.HTTPError as error:
            fleet.close()
            if isinstance(error, httpx.HTTPStatusError):
                raise reached.refusal(error, self.name) from None
            raise NotReachedError(f"the server at {self.address} answered, and then did not: {type(error).__name__}") from None
        return fleet


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep a state folder to ourselves. Two processes that answered from one would refuse each other's runs."""
    lock = FileLock(state / _LOCK, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(
            f"the state folder must be used by one feddp join at a time, got {str(state)!r}, which another uses: on one machine, give each "
            "site a folder of its own for its data, or --state and --odometer."
        ) from None
    try:
        yield
    finally:
        lock.release()


def join(connection: Connection, handle: Handler, connected: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
    """Stay in a federation until interrupted, inside ``connected()`` whenever the server has admitted us.

    A connection that ends is made again, after pauses that grow, with a reason each time.
    """
    pause = _FIRST_PAUSE
    logger.info("connecting to %s ...", connection.address)
    while True:
        try:
            with closing(connection.entered()) as fleet, connected():
                logger.info("connected to %s.", connection.address)
                pause = _FIRST_PAUSE
                why = execute(fleet, handle)
        except NotReachedError as error:
            why = str(error)
        logger.warning("%s; trying again in %.0f s.", why, pause)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
