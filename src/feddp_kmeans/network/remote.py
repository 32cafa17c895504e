"""The server of a federation of machines: noisy sums over any transport, in either trust mode."""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from feddp_kmeans._typing import Array, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.adder import Adder, Asked, NoisySum
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.network.attendance import ATTENDANCE, Attendance, AttendanceRow, noise_factors
from feddp_kmeans.network.journal import Journal, Pending
from feddp_kmeans.network.protocol import PUBLIC, label_of, place_of, query_bytes, session_terms
from feddp_kmeans.network.replies import Session, advert_of, parties_of, shares_of, unmasked_of, vector_of
from feddp_kmeans.network.run_log import log_news, log_release
from feddp_kmeans.network.schema_digests import Digests
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.identity import PublicIdentity
from feddp_kmeans.network.secure_sum.session_terms import SESSION_BYTES
from feddp_kmeans.network.sites import Missing, Sites
from feddp_kmeans.network.terms import Terms, Trust, assumed_colluders, default_threshold
from feddp_kmeans.network.transport import Absence, Transport
from feddp_kmeans.network.wire import Envelope, pack, unpack

_TO_SPARE = 1 + 1e-9
"""Tolerance for the rounding of norms in floating point."""

_AWAY = Missing(Absence.NOT_CONNECTED, "it is not connected")

TIMEOUT = 300.0
"""Seconds to wait for a client's answer."""


class RemoteFederation(Federation):
    """Clients on other machines, reached through a transport. Call ``connect`` first.

    A client that does not answer is missing from that release and is asked again for the next one. Below the threshold nothing is released.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        trust: Trust = Trust.SECURE_SUM,
        threshold: int | None = None,
        colluders: int | None = None,
        confirmed: bool | None = None,
        columns: tuple[str, ...] | None = None,
        schema: Callable[[tuple[str, ...]], Digests] | None = None,
        roster: Mapping[str, PublicIdentity] | None = None,
        run: str | None = None,
        journal: Path | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._transport = transport
        self._mode = trust
        self.trust = trust.value
        self._threshold = threshold
        self._colluders = colluders
        self._confirmed = roster is not None if confirmed is None else confirmed
        self._columns = columns
        self._schema = schema
        self._roster = roster
        self.run_id = run
        self._journal = journal
        self._timeout = timeout
        self._sites: Sites | None = None

    def connect(self) -> Self:
        """Return this federation once all connected nodes have been asked for their name and columns."""
        sites = Sites(self._transport, self._roster, self._timeout)
        sites.meet(self._columns, self._schema)
        self._sites = sites
        return self

    @property
    def sites(self) -> Sites:
        """Return the sites that were present at the start."""
        if self._sites is None:
            raise InputError("a federation of machines must be connected before it is used: call connect() first.")
        return self._sites

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self.sites.columns

    @property
    def n_clients(self) -> int:  # type: ignore[override]
        """Return the number of clients that were present at the start."""
        return len(self.sites.names)

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a point."""
        return len(self.columns)

    @property
    def n_sites(self) -> int:
        """Return the number of sites that the default threshold is computed from: the roster's, or those present at the start."""
        return self.n_clients if self._roster is None else len(self._roster)

    @property
    def colluders(self) -> int:
        """Return how many sites may collude with the server: 0 by default if the server is trusted with the sums."""
        if self._colluders is not None:
            return self._colluders
        return assumed_colluders(self.n_sites) if self._mode is Trust.SECURE_SUM else 0

    @property
    def threshold(self) -> int:
        """Return the least number of sites in a release."""
        return default_threshold(self.n_sites, self.colluders) if self._threshold is None else self._threshold

    def _adder(self, run: Run) -> Adder:
        """Return what answers this run. The clients see its plan when the first release needs them."""
        if not 1 <= self.threshold <= self.n_clients:
            raise InputError(f"threshold must be from 1 to the {self.n_clients} sites, got {self.threshold}.")
        terms = Terms(run.id, run.plan, self._mode, run.seed is None, self.threshold, self.colluders, self._confirmed)
        kept = None if self._journal is None else self._journal.with_name(ATTENDANCE)
        attendance = Attendance.open(kept, terms, self.sites.expected)
        return RemoteAdder(self.sites, terms, run, Journal(self._journal, run.id), attendance)


