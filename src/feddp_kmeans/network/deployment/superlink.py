"""The server's SuperLink: started with TLS and node authentication, told who the sites are, and given a run."""

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from flwr.app.user_config import UserConfigValue
from flwr.cli.build import build_fab_from_disk
from flwr.common.serde import fab_to_proto, user_config_to_proto
from flwr.proto.control_pb2 import ListRunsRequest, RegisterNodeRequest, StartRunRequest
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import ApiErrorCode, FlowerError
from flwr.supercore.fab import Fab
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.children import Child, check_guarded, is_healthy, is_taken, new_secret, private_folder, started
from feddp_kmeans.network.flower.knock import knock
from feddp_kmeans.network.secure_sum.identity import PublicIdentity

_NAME = "feddp"


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


class SuperLink:
    """A SuperLink that runs, the process for the server's half of a run, and the operator's connection."""

    def __init__(self, children: Sequence[Child], listening: Listening, secret: str) -> None:
        self._children = children
        authority = None if listening.authority is None else listening.authority.read_bytes()
        version = RuntimeVersionHttpInterceptor(component_name=_NAME)
        self._client = ControlHttpClient.from_server_address(listening.here, not listening.secure, authority, [version])
        knock(self._client, secret)

    @property
    def running(self) -> bool:
        """Return whether both processes are alive."""
        return all(child.running for child in self._children)

    def register(self, name: str, key: PublicIdentity) -> None:
        """Let a site in; one that is registered already stays so."""
        try:
            self._client.RegisterNode(RegisterNodeRequest(public_key=public_key_to_bytes(key), name=name))
        except httpx.HTTPStatusError as error:
            told = FlowerError.from_json(error.response.text)
            if told is None or told.code != ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
                raise FedDPError(f"the SuperLink must register {name!r}, but answered {error.response.status_code}.") from None

    def submit(self, app: Path, config: Mapping[str, UserConfigValue]) -> int:
        """Start a run of the app in this folder; return its number."""
        content = build_fab_from_disk(app)
        fab = Fab(hashlib.sha256(content).hexdigest(), content, {})
        try:
            started_run = self._client.StartRun(StartRunRequest(fab=fab_to_proto(fab), override_config=user_config_to_proto(dict(config))))
        except httpx.HTTPStatusError as error:
            raise FedDPError(f"the SuperLink must start the run, but answered {error.response.status_code}.") from None
        if not started_run.HasField("run_id"):
            raise FedDPError("the SuperLink must start the run, but refused the app.")
        return int(started_run.run_id)

    def finished(self, run: int) -> bool:
        """Return whether a run is over, however it ended."""
        runs = self._client.ListRuns(ListRunsRequest(run_id=run)).run_dict
        return run in runs and runs[run].status.status == "finished"

    def close(self) -> None:
        """Close the operator's connection."""
        self._client.close()


@contextmanager
def superlink(listening: Listening) -> Iterator[SuperLink]:
    """Yield a SuperLink that is ready, stopped at the end of the block.

    It keeps its state in memory, at half the work of flwr's database: sites are registered anew at every start, and a run that goes on
    does so from its releases on record.
    """
    if is_taken(listening.port):
        raise FedDPError(f"the server's port must be free, but something listens on {listening.port} already.")
    secret = new_secret()
    with (
        private_folder() as home,
        started("superlink", listening.arguments(), home, secret) as server,
        started("serverapp", [listening.here, str(listening.authority or "")], home, secret) as half,
    ):
        server.wait_until(lambda: is_healthy(listening.port, listening.authority))
        check_guarded(listening.port, listening.authority)
        link = SuperLink([server, half], listening, secret)
        try:
            yield link
        finally:
            link.close()
