"""The odometer: what all runs on the same data have spent together. Written before a run's first release, so it never counts too little.

A run that can be stopped and go on has a state, such as its record of releases; marks next to the odometer say which state is the latest,
so that a run never goes on from a copy, a backup or nothing.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from feddp_kmeans._files import locked, write_whole
from feddp_kmeans._json import parse_json
from feddp_kmeans.errors import BudgetError, InputError
from feddp_kmeans.privacy.entry import Entry, new_run
from feddp_kmeans.privacy.marks import Mark, Marks
from feddp_kmeans.privacy.totals import LIMIT_DELTA, Limit, Total, apart, by_table, filter_for, total_for, totals

__all__ = ["LIMIT_DELTA", "Entry", "Limit", "Odometer", "Total", "apart", "by_table", "filter_for", "new_run", "total_for", "totals"]


class Odometer:
    """The runs on one data set: one line of JSON per run, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Entry]:
        """Return all runs booked so far. A damaged line is an error: skipping it would count too little."""
        return [self._entry(number, line) for number, line in enumerate(self._content().split(b"\n"), 1) if line.strip()]

    def book(self, entry: Entry, *, limit: Limit | None = None) -> None:
        """Write a run down, on disk before this returns. Refuse one that would take the total beyond ``limit``.

        Others who book at the same time wait: no run is lost, and two runs cannot both take the last of a budget.
        """
        with self._alone():
            self.check_limit(entry, limit)
            self._append(entry)

    def begin(self, entry: Entry, state: str, *, limit: Limit | None = None) -> None:
        """Book a run that can be stopped and go on, or let the one that is booked go on from this state: it must be the latest.

        ``state`` is a digest of what the run remembers; empty before its first step. A run that has taken steps and is not booked here
        is refused, and so is one with another plan.
        """
        with self._alone():
            booked, marks = self._booked(entry.run), self._marks()
            mark = marks.of(entry.run)
            if booked is None and not state and mark in {None, Mark()}:
                self.check_limit(entry, limit)
                marks.set(entry.run, Mark())
                self._append(entry)
            elif booked is None or not booked.same_plan(entry):
                raise BudgetError(
                    f"a run that goes on must be booked, with this very plan, on the odometer of its data, {self.path.name}; it is not. "
                    "Start a new run: it is booked in full."
                )
            else:
                _check_state(entry.run, state, mark)
                if mark != Mark(state, state):  # killed within a step: settle which of the two states goes on
                    marks.set(entry.run, Mark(state, state))

    def check(self, run: str, state: str) -> None:
        """Refuse a run that is not booked here, or whose latest state is another."""
        with self._alone():
            self._check_booked(run, state)

    @contextmanager
    def step(self, run: str, before: str, after: str) -> Iterator[None]:
        """Let a run go from one state to the next, which the block writes to disk. The answer may be shown only afterwards.

        Killed anywhere, the run goes on from one of the two states. If a run was copied, only one of the copies can take the step.
        """
        with self._alone():
            self._check_booked(run, before).set(run, Mark(before, after))
        yield
        with self._alone():
            marks = self._marks()
            if marks.of(run) != Mark(before, after):
                raise _not_latest(run)
            marks.set(run, Mark(after, after))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others away from the odometer and its marks. A symlink is followed, so that all its names share one lock."""
        try:
            folder = self.path.resolve().parent
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder):
                yield
        except OSError as error:
            raise InputError(f"the odometer must be writable before anything is released, got {error}; --odometer names another.") from None

    def _marks(self) -> Marks:
        path = self.path.resolve()
        return Marks(path.with_name(f".{path.stem.removeprefix('.')}.marks.json"))

    def _booked(self, run: str) -> Entry | None:
        """Return the entry of a run. Only lines that name it are parsed: steps must not slow down with the number of runs."""
        sought = json.dumps(run).encode()
        lines = enumerate(self._content().split(b"\n"), 1) if run else ()
        return next((entry for number, line in lines if sought in line and (entry := self._entry(number, line)).run == run), None)

    def _entry(self, number: int, line: bytes) -> Entry:
        try:
            return Entry.from_dict(parse_json(line))
        except ValueError as error:
            raise InputError(f"line {number} of {self.path.name} must be a run of the odometer: {error}") from None

    def _check_booked(self, run: str, state: str) -> Marks:
        marks = self._marks()
        if self._booked(run) is None:
            raise _not_latest(run)
        _check_state(run, state, marks.of(run))
        return marks

    def _append(self, entry: Entry) -> None:
        if self.path.exists() and self.path.stat().st_nlink > 1:
            raise InputError(
                f"{self.path.name} must be a file of one name; under its other names, which are hard links, runs would be missed."
            )
        before, line = self._content(), json.dumps(entry.to_dict()).encode() + b"\n"
        between = b"" if before.endswith(b"\n") or not before else b"\n"
        mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644
        write_whole(self.path.resolve(), before + between + line, mode=mode)

    def check_limit(self, entry: Entry, limit: Limit | None, later: Sequence[Entry] = ()) -> None:
        """Refuse a run that is booked already, or is beyond the limit, alone or with ``later`` ones that are meant to follow it.

        The limit is a filter: budgets may depend on earlier results. The first run follows none, so its own tight accounting may accept
        it too.
        """
        before = self.entries()
        if entry.run and any(entry.run == other.run for other in before):
            raise BudgetError(f"a run must be booked once, got run {entry.run!r:.80} again.")
        if limit is None:
            return
        total = filter_for(entry.plan.unit, [*before, entry, *later], limit.delta)
        if not (before or later or total.within(limit)):
            total = total_for(entry.plan.unit, [entry], limit.delta)
        if not total.within(limit):
            raise BudgetError(f"the budget of this data set must stay within epsilon {limit.epsilon:g}; with this run it is {total}.")

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise InputError(f"the odometer must be a file that can be read, got {error}.") from None


def _check_state(run: str, state: str, mark: Mark | None) -> None:
    if mark is None or state not in {mark.done, mark.begun}:
        raise _not_latest(run)


def _not_latest(run: str) -> BudgetError:
    return BudgetError(
        f"run {run:.8} must go on from its latest state, booked on this odometer; what is left of it was copied, set back or emptied. "
        "Start a new run: it is booked in full."
    )
