"""A server and its sites in one process: real participants and real messages, without a network."""

import math
import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans.network.participant import Participant
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Policy, Trust
from feddp_kmeans.network.transport import Lost
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY


class LoopbackTransport:
    """Hands each request to its participant. Those in ``absent`` do not answer."""

    def __init__(self, sites: Sequence[Participant]) -> None:
        self._sites = dict(enumerate(sites, 1))
        self.absent: set[int] = set()
        self.requests: list[tuple[int, bytes]] = []
        self.replies: list[tuple[int, bytes]] = []
        """What the sites were sent and what they answered, and which site it was."""

    def nodes(self) -> list[int]:
        """Return who is connected."""
        return list(self._sites)

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Return the answers of all sites but the absent ones."""
        del timeout, patient
        present = {node: asked for node, asked in requests.items() if node not in self.absent}
        sent = {node: self._sites[node].handle(asked) for node, asked in present.items()}
        self.requests += present.items()
        self.replies += sent.items()
        return {node: sent.get(node, Lost("it does not answer")) for node in requests}


class LoopbackFederation(RemoteFederation):
    """One site per client in this process, with its own odometer and state in a temporary folder."""

    def __init__(
        self,
        clients: Sequence[Any],
        *,
        unit: PrivacyUnit = PrivacyUnit.POINT,
        epsilon: float = math.inf,
        trust: Trust = Trust.SECURE_SUM,
        **more: Any,
    ) -> None:
        folder = Path(tempfile.mkdtemp(prefix="feddp-audit-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.odometers = [Odometer(folder / f"{index:03d}.jsonl") for index in range(len(clients))]
        policy = Policy(unit, epsilon, allow_aggregator=trust is Trust.AGGREGATOR, allow_simulation=True)
        sites = [self._site(points, odometer, policy) for points, odometer in zip(clients, self.odometers, strict=True)]
        self.loopback = LoopbackTransport(sites)
        super().__init__(self.loopback, trust=trust, **more)
        self.connect()

    @staticmethod
    def _site(points: Any, odometer: Odometer, policy: Policy) -> Participant:
        data = ArraySilo([points])
        name = f"site{odometer.path.stem}"
        return Participant(name, lambda: data, registry=REGISTRY, policy=policy, odometer=odometer, state=odometer.path.with_suffix(""))
