"""Booking a run on an odometer: for a run of this process, and for a site that agrees to one."""

from dataclasses import dataclass

from feddp_kmeans.privacy.odometer import Entry, Limit, Odometer
from feddp_kmeans.privacy.plan import Plan


@dataclass(frozen=True)
class Books:
    """The odometer of some data, how much the runs on it may spend together, and the name of a run there."""

    odometer: Odometer
    limit: Limit | None = None
    what: str = "a run in Python"
    table: str = ""
    """Name of the table, if the data are one."""

    def check(self, *plans: Plan, secure: bool) -> None:
        """Refuse runs that would take the total beyond the limit. Nothing is written."""
        entry, *later = (Entry.of(plan, self.what, secure=secure, run="", table=self.table) for plan in plans)
        self.odometer.check_limit(entry, self.limit, later)

    def book(self, plan: Plan, run: str, *, secure: bool, state: str | None = None) -> None:
        """Write a run down before its first release; refuse one that would take the total beyond the limit.

        ``state`` is given for a run that can be stopped and go on; see ``Odometer.begin``.
        """
        entry = Entry.of(plan, self.what, secure=secure, run=run, table=self.table)
        if state is None:
            self.odometer.book(entry, limit=self.limit)
        else:
            self.odometer.begin(entry, state, limit=self.limit)
