"""The client of a federation of machines: it computes named statistics of its own points and books the runs on its own odometer.

A participant need not trust the server. It first checks the terms of a run against its own policy and odometer. Then it answers only what
is in these terms, each request once, and nothing beyond its budget.
"""

import hmac
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._logs import about
from feddp_kmeans._typing import IntArray
from feddp_kmeans.errors import BudgetError, FedDPError, InputError, kind_and_place
from feddp_kmeans.network.protocol import PUBLIC, label_of, place_of, presence, query_bytes, session_terms
from feddp_kmeans.network.receipts import Receipts
from feddp_kmeans.network.run_state import AskedSum, RunState, RunStates
from feddp_kmeans.network.schema_digests import Digests
from feddp_kmeans.network.secure_sum.fields import parsed, plain
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, sign
from feddp_kmeans.network.secure_sum.messages import Advert
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.secure_sum.session_terms import SESSION_BYTES
from feddp_kmeans.network.terms import Policy, Terms, Trust
from feddp_kmeans.network.wire import PROTOCOL, Envelope, pack, unpack
from feddp_kmeans.privacy.mechanism import Release
from feddp_kmeans.privacy.noise import RandomStream, SeededStream, SystemStream
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics.query import Query, Statistic, check_query

logger = logging.getLogger(__name__)

_MOST_SESSIONS = 1000
"""Most sessions of one run. A server that is restarted opens a new one."""

_ANSWERED = {"sum", "unmask"}
"""Requests whose answer completes this client's part in a release."""
_ON_RECEIPT = {"mask", *_ANSWERED}

_Answer = Callable[[Envelope, Terms, RunState], bytes]

_DESCRIBE_FAILED = "its data cannot be read; the reason is in its own log"
_FAILED = "its data or its program failed; the reason is in its own log"