class RemoteAdder(Adder):
    """Answers one run with what the sites send."""

    def __init__(self, sites: Sites, terms: Terms, run: Run, journal: Journal, attendance: Attendance) -> None:
        self._sites = sites
        self._terms = terms
        self._run = run
        self._journal = journal
        self._session: Session | None = None
        self.attendance = attendance

    def noisy_sum(self, asked: Asked) -> NoisySum:
        """Return the noisy sum over the sites that answer."""
        query, release = asked.query, asked.release
        question = {"release": release.name, "number": asked.number, "times": asked.times, "statistic": query.statistic.name}
        question |= {PUBLIC + name: value for name, value in query.public.items()}
        if (pending := self._journal.read(question)) is not None:
            found = self._finished(pending, asked, question)
        else:
            self._session = self._session or self._open()
            if self._terms.trust is Trust.AGGREGATOR:
                found = NoisySum(release.noisy(self._plain_sum(self._session, asked, question), asked.stream))
            else:
                found = self._secure_sum(self._session, asked, question)
        log_release(self._run.id, self._named(question), self.attendance.rows[label_of(question)], self._run.ledger)
        return found

    def kept(self, label: str) -> None:
        """Forget how the release was opened."""
        self._journal.forget(label)

    def _plain_sum(self, session: Session, asked: Asked, question: dict[str, Any]) -> IntArray:
        """Return the sum of what the clients sent.

        An answer that no honest client can give is left out: at unit client one whose norm exceeds that of one client; at unit point,
        where a client may have any number of points, only one so large that the sum could overflow. Masked answers cannot be checked.
        """
        query, names, sampled = asked.query, session.names, asked.cohort is not None
        if asked.cohort is not None:
            names = [name for name, taken in zip(self._sites.names, asked.cohort, strict=True) if taken and name in names]
        request, read = pack("sum", **session.next_turn(), **question), lambda _, reply: self._part_of(reply, asked)
        parts = self._sites.ask(dict.fromkeys(names, request), "summed", session.place, read, secret=sampled)
        if not sampled:
            self._check_enough(self._named(question), parts)
        self._keep_row(asked, question, None if sampled else parts)
        return sum(parts.values(), start=np.zeros(query.size, dtype=np.int64))

    def _keep_row(self, asked: Asked, question: Mapping[str, Any], present: Iterable[str] | None) -> None:
        """Put on record who is in a sum, with the noise that it holds; nobody's name if clients are sampled."""
        sites = None if present is None else tuple(sorted(present))
        factors = (1.0, 1.0) if sites is None else noise_factors(self._terms, len(sites))
        away = self._sites.expected if sites is not None else ()
        missing = {name: self._sites.missing.get(name, _AWAY).why.value for name in away if name not in (sites or ())}
        stated = {name: question[name] for name in ("release", "number", "times", "statistic")}
        digest, scale = query_bytes(question).hex(), asked.release.scale
        row = AttendanceRow(
            **stated,
            query=digest,
            planned_scale=scale,
            noise_factor=factors[0],
            least_noise_factor=factors[1],
            sites=sites,
            missing=missing,
        )
        self.attendance.add(row)

    def _check_enough(self, label: str, answers: Mapping[str, Any]) -> None:
        """Log who is missing since the last look and who is back; refuse fewer answers than the threshold."""
        log_news(self._sites.news(), self._run.id, label)
        self._sites.check_enough(label, answers, self._terms.threshold)

    def _part_of(self, reply: Envelope, asked: Asked) -> Array:
        query = asked.query
        part = vector_of(reply, query.size, np.dtype(np.int64))
        sizes = np.abs(part.astype(np.float64))
        if sizes.max(initial=0.0) * len(self._sites.names) >= asked.release.largest_total:
            raise InputError("sent more than a sum can hold")
        if query.statistic.whole_clients:
            bound = query.sensitivity
            l1 = math.inf if bound.l1 is None else bound.l1
            if np.linalg.norm(sizes) > bound.l2 * _TO_SPARE or sizes.sum() > l1 * _TO_SPARE:
                raise InputError("sent more than one client may")
        return part

    def _secure_sum(self, session: Session, asked: Asked, query: dict[str, Any]) -> NoisySum:
        aggregator, number, length = session.aggregator, session.round, asked.query.size
        session.round += 1
        turn = session.next_turn() | {"round": number} | ({} if self._run.seed is None else {"seed": self._run.seed})
        requests = {}
        for name in aggregator.sharers:
            first = {}
            if name not in session.received:
                first = {"sharers": list(aggregator.sharers), "shares": fields.plain(aggregator.ciphertexts_for(name))}
            requests[name] = pack("mask", **turn, **query, **first)
        masked = self._sites.ask(requests, "masked", session.place, lambda _, reply: vector_of(reply, length, np.dtype(np.uint64)))
        session.received |= masked.keys()
        self._check_enough(self._named(query), masked)
        self._keep_row(asked, query, masked)
        survivors = sorted(masked)
        about = {"round": number, "survivors": survivors}
        confirmations: dict[str, bytes] = {}
        if self._terms.confirmed:
            request = pack("confirm", **session.next_turn(), **about)
            requests = dict.fromkeys(survivors, request)
            confirmations = self._sites.ask(requests, "confirmed", session.place, lambda _, reply: reply.get("signature", bytes))
            self._check_enough(self._named(query), confirmations)
        request = pack("unmask", **session.next_turn(), **about, confirmations=fields.plain(confirmations))
        pending = Pending(aggregator.without_messages(), sum(masked.values(), start=np.zeros(length, dtype=np.uint64)), request)
        self._journal.write(query, pending)
        return self._finished(pending, asked, query)

    def _finished(self, pending: Pending, asked: Asked, query: dict[str, Any]) -> NoisySum:
        """Return the opened sum. After a restart the sites are asked again, and give the same answers again.

        Each survivor added a share of the noise; the plan counts on fewer of them (``Terms.shares``).
        """
        request = unpack(pending.request)
        survivors = tuple(request.fields["survivors"])
        present = {name: pending.request for name in survivors if name in self._sites.names}
        if len(present) < self._terms.threshold:
            absent, needed = ", ".join(name for name in survivors if name not in present), self._terms.threshold
            raise InputError(f"{query['release']} must be opened with at least {needed} sites of its sum; wait for {absent}.")
        opened = self._sites.ask(present, "unmasked", place_of(request), lambda _, reply: unmasked_of(reply))
        self._check_enough(self._named(query), opened)
        if label_of(query) not in self.attendance.rows:
            self._keep_row(asked, query, survivors)
        number = request.fields["round"]
        total: IntArray = pending.aggregator.unmasked(number, survivors, pending.masked, opened, query_bytes(query)).view(np.int64)
        return NoisySum(asked.release.from_steps(total), noise_factors(self._terms, len(survivors))[0])

    def _open(self) -> Session:
        """Return a new session with the clients that agree to the terms."""
        rounds = self._run.ledger.sums_left + 1
        session = Session(self._run.id, os.urandom(SESSION_BYTES))
        request = pack("agree", terms=self._terms.to_dict(), session=session.key, rounds=rounds)
        agreed = self._sites.ask(dict.fromkeys(self._sites.names, request), "agreed", None, lambda _, reply: reply)
        self._check_enough("the plan", agreed)
        self.attendance.agree(agreed)
        session.names = sorted(agreed)
        if self._terms.trust is Trust.SECURE_SUM:
            session.aggregator = self._exchange_keys(session, self._same_parties(agreed), rounds)
        return session

    def _same_parties(self, agreed: Mapping[str, Envelope]) -> dict[str, Envelope]:
        """Return the answers of the sites that were in the run's first session: sites share keys with no others."""
        remembered = self._sites.read(agreed, lambda _, reply: parties_of(reply, self._terms.threshold))
        names = set(remembered).intersection(*(parties for parties in remembered.values() if parties))
        for name in sorted(set(remembered) - names):
            self._sites.missing[name] = Missing(Absence.NOT_CONNECTED, "it was not in the first session of this run")
        return {name: agreed[name] for name in sorted(names)}

    def _exchange_keys(self, session: Session, agreed: Mapping[str, Envelope], rounds: int) -> Aggregator:
        adverts = self._sites.read(agreed, advert_of)
        self._check_enough("the keys", adverts)
        ordered = tuple(adverts[name] for name in sorted(adverts))
        request = pack("share", **session.next_turn(), adverts=[advert.to_dict() for advert in ordered])
        requests = dict.fromkeys(sorted(adverts), request)
        shared = self._sites.ask(requests, "shared", session.place, lambda name, reply: shares_of(name, reply, adverts))
        self._check_enough("the shares of keys", shared)
        return Aggregator(session_terms(self._terms, session.key, rounds), ordered, shared)

    def _named(self, query: Mapping[str, Any]) -> str:
        """Return the name of a release, with its number if it is made more than once, or with two numbers if several are made as one."""
        release, first, times = self._run.plan[query["release"]], query["number"] + 1, query["times"]
        return release.name + (f" {first}" if release.times > 1 else "") + (f" to {first + times - 1}" if times > 1 else "")
