"""What an operator may watch, as a text file for Prometheus (node_exporter's textfile collector), rewritten at a fixed pace.

Nothing in it depends on a single site, except that the number of connected ones counts it: no durations, no names, no cohort. The pace does
not follow the run, so that the times at which the file changes tell nothing either.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.federation.run import Run
from feddp_kmeans.network.flower.body import Handler
from feddp_kmeans.network.transport import Lost, Transport
from feddp_kmeans.privacy.odometer import Odometer, filter_for
from feddp_kmeans.privacy.totals import Limit
from feddp_kmeans.privacy.unit import PrivacyUnit

logger = logging.getLogger(__name__)

PACE = 15.0
"""Seconds between two versions of the file."""

_MODE = 0o640


@dataclass(frozen=True)
class Metric:
    """One number, or one for each value of a label."""

    name: str
    help: str
    values: float | Mapping[str, float]
    label: str = ""

    def lines(self) -> Iterable[str]:
        """Yield the lines of this metric in Prometheus's text format."""
        kind = "counter" if self.name.endswith("_total") else "gauge"
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {kind}"
        if isinstance(self.values, Mapping):
            yield from (f'{self.name}{{{self.label}="{word}"}} {_number(value)}' for word, value in self.values.items())
        else:
            yield f"{self.name} {_number(self.values)}"


def _number(value: float) -> str:
    return "+Inf" if value == math.inf else repr(float(value))


class State(StrEnum):
    """Where a server's run stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


class ServerFacts:
    """What a server knows of its run; filled as the run goes on."""

    def __init__(self) -> None:
        self.state = State.WAITING
        self.expected = 0
        self.connected = 0
        self.exchanges = 0
        self.releases: tuple[int, int] | None = None
        self.epsilons: tuple[float, float] | None = None

    def look(self, run: Run) -> None:
        """Take over how far a run has come. Called by whoever carries it out: another thread must not look into it."""
        ledger = run.ledger
        self.releases = sum(row["times"] for row in ledger.rows()), sum(release.times for release in ledger.plan.releases)
        self.epsilons = ledger.epsilon_so_far, ledger.plan.epsilon

    def metrics(self) -> Iterable[Metric]:
        """Yield what may be watched."""
        yield Metric("feddp_run_state", "State of the run: 1 for the one it is in.", {s: float(s is self.state) for s in State}, "state")
        yield Metric("feddp_sites_expected", "Sites that must be connected before the run starts.", self.expected)
        yield Metric("feddp_sites_connected", "Sites that are connected now.", self.connected)
        yield Metric("feddp_exchanges_total", "Rounds of messages with the sites since the start.", self.exchanges)
        if self.releases is not None and self.epsilons is not None:
            yield Metric("feddp_releases_made", "Releases made or under way, those of earlier sessions included.", self.releases[0])
            yield Metric("feddp_releases_planned", "Releases in the plan.", self.releases[1])
            yield Metric("feddp_epsilon_spent", "Epsilon of the releases made or under way.", self.epsilons[0])
            yield Metric("feddp_epsilon_planned", "Epsilon of the whole plan.", self.epsilons[1])


class WatchedTransport:
    """A transport that tells the facts how many nodes it sees, and how often it was used."""

    def __init__(self, inner: Transport, facts: ServerFacts) -> None:
        self._inner, self._facts = inner, facts

    def nodes(self) -> list[int]:
        """Return who is connected now."""
        found = self._inner.nodes()
        self._facts.connected = len(found)
        return found

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Pass an exchange on."""
        found = self._inner.exchange(requests, timeout, patient)
        self._facts.exchanges += 1
        self.nodes()
        return found


class SiteFacts:
    """What a site knows of itself: whether it is connected, how often it answered, and what its odometer says."""

    def __init__(self, handle: Handler, odometer: Path, unit: PrivacyUnit, limit: Limit) -> None:
        self._inner, self._odometer, self._unit, self._limit = handle, Odometer(odometer), unit, limit
        self._answered = 0
        self._connected = False

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Tell that the server has admitted this site, while the block runs."""
        self._connected = True
        try:
            yield
        finally:
            self._connected = False

    def handle(self, request: bytes) -> bytes:
        """Answer a request, and count it."""
        answer = self._inner(request)
        self._answered += 1
        return answer

    def metrics(self) -> Iterable[Metric]:
        """Yield what may be watched; what an unreadable odometer would say is left out."""
        yield Metric("feddp_connected", "1 while the server has admitted this site.", float(self._connected))
        yield Metric("feddp_requests_answered_total", "Requests of the server answered since the start.", self._answered)
        yield Metric("feddp_epsilon_limit", "Epsilon that all runs on these data may spend together.", self._limit.epsilon)
        try:
            entries = self._odometer.entries()
            spent = filter_for(self._unit, entries, self._limit.delta).epsilon if entries else 0.0
        except FedDPError:
            return
        yield Metric("feddp_runs_booked", "Runs on the odometer of these data.", len(entries))
        yield Metric("feddp_epsilon_spent", "Epsilon of all runs on the odometer together.", spent)


class MetricsFile(AbstractContextManager["MetricsFile"]):
    """Rewrites a file at a fixed pace while the block runs, and once at its end; without a path it does nothing."""

    def __init__(self, path: Path | None, metrics: Callable[[], Iterable[Metric]], pace: float = PACE) -> None:
        if path is not None and (path.suffix != ".prom" or not path.parent.is_dir()):
            raise InputError(f"--metrics must be a file NAME.prom in a folder that exists, got {str(path)!r}.")
        self._path, self._metrics, self._pace = path, metrics, pace
        self._ended, self._warned = threading.Event(), False
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        if self._path is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write the file once more; nobody's work ends because it cannot be written."""
        if self._path is not None:
            self._ended.set()
            self._thread.join()
            self._write(self._path)

    def _keep(self) -> None:
        assert self._path is not None
        while not self._ended.is_set():
            self._write(self._path)
            self._ended.wait(self._pace)

    def _write(self, path: Path) -> None:
        try:
            write_whole(path, text(self._metrics()).encode(), mode=_MODE, lasting=False)
        except OSError as error:
            if not self._warned:
                logger.warning("the metrics cannot be written: %s.", error.strerror)
            self._warned = True


def text(metrics: Iterable[Metric]) -> str:
    """Return the content of the file: these metrics, the version, and when it was written."""
    from feddp_kmeans import __version__

    about = Metric("feddp_build_info", "The version of feddp.", {__version__: 1.0}, "version")
    written = Metric("feddp_written_timestamp_seconds", "When this file was written.", time.time())
    return "\n".join(line for metric in (about, *metrics, written) for line in metric.lines()) + "\n"
