"""The server's half of a federation: a SuperLink with TLS and the keys of the sites, one run on it, and its progress in our log."""

import ipaddress
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.children import Child, check_guarded, is_healthy, is_taken, private_folder, started
from feddp_kmeans.network.deployment.kit import FederationFolder
from feddp_kmeans.network.deployment.run_request import DONE, PROGRESS, REQUEST, RunRequest, check_ended, opened, tidy
from feddp_kmeans.network.flower.compat import Control

logger = logging.getLogger(__name__)

_LOOK = 0.25


def serve(request: RunRequest, port: int, federation: FederationFolder | None) -> None:
    """Make a run on a SuperLink of our own, from start to end; the result is in its folder afterwards.

    Sites of the federation may take part; without one everybody on this machine may.
    """
    out = Path(request.out)
    opened(request)
    with superlink(port, federation) as (children, control):
        for name, key in ({} if federation is None else federation.kit.sites()).items():
            control.register(name, key)
        logger.info("listening on port %d.", port)
        control.submit(APP_FOLDER, {"job": str(out / REQUEST)})
        _follow(children, out)
    tidy(out)


@contextmanager
def superlink(port: int, federation: FederationFolder | None = None) -> Iterator[tuple[Sequence[Child], Control]]:
    """Yield the processes of a SuperLink that is ready and of the server's half of its run, and the operator's connection.

    They are stopped at the end of the block. The state is kept in memory, at half the work of flwr's database: sites are registered anew
    at every start, and a run that goes on does so from its releases on record. Without a federation there is neither TLS nor a key.
    """
    if is_taken(port):
        raise InputError(f"the server's port must be free, but something listens on {port} already.")
    secret, here = secrets.token_hex(32), f"127.0.0.1:{port}"
    authority = None if federation is None else federation.kit.authority
    with (
        private_folder() as home,
        started("superlink", [*options(federation), "--port", str(port), "--isolation", "process"], home, secret) as server,
        started("serverapp", [here, str(authority or "")], home, secret) as half,
    ):
        server.wait_until(lambda: is_healthy(port, authority))
        check_guarded(port, authority)
        with closing(Control(here, secret, None if authority is None else authority.read_bytes())) as control:
            yield (server, half), control


def options(federation: FederationFolder | None) -> list[str]:
    """Return the options by which a SuperLink listens where sites reach it, with TLS and node authentication."""
    if federation is None:
        return ["--host", "127.0.0.1", "--insecure"]
    return [
        *("--host", "127.0.0.1" if is_loopback(federation.kit.host) else "0.0.0.0"),  # noqa: S104 - the gate shows others the Fleet API only
        *("--ssl-ca-certfile", str(federation.kit.authority)),
        *("--ssl-certfile", str(federation.certificate)),
        *("--ssl-keyfile", str(federation.key)),
        "--enable-supernode-auth",
    ]


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host of this name."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _follow(children: Sequence[Child], out: Path) -> None:
    """Log what the server's half logs until its run is over; raise if it failed."""
    logged, over = 0, False
    while not over:
        over = (out / DONE).exists() or not all(child.running for child in children)
        lines = (out / PROGRESS).read_text(encoding="utf-8").splitlines() if (out / PROGRESS).exists() else []
        for line in lines[logged:]:
            level, _, text = line.partition(" ")
            logger.log(logging.getLevelNamesMapping().get(level, logging.INFO), "%s", text)
        logged = len(lines)
        if not over:
            time.sleep(_LOOK)
    check_ended(out)
