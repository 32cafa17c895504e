"""The server's log of a run: one line per release, and one whenever a site goes missing or is back. Sampled sites are never named."""

import logging
from collections.abc import Iterable

from feddp_kmeans._logs import about
from feddp_kmeans.network.attendance import AttendanceRow
from feddp_kmeans.network.sites import Missing
from feddp_kmeans.privacy.ledger import Ledger

logger = logging.getLogger(__name__)


def log_news(news: Iterable[tuple[str, Missing | None]], run: str, label: str) -> None:
    """Log who is missing and why, and (None) who is back."""
    for name, missing in news:
        if missing is None:
            logger.info("%s: %s is back", label, name, extra=about("back", run=run, release=label, site=name))
        else:
            facts = about("missing", run=run, release=label, site=name, reason=missing.why.value)
            logger.warning("%s: %s is missing: %s", label, name, missing.words, extra=facts)


def log_release(run: str, label: str, row: AttendanceRow, ledger: Ledger) -> None:
    """Log that a release was made: how many sites are in it, and what the run has spent so far."""
    made, planned = sum(booked["times"] for booked in ledger.rows()), sum(release.times for release in ledger.plan.releases)
    sites = None if row.sites is None else len(row.sites)
    who = "sampled" if sites is None else f"{sites} of {sites + len(row.missing)} sites"
    without = f", without {', '.join(row.missing)}" if row.missing else ""
    facts = about("release", run=run, release=label, sites=sites, missing=row.missing or None, made=made, planned=planned)
    spent = ledger.epsilon_so_far, ledger.plan.epsilon
    logger.info("%s: %s%s; %d of %d releases made: epsilon %.3g of %g", label, who, without, made, planned, *spent, extra=facts)
