"""What stands between a site and its server, named: each step of a connection is made by itself, and the first that fails is told."""

import email.utils
import http.client
import socket
import ssl
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.flower.fleet import AHEAD, BEHIND, Refusal, refusal_of

_ANSWER = 10.0
_OTHER_NAME, _OTHER_NUMBER, _EXPIRED, _TOO_EARLY = 62, 64, 10, 9
"""OpenSSL's numbers for a certificate of another host, by name and by number, one that has expired, and one that is not valid yet."""


class NotReachedError(InputError):
    """A server that cannot be reached, or does not admit this site, for now. Its text ends without a full stop."""


@dataclass(frozen=True)
class Reached:
    """A server that answers."""

    ahead: float
    """Seconds that this machine's clock is ahead of the server's."""

    def refusal(self, error: httpx.HTTPStatusError, name: str) -> NotReachedError:
        """Return why the server does not admit the site of this name, as far as it says."""
        known = refusal_of(error.response)
        if known is Refusal.UNKNOWN:
            return NotReachedError(f"the server does not know this site's key: its operator has to put {name}.pub into public/sites/")
        if known is Refusal.IN_USE:
            return NotReachedError(
                "another process takes part with this site's key, or the last one was killed and the server has not noticed it yet (this "
                "takes a minute)"
            )
        if known is Refusal.VERSION:
            return NotReachedError("the server has another version of flwr: both sides must have the same")
        if (off := self.clock()) is not None:
            return off
        return NotReachedError(f"the server refuses this site (status {error.response.status_code})")

    def clock(self) -> NotReachedError | None:
        """Return what to say of a clock that is too far off for the server, or None."""
        if -BEHIND < self.ahead < AHEAD:
            return None
        off = f"{abs(self.ahead):.0f} s {'ahead of' if self.ahead > 0 else 'behind'} the server's"
        return NotReachedError(f"this machine's clock is {off}: at most {AHEAD} s ahead and {BEHIND} s behind are taken")


def reach(host: str, port: int, authority: Path | None) -> Reached:
    """Return how a server answers. Raise ``NotReachedError`` for what may pass, ``InputError`` for another federation's server.

    With an authority the server must have a certificate of this authority, over TLS.
    """
    where = f"{host}:{port}"
    with _connected(host, port, where) as plain, _over_tls(plain, host, where, authority) as channel:
        return _greeted(channel, host, where)


def _connected(host: str, port: int, where: str) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=_ANSWER)
    except (socket.gaierror, UnicodeError):
        raise NotReachedError(f"the name {host} cannot be resolved: is it right, and is there a network") from None
    except ConnectionRefusedError:
        raise NotReachedError(f"nothing listens at {where}: is the server running") from None
    except TimeoutError:
        raise NotReachedError(f"no answer from {where} within {_ANSWER:g} s: does a firewall stand between") from None
    except OSError as error:
        raise NotReachedError(f"no way to {where}: {error.strerror or type(error).__name__}") from None


def _over_tls(plain: socket.socket, host: str, where: str, authority: Path | None) -> socket.socket:
    if authority is None:
        return plain
    context = ssl.create_default_context(cafile=authority)
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in (_OTHER_NAME, _OTHER_NUMBER):
            raise InputError(f"the certificate of the server at {where} must be for {host!r}, got one for other names.") from None
        if error.verify_code in (_EXPIRED, _TOO_EARLY):
            state = "has expired" if error.verify_code == _EXPIRED else "is not valid yet"
            here = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
            raise NotReachedError(f"the certificate of the server at {where} {state}, if this clock is right: here it is {here}") from None
        raise InputError(f"the server at {where} must have a certificate of this federation: {error.verify_message}.") from None
    except (ssl.SSLError, ConnectionError):
        raise NotReachedError(f"what answers at {where} does not speak TLS: is it a feddp server") from None
    except TimeoutError:
        raise NotReachedError(f"the server at {where} takes connections, but does not answer") from None


def _greeted(channel: socket.socket, host: str, where: str) -> Reached:
    """Return what the server's health page shows: that it is there, and its clock."""
    try:
        channel.sendall(f"GET /health HTTP/1.1\r\nHost: {host.encode('idna').decode()}\r\nConnection: close\r\n\r\n".encode())
        with closing(http.client.HTTPResponse(channel)) as answer:
            answer.begin()
    except TimeoutError:
        raise NotReachedError(f"the server at {where} takes connections, but does not answer") from None
    except (OSError, http.client.HTTPException):
        raise NotReachedError(f"what answers at {where} is no feddp server, or one with TLS where none is expected") from None
    if answer.status != http.client.OK:
        raise NotReachedError(f"what answers at {where} is no feddp server (status {answer.status})")
    told = email.utils.parsedate_tz(answer.getheader("date", ""))
    return Reached(0.0 if told is None else time.time() - email.utils.mktime_tz(told))
