"""The server's SuperLink: started with TLS and node authentication, given the keys of the sites, and then a run."""

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.children import Child, check_guarded, is_healthy, is_taken, new_secret, private_folder, started
from feddp_kmeans.network.flower.compat import Control


@dataclass(frozen=True)
class Listening:
    """Where a SuperLink listens, and its TLS files; without them for trials on one machine."""

    host: str
    port: int
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def secure(self) -> bool:
        """Return whether TLS and node authentication are on."""
        return self.authority is not None

    def arguments(self) -> list[str]:
        """Return the SuperLink's options."""
        where = ["--host", self._bound(), "--port", str(self.port), "--isolation", "process"]
        if not self.secure:
            return [*where, "--insecure"]
        return [
            *where,
            *("--ssl-ca-certfile", str(self.authority)),
            *("--ssl-certfile", str(self.certificate)),
            *("--ssl-keyfile", str(self.key)),
            "--enable-supernode-auth",
        ]

    @property
    def here(self) -> str:
        """Return the address by which this machine's own processes reach the SuperLink."""
        return f"127.0.0.1:{self.port}"

    def _bound(self) -> str:
        """Return the loopback where that is all the server is for, else every address."""
        try:
            loopback = self.host.lower() == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            loopback = False
        return "127.0.0.1" if loopback else "0.0.0.0"  # noqa: S104 - the gate shows others nothing but the Fleet API


@dataclass(frozen=True)
class SuperLink:
    """A SuperLink that runs, the process for the server's half of a run, and the operator's connection."""

    children: Sequence[Child]
    control: Control

    @property
    def running(self) -> bool:
        """Return whether both processes are alive."""
        return all(child.running for child in self.children)


@contextmanager
def superlink(listening: Listening) -> Iterator[SuperLink]:
    """Yield a SuperLink that is ready, stopped at the end of the block.

    It keeps its state in memory, at half the work of flwr's database: sites are registered anew at every start, and a run that goes on
    does so from its releases on record.
    """
    if is_taken(listening.port):
        raise InputError(f"the server's port must be free, but something listens on {listening.port} already.")
    secret = new_secret()
    with (
        private_folder() as home,
        started("superlink", listening.arguments(), home, secret) as server,
        started("serverapp", [listening.here, str(listening.authority or "")], home, secret) as half,
    ):
        server.wait_until(lambda: is_healthy(listening.port, listening.authority))
        check_guarded(listening.port, listening.authority)
        authority = None if listening.authority is None else listening.authority.read_bytes()
        with closing(Control(listening.here, secret, authority)) as control:
            yield SuperLink([server, half], control)
