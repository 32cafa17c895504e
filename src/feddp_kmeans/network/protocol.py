"""What client and server have in common: names of fields, what is signed, and the terms of a session."""

import hashlib
from collections.abc import Mapping
from typing import Any

from feddp_kmeans.network.secure_sum.session_terms import SessionTerms
from feddp_kmeans.network.terms import Terms
from feddp_kmeans.network.wire import Envelope, pack

PUBLIC = "public."
"""Prefix of the fields that hold a query's public arguments."""


def session_terms(terms: Terms, session: bytes, rounds: int) -> SessionTerms:
    """Return the terms of a session. They hold the digest of the run's terms, so they are valid for this run only."""
    return SessionTerms(session, rounds, terms.threshold, terms.colluders, terms.confirmed, terms.digest)


def label_of(query: Mapping[str, Any]) -> str:
    """Return the label of the requested release, unique in its run. If several are made as one, it is the label of the first."""
    return f"{query['release']} {query['number']}"


def query_bytes(fields: Mapping[str, Any]) -> bytes:
    """Return a digest of the query, bit by bit: masks cancel only among sites that were asked the same."""
    about = ("release", "number", "times", "statistic")
    asked = {name: fields[name] for name in sorted(fields) if name in about or name.startswith(PUBLIC)}
    return hashlib.sha256(pack("query", **asked)).digest()


def place_of(message: Envelope) -> dict[str, Any]:
    """Return the session and turn of a message. An answer repeats those of its request, so an old answer is not taken for a new one."""
    return {name: message.fields.get(name) for name in ("session", "turn")}


def presence(nonce: bytes, name: str) -> bytes:
    """Return what a client signs to prove its name."""
    return b"feddp-kmeans presence\0" + len(nonce).to_bytes(2, "big") + nonce + name.encode()
