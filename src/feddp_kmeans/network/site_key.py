"""A site's public key and the time for which it is valid, as the one line of its .pub file states them.

The line is OpenSSH's, and its comment is a statement that the key itself signed. After a renewal the site's earlier key has signed it
too, so that whoever knows that key can take over the new one. A line with any other comment is a key without an end.
"""

import base64
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.fingerprint import in_words
from feddp_kmeans.network.secure_sum.fields import Plain, integer, statement
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, key_text, parse_public, public_line, sign, verify

_MARK = "feddp-key"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_STATED = re.compile(rf"{_MARK} (\S+) from (\S+) until (\S+) signed (\S+)(?: renewed (\S+))?")
_HOUR, _DAY = 3600, 86_400
_LAST = 253_402_300_799
"""The last second of the year 9999."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class SiteKey(Plain):
    """One site's entry in the roster. Times are seconds since 1970; None: the key has no statement."""

    name: str
    line: str
    """The key as an OpenSSH line without a comment."""
    since: int | None = None
    until: int | None = None
    renewal: bytes = b""
    """The signature of the site's earlier key on this statement."""
    revoked: bool = False

    def __post_init__(self) -> None:
        for at in (self.since, self.until):
            if at is not None:
                integer(at, "a time in the validity of a key", 0, _LAST)

    @property
    def key(self) -> PublicIdentity:
        """Return the public key."""
        return parse_public(self.line)

    @property
    def words(self) -> str:
        """Return the key's fingerprint."""
        return in_words(self.line.encode())

    @property
    def content(self) -> bytes:
        """Return what is signed, and what a roster says of this site."""
        return statement("site key", self.name, self.line, str(self.since), str(self.until))

    def problem(self, now: float | None = None) -> str | None:
        """Return why the key must not be used at this time, by default now; None if it may be used."""
        now = time.time() if now is None else now
        if self.revoked:
            return "it was revoked"
        if self.since is not None and now < self.since:
            return f"it is not valid before {when(self.since)}; is the clock of this machine right?"
        if self.until is not None and now > self.until:
            return f"it expired at {when(self.until)}"
        return None

    def usable(self) -> PublicIdentity:
        """Return the public key if it may be used now."""
        if (problem := self.problem()) is not None:
            raise InputError(f"the key of {self.name!r} must be valid, but {problem}.")
        return self.key

    def renews(self, earlier: "SiteKey") -> bool:
        """Return whether the site's earlier key, which must still be valid, vouches for this one."""
        return self.name == earlier.name and earlier.problem() is None and verify(earlier.key, self.renewal, self.content)


def check_site_name(name: str) -> None:
    """Refuse a name that is no safe file name on every system."""
    if not _NAME.fullmatch(name):
        raise InputError(f"a site's name must be lower-case letters, digits, dots, dashes and underscores, got {name!r}.")


def stated_line(name: str, identity: Identity, days: int, earlier: Identity | None = None) -> str:
    """Return the line of a .pub file: a key that is valid from an hour ago, since clocks differ, for this many days."""
    now = int(time.time())
    made = SiteKey(name, public_line(identity.public_key()), now - _HOUR, now + days * _DAY)
    signed = f"signed {_base64(sign(identity, made.content))}"
    renewed = "" if earlier is None else f" renewed {_base64(sign(earlier, made.content))}"
    return f"{made.line} {_MARK} {name} from {when(made.since)} until {when(made.until)} {signed}{renewed}"


def read_site_key(path: Path, *, revoked: bool = False) -> SiteKey:
    """Return the key in a .pub file, whose name is the site's; refuse a statement that the key did not sign."""
    check_site_name(path.stem)
    text = key_text(path).strip()
    plain = SiteKey(path.stem, public_line(parse_public(text, path.name)), revoked=revoked)
    comment = "".join(text.split(maxsplit=2)[2:])
    if not comment or not _MARK.startswith(comment[: len(_MARK)]):
        return plain
    rule = f"{path.name} must state the name and the validity of its key, signed with it"
    if not (stated := _STATED.fullmatch(comment)):
        raise InputError(f"{rule}, got another statement or a part of one.")
    name, since, until, signature, renewal = stated.groups()
    if name != path.stem:
        raise InputError(f"{path.name} must be the file of the site that it names, got the key of {name!r:.80}.")
    try:
        made = SiteKey(name, plain.line, _seconds(since), _seconds(until), _bytes(renewal or ""), revoked)
        signed = verify(made.key, _bytes(signature), made.content)
    except ValueError:
        signed = False
    if not signed:
        raise InputError(f"{rule}, got a signature or times that are not its own.")
    return made


def when(seconds: int | None) -> str:
    """Return a time as text, in UTC."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime(_TIME)


def _seconds(text: str) -> int:
    return int(datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
