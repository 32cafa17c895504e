"""Which roster a site accepts: the one that it joined, or one that the sites of that roster agreed on.

Whoever hands out the kit can put any keys into it. So a site keeps the roster that it joined first in its own state folder. A different one
is accepted in three cases: a person has compared its words; enough sites of the earlier roster have signed it; or it differs only in keys
and authorities that the earlier ones vouch for.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from feddp_kmeans._files import locked
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.network.deployment.keys import as_text, endorsed, parse_certificates, read_certificates
from feddp_kmeans.network.deployment.kit import Kit
from feddp_kmeans.network.deployment.plain_files import read_plain, write_plain
from feddp_kmeans.network.deployment.signatures import RosterSignature, read_signatures
from feddp_kmeans.network.fingerprint import same_words
from feddp_kmeans.network.roster import KnownSites, Roster
from feddp_kmeans.network.secure_sum.fields import Plain
from feddp_kmeans.network.terms import Policy, safe_threshold

logger = logging.getLogger(__name__)

JOINED = "joined-roster.json"
"""In a site's state folder. No run can have this name."""

_ADVICE = "Compare its words with the other sites over the phone, and give them with --roster"


@dataclass(frozen=True)
class JoinedRoster(Plain):
    """The roster that a site has joined."""

    roster: Roster
    authorities: tuple[str, ...]
    """The certificates of its authorities, to check which later ones they vouch for."""
    joined: int
    """When, in seconds since 1970."""
    signed: dict[str, int] = field(default_factory=dict)
    """When each site signed it. Of a later roster only later signatures count."""

    def counts(self, signature: RosterSignature) -> bool:
        """Return whether a signature is later than the same site's on this roster."""
        return signature.signed > self.signed.get(signature.name, self.joined)


def agreed_roster(kit: Kit, own: str, state: Path, policy: Policy, words: str | None = None) -> Roster:
    """Return the roster of the kit if this site may join it, and remember it; ``words`` are those that a person has compared.

    A key that was seen as revoked stays so: its site needs a new one.
    """
    roster = kit.roster()
    if words is not None and not same_words(words, roster.words):
        raise InputError(f"--roster must be the words of the kit's roster, {roster.words}, got {words!r:.200}: they are different rosters.")
    if roster.get(own) is None:
        raise InputError(f"this site, {own!r}, must be in the roster of its kit, got one without it.")
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(state):
        joined = _read(state / JOINED, repair=words is not None)
        roster = roster.without(None if joined is None else joined.roster)
        accepted = _accepted(kit, roster, own, policy, joined, compared=words is not None)
        if accepted != joined:
            write_plain(state / JOINED, accepted, mode=0o600)
    KnownSites(roster)[own]
    return roster


def _accepted(kit: Kit, roster: Roster, own: str, policy: Policy, joined: JoinedRoster | None, *, compared: bool) -> JoinedRoster:
    """Return the roster as joined, or refuse it."""
    if compared:
        logger.info("roster %s: its words were compared.", roster.words)
    if joined is not None and joined.roster.digest == roster.digest:
        return JoinedRoster(roster, joined.authorities, joined.joined, joined.signed)
    if not compared and joined is not None and _vouched_for(kit, roster, joined):
        logger.info("roster %s: keys were renewed, and the earlier ones vouch for them.", roster.words)
        return JoinedRoster(roster, _certificates(kit), joined.joined, joined.signed)
    signatures: list[RosterSignature] = []
    if not compared and joined is None:
        signatures = _check_first(roster, own, policy, read_signatures(kit))
    elif not compared and joined is not None:
        signatures = _check_later(roster, joined, policy, read_signatures(kit))
    return JoinedRoster(roster, _certificates(kit), int(time.time()), {one.name: one.signed for one in signatures})


def _check_first(roster: Roster, own: str, policy: Policy, signatures: Sequence[RosterSignature]) -> list[RosterSignature]:
    """Return the signatures on a first roster: none, with a warning, or enough of them and among them this site's own.

    Signatures of others prove nothing here, since their keys come with the kit. One's own says that somebody here has compared the words.
    """
    valid = [one for one in signatures if one.holds(roster, roster.sites)]
    if not signatures:
        logger.warning("roster %s: nobody has signed it. %s.", roster.words, _ADVICE)
        return []
    needed = needed_signatures(roster, policy)
    names = [one.name for one in valid]
    if own not in names or len(names) < needed:
        raise InputError(
            f"the roster {roster.words} must be signed by {needed} of its {len(roster.sites)} sites, this one among them, got "
            f"{_listed(names)}; missing: {_listed(_others(roster, names))}. {_ADVICE}, or wait for the signatures."
        )
    logger.info("roster %s: signed by %s.", roster.words, _listed(names))
    return valid


def _check_later(roster: Roster, joined: JoinedRoster, policy: Policy, signatures: Sequence[RosterSignature]) -> list[RosterSignature]:
    """Return the signatures on a roster by sites of the one that was joined; refuse too few."""
    before = joined.roster.without(roster)
    renewed = [site for site in roster.sites if (earlier := before.get(site.name)) is not None and site.renews(earlier)]
    keys = [*before.sites, *renewed]
    valid = [one for one in signatures if joined.counts(one) and one.holds(roster, keys)]
    names, needed = [one.name for one in valid], needed_signatures(before, policy)
    if len(names) < needed:
        raise InputError(
            f"the roster must be the one that this site joined, {before.words}, or be signed later by {needed} of its {len(before.sites)} "
            f"sites, got {roster.words}, signed by {_listed(names)}; missing: {_listed(_others(before, names))}. {_ADVICE}."
        )
    logger.info("roster %s replaces %s: signed by %s.", roster.words, before.words, _listed(names))
    return valid


def needed_signatures(roster: Roster, policy: Policy) -> int:
    """Return how many sites have to sign: any two groups of so many have an honest site in common, as in a secure sum.

    So no two different rosters can both replace this one, if every honest site signs one of them.
    """
    return safe_threshold(len(roster.sites), policy.least_colluders(len(roster.sites)))


def _vouched_for(kit: Kit, roster: Roster, joined: JoinedRoster) -> bool:
    """Return whether a roster differs from the earlier one only in what that one's keys and authorities vouch for."""
    before = joined.roster
    if (roster.host, roster.port) != (before.host, before.port):
        return False
    if [site.name for site in roster.sites] != [site.name for site in before.sites]:
        return False
    if not all(site.content == old.content or site.renews(old) for site, old in zip(roster.sites, before.sites, strict=True)):
        return False
    known = {*joined.authorities}
    vouching = read_certificates(kit.endorsements) if kit.endorsements.exists() else []
    earlier = [certificate for text in joined.authorities for certificate in parse_certificates(text.encode(), JOINED)]
    new = [one for one in kit.authorities() if as_text(one) not in known]
    return all(any(endorsed(one, old, vouching) for old in earlier) for one in new)


def _certificates(kit: Kit) -> tuple[str, ...]:
    return tuple(as_text(certificate) for certificate in kit.authorities())


def _read(path: Path, *, repair: bool) -> JoinedRoster | None:
    """Return the roster that was joined, if any; one that cannot be read is an error, or none if it is about to be repaired."""
    if not path.exists():
        return None
    try:
        return read_plain(path, JoinedRoster, "hold the roster that this site joined")
    except FedDPError as error:
        if repair:
            return None
        raise InputError(f"{error} {_ADVICE}.") from None


def _others(roster: Roster, names: Sequence[str]) -> list[str]:
    return [site.name for site in roster.sites if site.name not in names]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nobody"
