"""The server's half of a federation: a SuperLink with TLS and the keys of the sites, and one run on it."""

import ipaddress
import logging
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.children import Child, check_guarded, is_healthy, is_taken, private_folder, started
from feddp_kmeans.network.deployment.kit import FederationFolder
from feddp_kmeans.network.deployment.metrics import MetricsFile, ServerFacts, State
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.flower.compat import Control
from feddp_kmeans.network.flower.flower_federation import GridTransport

logger = logging.getLogger(__name__)


def serve(request: RunRequest, port: int, federation: FederationFolder | None, metrics: Path | None = None) -> None:
    """Make a run on a SuperLink of our own, from start to end; the result is in its folder afterwards, and its metrics in a file.

    Only sites of the federation may take part; without a federation, everybody on this machine may.
    """
    request, facts = opened(request), ServerFacts()
    with MetricsFile(metrics, facts.metrics):
        try:
            _serve(request, port, federation, facts)
        except BaseException:
            facts.state = State.FAILED
            raise


def _serve(request: RunRequest, port: int, federation: FederationFolder | None, facts: ServerFacts) -> None:
    logging.getLogger("flwr").setLevel(logging.ERROR)
    with superlink(port, federation) as (_, control):
        for name, key in ({} if federation is None else federation.kit.sites()).items():
            control.register(name, key)
        for name, problem in ({} if federation is None else federation.kit.roster().problems).items():
            logger.warning("%s is left out: its key must be valid, but %s.", name, problem)
        logger.info("listening on port %d.", port)
        try:
            with control.run(APP_FOLDER) as grid:
                carry_out(GridTransport(grid, bundles=True), request, facts)
        except httpx.TransportError:
            raise InputError("the SuperLink must answer until the run ends, but it has not answered for a minute.") from None


@contextmanager
def superlink(port: int, federation: FederationFolder | None = None) -> Iterator[tuple[Child, Control]]:
    """Yield a SuperLink that is ready, stopped at the end of the block, and the operator's connection to it.

    It keeps its state in memory, at half the work of flwr's database: sites are registered anew at every start, and a run that goes on
    does so from its releases on record. Without a federation there is neither TLS nor a key.
    """
    if is_taken(port):
        raise InputError(f"the server's port must be free, but something listens on {port} already.")
    secret, authority = secrets.token_hex(32), None if federation is None else federation.kit.authority
    arguments = [*options(federation), "--port", str(port), "--isolation", "process"]
    with private_folder() as home, started("superlink", arguments, home, secret) as server:
        server.wait_until(lambda: is_healthy(port, authority))
        check_guarded(port, authority)
        with closing(Control(f"127.0.0.1:{port}", secret, None if authority is None else authority.read_bytes())) as control:
            yield server, control


def options(federation: FederationFolder | None) -> list[str]:
    """Return the SuperLink's options for its address, TLS and node authentication."""
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
    """Return whether a host name means this machine only."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
