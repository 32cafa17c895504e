"""The sites of a federation of machines, seen from the server: who is present, who is missing and why, and how they are asked."""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from feddp_kmeans._logs import about
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.network.protocol import presence
from feddp_kmeans.network.replies import NoAnswerError, opened_reply
from feddp_kmeans.network.schema_digests import Digests, differing, read_digests
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.identity import PublicIdentity, verify
from feddp_kmeans.network.transport import Absence, Lost, Transport
from feddp_kmeans.network.wire import Envelope, pack

logger = logging.getLogger(__name__)

Given = TypeVar("Given")
Read = TypeVar("Read")


@dataclass(frozen=True)
class Missing:
    """Why the latest answer of a site is missing: the word that is put on record, and the reason in words."""

    why: Absence
    words: str


@dataclass(frozen=True)
class _Presented:
    """What a node says of itself."""

    name: str
    columns: tuple[str, ...]
    schema: Digests


class Sites:
    """The sites that were present at the start. A missing site is asked again each time."""

    def __init__(self, transport: Transport, roster: Mapping[str, PublicIdentity] | None, timeout: float) -> None:
        self._transport = transport
        self._roster = roster
        self._timeout = timeout
        self._nodes: dict[str, int] = {}
        self._strangers: set[int] = set()
        self._told: dict[str, Missing] = {}
        self.missing: dict[str, Missing] = {}
        """Why the latest answer of a site is missing."""
        self.left_out: list[str] = []
        """Which nodes cannot take part, and why, in words."""
        self.columns: tuple[str, ...] = ()
        """The names of the coordinates."""
        self._schema: Digests = {}

    @property
    def names(self) -> list[str]:
        """Return the names of the sites, sorted."""
        return sorted(self._nodes)

    @property
    def expected(self) -> list[str]:
        """Return the names of all that could take part, sorted: the sites of the roster, or those present at the start."""
        return sorted({*self._nodes, *(self._roster or ())})

    def meet(self, columns: tuple[str, ...] | None, schema: Callable[[tuple[str, ...]], Digests] | None = None) -> None:
        """Ask all nodes for their name, columns and the digests of their schema.

        The sites are those with these columns (None: the most frequent ones) and with the digests that ``schema`` returns for them (None:
        the most frequent ones).
        """
        described = self._describe(self._transport.nodes())
        if columns is None and described:
            columns = _most_frequent(told.columns for told in described.values())
        fitting = [told.schema for told in described.values() if told.columns == columns]
        if columns is not None and fitting:
            frequent = dict(_most_frequent(tuple(sorted(one.items())) for one in fitting))
            self._schema = frequent if schema is None else read_digests(schema(columns), columns)
        for node, told in sorted(described.items()):
            if told.columns != columns:
                self._leave_out(f"{told.name} is left out: its columns are {list(told.columns)}, not {list(columns or ())}", told.name)
            elif told.schema != self._schema:
                self._leave_out(f"{told.name} is left out: {differing(told.schema, self._schema)}", told.name)
            elif told.name in self._nodes:
                self._leave_out(f"a second node of {told.name} is left out: one data holder counts once", told.name)
            else:
                self._nodes[told.name] = node
        self._strangers |= described.keys() - set(self._nodes.values())
        if not self._nodes or columns is None:
            raise InputError(" ".join(["sites must be at least one, got none whose data can be used.", *self.left_out]))
        logger.info("%d sites: %s", len(self._nodes), ", ".join(self.names), extra=about("sites", sites=self.names))
        self.columns = columns

    def ask(
        self,
        requests: Mapping[str, bytes],
        kind: str,
        place: Mapping[str, Any] | None,
        read: Callable[[str, Envelope], Read],
        *,
        secret: bool = False,
    ) -> dict[str, Read]:
        """Return the answers of this kind, converted by ``read``; ``missing`` says why others are missing.

        With ``secret`` nothing is logged here, so that no line depends on who was asked.
        """
        self._find_again(secret=secret)
        patient = [self._nodes[name] for name in requests if name not in self.missing]
        replies = self._transport.exchange({self._nodes[name]: request for name, request in requests.items()}, self._timeout, patient)
        lost = Lost("it was not reached", Absence.NOT_CONNECTED)
        received = {name: replies.get(self._nodes[name], lost) for name in requests}
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
                self.missing[name] = Missing(error.why if isinstance(error, NoAnswerError) else Absence.FAILED, str(error))
        return found

    def news(self) -> Iterator[tuple[str, Missing | None]]:
        """Yield the sites that are missing since the last call, or for another reason, and (with None) those that are back."""
        before, self._told = self._told, dict(self.missing)
        for name in sorted({*before, *self._told}):
            if before.get(name) != self._told.get(name):
                yield name, self._told.get(name)

    def check_enough(self, label: str, answers: Mapping[str, Any], needed: int) -> None:
        """Refuse fewer answers than needed."""
        if len(answers) < needed:
            missing = "; ".join(f"{name} is missing: {why.words}" for name, why in sorted(self.missing.items()) if name not in answers)
            raise InputError(
                f"{label} must have the answers of at least {needed} sites, got {len(answers)}; nothing was released. {missing}"
            )

    def _describe(self, nodes: Iterable[int]) -> dict[int, _Presented]:
        """Return what each node that proves who it is says of itself."""
        nonce = os.urandom(16)
        replies = self._transport.exchange(dict.fromkeys(nodes, pack("describe", nonce=nonce)), self._timeout, list(nodes))
        described = {}
        for node, reply in replies.items():
            try:
                described[node] = self._presented(opened_reply(reply, "described"), nonce)
            except FedDPError as error:
                self._strangers.add(node)
                self._leave_out(f"node {node} is left out: {error}")
        return described

    def _presented(self, told: Envelope, nonce: bytes) -> _Presented:
        """Return what a node says of itself. With a roster, it must prove that it holds the key of its name."""
        name = fields.name(told.get("name", str), "the name of a site")
        if self._roster is not None and name not in self._roster:
            raise InputError(f"{name!r} must be one of the federation's sites, got a name that is not in the roster.")
        if self._roster is not None and not verify(self._roster[name], told.get("signature", bytes), presence(nonce, name)):
            raise InputError(f"{name!r} must prove that it holds its key, got another signature.")
        columns = tuple(str(column) for column in told.get("columns", list))
        return _Presented(name, columns, read_digests(told.get("schema", dict), columns))

    def _leave_out(self, why: str, site: str = "") -> None:
        self.left_out.append(why)
        logger.warning("%s", why, extra=about("left out", site=site, reason=why))

    def _find_again(self, *, secret: bool) -> None:
        """Find sites that were missing and are back under another node number."""
        present = set(self._transport.nodes())
        new = present - set(self._nodes.values()) - self._strangers
        for node, told in self._describe(sorted(new)).items() if new else ():
            gone = told.name in self._nodes and (self._nodes[told.name] not in present or told.name in self.missing)
            if gone and (told.columns, told.schema) == (self.columns, self._schema):
                self._nodes[told.name] = node
                self._told.pop(told.name, None)
                if not secret:
                    logger.info("%s is back as another node", told.name, extra=about("back", site=told.name))
            else:
                self._strangers.add(node)
                if not secret:
                    self._leave_out(f"{told.name} is left out: it was not there at the start, or is there already", told.name)


def _most_frequent(given: Iterable[Any]) -> Any:
    return Counter(given).most_common(1)[0][0]
