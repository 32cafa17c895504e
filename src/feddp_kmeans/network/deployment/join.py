"""A site's half of a federation: an official SuperNode for the connection, and our executor in place of Flower's.

The SuperNode brings TLS, the proof of the site's key and heartbeats. Messages are answered by the package installed here, within the
limits stated here; the app that the server sends is never opened.
"""

import logging
import secrets
import socket
import ssl
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.children import check_guarded, free_port, is_healthy, last_words, private_folder, started
from feddp_kmeans.network.flower.body import Handler
from feddp_kmeans.network.flower.compat import HttpRuntime
from feddp_kmeans.network.flower.executor import execute

logger = logging.getLogger(__name__)

_CONNECTED = "SuperNode ID:"
_REFUSED = "[code: 2004]"
"""Flower's code for a key that is not registered, or that another node uses at the moment."""

_HANDSHAKE = 10.0
_LOOK = 0.2
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 30.0
_PATIENCE = 90.0
"""Seconds of refusals before we give up: the server needs 60 to notice that a node has crashed."""


@dataclass(frozen=True)
class Connection:
    """The server's address, and the files for TLS and for the proof of our key; without them for trials on one machine."""

    address: str
    authority: Path | None = None
    key: Path | None = None

    def check_certificate(self) -> None:
        """Refuse a server that shows another federation's certificate; the SuperNode waits for one that does not answer yet."""
        if self.authority is None:
            return
        host, _, port = self.address.rpartition(":")
        host = host.strip("[]")
        try:
            context = ssl.create_default_context(cafile=self.authority)
            with socket.create_connection((host, int(port)), timeout=_HANDSHAKE) as plain, context.wrap_socket(plain, server_hostname=host):
                pass
        except ssl.SSLCertVerificationError as error:
            raise InputError(f"the server at {self.address} must have a certificate of this federation: {error.verify_message}.") from None
        except OSError:
            pass

    def arguments(self) -> list[str]:
        """Return the SuperNode's options."""
        if self.authority is None:
            return ["--superlink", self.address, "--insecure"]
        keys = ["--root-certificates", str(self.authority), "--auth-supernode-private-key", str(self.key)]
        return ["--superlink", self.address, *keys]


def join(connection: Connection, handle: Handler, *, patience: float = _PATIENCE) -> None:
    """Stay in a federation until interrupted. A SuperNode that ends is started again, after pauses that grow."""
    pause, refused_since = _FIRST_PAUSE, None
    logger.info("connecting to %s ...", connection.address)
    while True:
        connection.check_certificate()
        connected, log = _one_life(connection, handle)
        why = f"no connection: {last_words(log)}"
        if connected:
            pause, refused_since, why = _FIRST_PAUSE, None, "the connection ended"
        elif _REFUSED in log:
            why = "the server does not admit this site yet (after a crash it needs a minute)"
            refused_since = refused_since or time.monotonic()
            if time.monotonic() - refused_since >= patience:
                raise InputError("the server refuses this key: it is not registered there, or another node uses it.")
        logger.warning("%s; trying again in %.0f s.", why, pause)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _one_life(connection: Connection, handle: Handler) -> tuple[bool, str]:
    """Run a SuperNode and answer its tasks until it ends; return whether it was ever connected, and its log."""
    secret, port = secrets.token_hex(32), free_port()
    arguments = [*connection.arguments(), "--isolation", "process", "--host", "127.0.0.1", "--port", str(port)]
    with private_folder() as home, started("supernode", arguments, home, secret) as node:
        while node.running and not (is_healthy(port) and _CONNECTED in node.log()):
            time.sleep(_LOOK)
        connected = node.running
        if connected:
            check_guarded(port)
            logger.info("connected to %s.", connection.address)
            with closing(HttpRuntime(f"127.0.0.1:{port}", secret)) as runtime:
                execute(runtime, handle, lambda: node.running)
        return connected, node.log()