class Participant:
    """One data holder."""

    def __init__(
        self,
        name: str,
        data: Callable[[], Silo],
        *,
        registry: Mapping[str, Statistic],
        policy: Policy,
        odometer: Odometer,
        state: Path,
        identity: Identity | None = None,
        roster: Mapping[str, PublicIdentity] | Callable[[], Mapping[str, PublicIdentity]] | None = None,
        schema: Callable[[], Digests] = dict,
        fingerprints: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.name = name
        self._data = data
        self._registry = registry
        self._policy = policy
        self._odometer = odometer
        self._runs = RunStates(state, odometer)
        self._identity = identity
        self._roster = roster
        self._schema = schema
        self._receipts = Receipts(state, name, identity, fingerprints)
        self._answers: dict[str, tuple[Trust, _Answer]] = {
            "share": (Trust.SECURE_SUM, self._share),
            "sum": (Trust.AGGREGATOR, self._sum),
            "mask": (Trust.SECURE_SUM, self._mask),
            "confirm": (Trust.SECURE_SUM, self._confirm),
            "unmask": (Trust.SECURE_SUM, self._unmask),
        }

    def _known_sites(self) -> Mapping[str, PublicIdentity] | None:
        """Return the sites that this client knows; a roster that may change is read again each time."""
        return self._roster() if callable(self._roster) else self._roster

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates. For the data holder only: errors may quote the data."""
        return self._data().columns

    def handle(self, request: bytes) -> bytes:
        """Return the answer to one request.

        A refusal says which rule was broken. It is decided before the data are touched. Any error after that is a failure, which is
        answered with one of two fixed sentences.
        """
        kind = "a request"
        try:
            asked = unpack(request)
            kind = asked.kind if asked.kind in {"describe", "agree", *self._answers} else kind
            if kind == "describe":
                return self._describe(asked)
            with self._runs.locked():
                return self._agree(asked) if kind == "agree" else self._answer(asked)
        except FedDPError as error:
            logger.warning("refused %s: %s", kind, error, extra=about("refused", site=self.name, request=kind, reason=str(error)))
            return pack("refused", reason=str(error))
        except Exception as error:  # noqa: BLE001
            # Text and traceback of an error may quote the data: only its kind and place are logged, and the server gets a fixed sentence.
            place = kind_and_place(error.__cause__ or error)
            logger.error("failed at %s: %s", kind, place, extra=about("failed", site=self.name, request=kind, reason=place))  # noqa: TRY400
            return pack("failed", reason=_DESCRIBE_FAILED if kind == "describe" else _FAILED)

    def _describe(self, asked: Envelope) -> bytes:
        nonce = asked.get("nonce", bytes)
        with touching_data():
            columns, schema = list(self._data().columns), self._schema()
        signature = b"" if self._identity is None else sign(self._identity, presence(nonce, self.name))
        return pack("described", name=self.name, protocol=PROTOCOL, columns=columns, schema=schema, signature=signature)

    def _agree(self, asked: Envelope) -> bytes:
        terms = Terms.from_dict(asked.get("terms", dict))
        session = asked.get("session", bytes)
        self._policy.check(terms)
        secure_sum = terms.trust is Trust.SECURE_SUM
        known = self._known_sites()
        if secure_sum and known is not None:
            self._policy.check_sites(terms, len(known))
        self._receipts.look()
        state = self._runs.load(terms.run)
        if state is None:
            self._policy.book(terms, self._odometer)
            state = RunState(terms.to_dict(), terms.digest, datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
            facts = about("agreed", run=terms.run, site=self.name, epsilon=terms.plan.epsilon, delta=terms.plan.delta)
            logger.info("agreed to run %s", terms.summary, extra=facts)
        elif not hmac.compare_digest(state.digest, terms.digest):
            raise BudgetError(f"run {terms.run} must keep the terms that this client agreed to, got others.")
        if session.hex() in state.sessions or len(session) != SESSION_BYTES:
            raise BudgetError("a session must be new, got one that was open before.")
        if len(state.sessions) >= _MOST_SESSIONS:
            raise BudgetError(f"sessions of a run must be at most {_MOST_SESSIONS}, got one more.")
        state.sessions.append(session.hex())
        state.session, state.turn, state.rounds, state.party, state.received = session.hex(), 0, {}, None, False
        reply: dict[str, Any] = {}
        if secure_sum:
            rounds = asked.get("rounds", int)
            if not 1 <= rounds <= sum(release.most_sums for release in terms.plan.releases):
                raise BudgetError(f"rounds must be at most the releases of the plan, got {rounds}.")
            state.party = Party.new(self.name, session_terms(terms, session, rounds))
            reply = {"advert": state.party.advert(self._identity).to_dict(), "parties": state.parties}
        self._runs.save(terms.run, state)
        self._receipts.write(terms, state)
        return pack("agreed", **reply)

    def _answer(self, asked: Envelope) -> bytes:
        """Return the answer to a new request of the current session. The new state is on disk before the answer is returned."""
        if asked.kind not in self._answers:
            raise InputError(f"a request must be of a known kind, got {asked.kind!r:.40}.")
        state = self._runs.load(run := asked.get("run", str))
        if state is None:
            raise BudgetError("a plan must be agreed to before anything is asked for.")
        terms = Terms.from_dict(state.terms)
        if asked.kind == "unmask" and state.answer.get("opening") == _opening(asked):
            self._receipts.write(terms, state)  # it may have been killed before it was written
            return bytes.fromhex(state.answer["reply"])
        session, turn = asked.get("session", bytes), asked.get("turn", int)
        if session.hex() != state.session or turn <= state.turn:
            raise BudgetError("a request must be of the current session and new, got one that is old or repeated.")
        trust, answer = self._answers[asked.kind]
        if terms.trust is not trust:
            raise BudgetError(f"trust must be {terms.trust.value}, as agreed, got a request of {trust.value}.")
        state.turn = turn
        reply = answer(asked, terms, state)
        with touching_data():
            self._runs.save(run, state)
            if asked.kind in _ON_RECEIPT:
                self._receipts.write(terms, state)
        if asked.kind in _ANSWERED and terms.plan.sampling_rate == 1:  # of a sample no line says that this client was drawn
            label = label_of(asked.fields) if asked.kind == "sum" else state.opened[-1]
            self._log_answer(terms.run, next(row for row in state.sums if row.label == label))
        return reply

    def _log_answer(self, run: str, done: AskedSum) -> None:
        facts = about("answered", run=run, site=self.name, release=done.label, statistic=done.statistic, arguments=done.digest)
        logger.info("%s: answered (%s)", done.label, done.statistic, extra=facts)

    def _share(self, asked: Envelope, terms: Terms, state: RunState) -> bytes:
        adverts = [Advert.from_dict(row) for row in asked.get("adverts", list)]
        self._pin(state, terms, [advert.name for advert in adverts])
        return pack("shared", **place_of(asked), shares=plain(state.own_party.share(adverts, self._known_sites())))

    def _pin(self, state: RunState, terms: Terms, names: list[str]) -> None:
        """Fix the parties of a run at its first session; refuse a party that was not in that session.

        Only these n parties can help to open this client's part. Since 2t > n + c, they can open a release only once.
        """
        strangers = set(names) - set(state.parties or names)
        if strangers:
            raise BudgetError(f"parties must be those of the run's first session, got {min(strangers)!r:.80}.")
        state.parties = state.parties or names
        self._policy.check_sites(terms, len(state.parties))

    def _sum(self, asked: Envelope, terms: Terms, state: RunState) -> bytes:
        release, query = self._query(asked, terms, state)
        with touching_data():
            return pack("summed", **place_of(asked), values=self._own_total(query, release))

    def _mask(self, asked: Envelope, terms: Terms, state: RunState) -> bytes:
        release, query = self._query(asked, terms, state)
        label, number, party = label_of(asked.fields), asked.get("round", int), state.own_party
        if label in state.opened:
            raise BudgetError(f"release {label!r} must be made only once, got a request to make it again.")
        if not state.received:
            party.receive(asked.get("sharers", list), parsed(dict[str, bytes], asked.get("shares", dict), "shares"))
            state.received = True
        party.check_round(number)
        stream = self._stream(asked, terms)
        with touching_data():
            part = release.with_noise(self._own_total(query, release), stream, terms.shares)
            masked = party.mask(number, part.view(np.uint64), query_bytes(asked.fields))
            state.rounds[str(number)] = label
            return pack("masked", **place_of(asked), values=masked)

    def _confirm(self, asked: Envelope, _: Terms, state: RunState) -> bytes:
        if self._identity is None:
            raise InputError("a key must be given to sign the list of survivors, got none.")
        signature = state.own_party.confirm(asked.get("round", int), asked.get("survivors", list), self._identity)
        return pack("confirmed", **place_of(asked), signature=signature)

    def _unmask(self, asked: Envelope, _: Terms, state: RunState) -> bytes:
        number, confirmations = asked.get("round", int), parsed(dict[str, bytes], asked.get("confirmations", dict), "confirmations")
        label = state.rounds.get(str(number))
        if label is None or label in state.opened:
            raise BudgetError(f"round {number} must be one for which this client sent a masked sum and which was not unmasked before.")
        shares = state.own_party.unmask(number, asked.get("survivors", list), confirmations)
        reply = pack("unmasked", **place_of(asked), **shares.to_dict())
        state.opened.append(label)
        state.answer = {"opening": _opening(asked), "reply": reply.hex()}
        return reply

    def _query(self, asked: Envelope, terms: Terms, state: RunState) -> tuple[Release, Query]:
        """Return the release and the query of a request; refuse one that is not planned, not proved or too sensitive for its noise.

        Each release of the plan belongs to one sum, which may be asked for again. Several that are made as one are as many of the plan.
        """
        release, number, times = terms.plan[asked.get("release", str)], asked.get("number", int), asked.get("times", int)
        if not 0 <= number < number + times <= release.times:
            raise BudgetError(f"release {release.name!r} must be asked for at most {release.times} times, as planned, got other numbers.")
        if times > 1 and not terms.plan.adds_up(release):
            raise BudgetError(f"release {release.name!r} must be made one by one: its noise is not Gaussian, or clients are sampled.")
        statistic = self._registry.get(name := asked.get("statistic", str))
        if statistic is None:
            raise InputError(f"statistic must be one of the registry, got {name!r:.80}.")
        public = {key.removeprefix(PUBLIC): value for key, value in asked.fields.items() if key.startswith(PUBLIC)}
        with touching_data():
            dimension = len(self._data().columns)
        query = Query(statistic, public, dimension)
        check_query(query, release, terms.plan.unit)
        now = AskedSum(release.name, number, times, name, query_bytes(asked.fields).hex())
        if now not in state.sums:
            if any(now.meets(before) for before in state.sums):
                raise BudgetError(f"release {label_of(asked.fields)!r} must stay the query that it was, got another.")
            if sum(before.release == release.name for before in state.sums) >= release.most_sums:
                raise BudgetError(f"release {release.name!r} must be made in at most {release.most_sums} sums, as planned, got one more.")
            state.sums.append(now)
        return release.as_one(times), query

    def _own_total(self, query: Query, release: Release) -> IntArray:
        total = self._data().as_one_client().exact_sum(query)
        release.check_size(total.size)
        return total

    def _stream(self, asked: Envelope, terms: Terms) -> RandomStream:
        """Return the random bits of this client's noise: from the system, or in a simulation from the server's seed."""
        if terms.secure:
            return SystemStream()
        return SeededStream(asked.get("seed", int), f"{self.name}/{label_of(asked.fields)}")


def _opening(asked: Envelope) -> list[Any]:
    """Return what an unmask request asks for: the same request again gets the same answer."""
    return [asked.get("session", bytes).hex(), asked.get("round", int), asked.get("survivors", list)]


class DataError(Exception):
    """An error after the data were touched. The original error is the cause, and its text is shown to nobody."""


@contextmanager
def touching_data() -> Iterator[None]:
    """Turn any error in the block into a DataError: its text could quote the data."""
    try:
        yield
    except Exception as error:
        raise DataError from error
