"""A transport inside one process, which can lose, spoil and repeat messages at will."""

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from feddp_kmeans.network.participant import Participant
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Policy, Trust
from feddp_kmeans.network.transport import Lost
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY


class Loopback:
    """Hands each request to its participant. ``fault(name, kind, turn)`` may lose a message "before" or "after" it is answered."""

    def __init__(self, participants, fault: Callable[[str, str, int], str | None] = lambda *_: None):
        self.participants = dict(enumerate(participants, 1))
        self.fault = fault
        self.sent = []
        self.lengths = []
        self.absent = set()

    def nodes(self):
        return [node for node in self.participants if node not in self.absent]

    def exchange(self, requests, timeout, patient):
        assert set(patient) <= set(requests)
        replies = {}
        for node, request in requests.items():
            participant = self.participants[node]
            asked = unpack(request)
            fault = "before" if node in self.absent else self.fault(participant.name, asked.kind, asked.fields.get("turn", -1))
            self.sent.append((participant.name, asked.kind, request))
            if fault == "before":
                replies[node] = Lost("it did not answer in time")
                continue
            reply = participant.handle(request)
            self.lengths.append((participant.name, asked.kind, len(reply)))
            replies[node] = Lost("it did not answer in time") if fault == "after" else reply
        return replies


def participant(name, points, folder, **more):
    points = np.asarray(points, dtype=np.float64)
    policy = {"unit": PrivacyUnit.POINT, "epsilon": math.inf, "allow_aggregator": True, "allow_simulation": True, "colluders": 0}
    policy |= {key: more.pop(key) for key in list(more) if key in {field.name for field in fields(Policy)}}
    columns = tuple(f"x{i}" for i in range(points.shape[1]))
    given = {
        "registry": REGISTRY,
        "policy": Policy(**policy),
        "odometer": Odometer(folder / f"{name}.jsonl"),
        "state": folder / name,
    }
    return Participant(name, lambda: ArraySilo([points], columns), **given | more)


def federation(clients, folder, *, trust=Trust.SECURE_SUM, fault=lambda *_: None, site=None, **more):
    names = [f"site{i:02d}" for i in range(len(clients))]
    parties = [participant(n, c, folder, **(site(n) if callable(site) else site or {})) for n, c in zip(names, clients, strict=True)]
    transport = Loopback(parties, fault)
    return RemoteFederation(transport, trust=trust, **more).connect(), transport
