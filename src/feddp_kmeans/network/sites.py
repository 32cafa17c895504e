"""The sites of a federation of machines, seen from the server: who is present, who is missing and why, and how they are asked."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.network.protocol import presence
from feddp_kmeans.network.replies import opened_reply
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.identity import PublicIdentity, verify
from feddp_kmeans.network.transport import Lost, Transport
from feddp_kmeans.network.wire import Envelope, pack

logger = logging.getLogger(__name__)

Given = TypeVar("Given")
Read = TypeVar("Read")


class Sites:
    """The sites that were present at the start. A missing site is asked again each time."""

    def __init__(self, transport: Transport, roster: Mapping[str, PublicIdentity] | None, timeout: float) -> None:
        self._transport = transport
        self._roster = roster
        self._timeout = timeout
        self._nodes: dict[str, int] = {}
        self._strangers: set[int] = set()
        self.missing: dict[str, str] = {}
        """Why the latest answer of a site is missing."""
        self.columns: tuple[str, ...] = ()
        """The names of the coordinates."""

    @property
    def names(self) -> list[str]:
        """Return the names of the sites, sorted."""
        return sorted(self._nodes)

    def meet(self, columns: tuple[str, ...] | None) -> None:
        """Ask all nodes for their name and columns. The sites are those with these columns; None: with the most frequent ones."""
        described = self._describe(self._transport.nodes())
        if columns is None and described:
            columns = Counter(names for _, names in described.values()).most_common(1)[0][0]
        for node, (name, names) in sorted(described.items()):
            if names != columns:
                logger.warning("%s is left out: its columns are %s, not %s", name, list(names), list(columns or ()))
            elif name in self._nodes:
                logger.warning("a second node of %s is left out: one data holder counts once", name)
            else:
                self._nodes[name] = node
        self._strangers |= described.keys() - set(self._nodes.values())
        if not self._nodes or columns is None:
            raise InputError("sites must be at least one, got none whose data can be used.")
        logger.info("%d sites: %s", len(self._nodes), ", ".join(self.names))
        self.columns = columns

    def ask(
        self, requests: Mapping[str, bytes], kind: str, place: Mapping[str, Any] | None, read: Callable[[str, Envelope], Read]
    ) -> dict[str, Read]:
        """Return the answers of this kind, converted by ``read``; ``missing`` says why others are missing."""
        self._find_again()
        patient = [self._nodes[name] for name in requests if name not in self.missing]
        replies = self._transport.exchange({self._nodes[name]: request for name, request in requests.items()}, self._timeout, patient)
        received = {name: replies.get(self._nodes[name], Lost("it was not reached")) for name in requests}
        answers = self.read(received, lambda name, reply: read(name, opened_reply(reply, kind, place)))
        for name in answers:
            self.missing.pop(name, None)
        return answers

    def read(self, given: Mapping[str, Given], read: Callable[[str, Given], Read]) -> dict[str, Read]:
        """Return the given values by sender, converted by ``read``. The sender of one that cannot be read counts as missing."""
        found: dict[str, Read] = {}
        for name, content in given.items():
            try:
                found[name] = read(name, content)
            except FedDPError as error:
                self.missing[name] = str(error)
        return found

    def check_enough(self, label: str, answers: Mapping[str, Any], *, needed: int, of: int | None = None) -> None:
        """Log who answered; refuse fewer answers than needed."""
        missing = "; ".join(f"{name} is missing: {why}" for name, why in sorted(self.missing.items()) if name not in answers)
        level = logging.WARNING if missing else logging.INFO
        logger.log(level, "%s: %d of %d sites%s", label, len(answers), of or len(self._nodes), f"; {missing}" if missing else "")
        if len(answers) < needed:
            raise InputError(
                f"{label} must have the answers of at least {needed} sites, got {len(answers)}; nothing was released. {missing}"
            )

    def _describe(self, nodes: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return the name and the columns of each node that proves who it is."""
        nonce = os.urandom(16)
        replies = self._transport.exchange(dict.fromkeys(nodes, pack("describe", nonce=nonce)), self._timeout, list(nodes))
        described = {}
        for node, reply in replies.items():
            try:
                described[node] = self._presented(opened_reply(reply, "described"), nonce)
            except FedDPError as error:
                self._strangers.add(node)
                logger.warning("node %d is left out: %s", node, error)
        return described

    def _presented(self, told: Envelope, nonce: bytes) -> tuple[str, tuple[str, ...]]:
        """Return the name and the columns of a node. With a roster, it must prove that it holds the key of that name."""
        name = fields.name(told.get("name", str), "the name of a site")
        if self._roster is not None and name not in self._roster:
            raise InputError(f"{name!r} must be one of the federation's sites, got a name that is not in the roster.")
        if self._roster is not None and not verify(self._roster[name], told.get("signature", bytes), presence(nonce, name)):
            raise InputError(f"{name!r} must prove that it holds its key, got another signature.")
        return name, tuple(str(column) for column in told.get("columns", list))

    def _find_again(self) -> None:
        """Find sites that were missing and are back under another node number."""
        present = set(self._transport.nodes())
        new = present - set(self._nodes.values()) - self._strangers
        for node, (name, columns) in self._describe(sorted(new)).items() if new else ():
            gone = name in self._nodes and (self._nodes[name] not in present or name in self.missing)
            if gone and columns == self.columns:
                self._nodes[name] = node
                logger.info("%s is back", name)
            else:
                self._strangers.add(node)
                logger.warning("%s is left out: it was not there at the start, or is there already", name)
