"""A site's receipts: one readable file per run that says what it agreed to, what it answered and what that cost, signed with its key.

A receipt is on disk before the answer leaves the site, so it never counts too little. It holds digests of public arguments, and neither a
value of the site's data nor a digest of one.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_pem_x509_certificate

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import check_format, field_of, read_object
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.run_state import AskedSum, RunState
from feddp_kmeans.network.secure_sum.identity import Identity, PublicIdentity, public_line, sign, verify
from feddp_kmeans.network.terms import Terms, Trust

FORMAT = 1
"""Of a receipt."""
FOLDER = "receipts"
"""In the folder of a site's state."""

_RULE = "be the receipt of a run, as a site wrote it"
_SAMPLED = "not listed: which sites were asked for a release is the secret that the guarantee of a sampled run rests on"


class Receipts:
    """The receipts of one site, in a folder of its state. ``fingerprints`` looks up those of the server and of the roster, where known."""

    def __init__(self, state: Path, site: str, identity: Identity | None, fingerprints: Callable[[], Mapping[str, str]]) -> None:
        self._folder = state / FOLDER
        self._site = site
        self._identity = identity
        self._fingerprints = fingerprints
        self._known: Mapping[str, str] | None = None

    def look(self) -> None:
        """Look the fingerprints up: keys may be renewed and revoked between two sessions of a site."""
        self._known = self._fingerprints()

    def write(self, terms: Terms, state: RunState) -> None:
        """Write the receipt of a run from its state, on disk before this returns."""
        if self._known is None:
            self.look()
        known = self._known or {}
        told = _receipt(self._site, terms, state) | {name: known.get(name) for name in ("server", "roster")}
        signature = None
        if self._identity is not None:
            signature = {"key": public_line(self._identity.public_key()), "value": sign(self._identity, _signed(told)).hex()}
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = json.dumps(told | {"signature": signature}, indent=2) + "\n"
        write_whole(self._folder / f"{terms.run}.json", content.encode(), mode=0o600)


def _receipt(site: str, terms: Terms, state: RunState) -> dict[str, Any]:
    from feddp_kmeans import __version__

    plan, sampled = terms.plan, terms.plan.sampling_rate < 1
    epsilon = plan.epsilon if math.isfinite(plan.epsilon) else "inf"
    return {
        "format": FORMAT,
        "site": site,
        "run": terms.run,
        "agreed": state.agreed,
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "version": __version__,
        "spent": {"epsilon": epsilon, "delta": plan.delta, "privacy_unit": plan.unit.value, "secret_noise": terms.secure},
        "answered": _SAMPLED if sampled else [_row(asked, terms, state) for asked in state.sums],
        "sessions": len(state.sessions),
        "parties": list(state.parties),
        "terms": terms.to_dict(),
        "terms_digest": terms.digest,
    }


def _row(asked: AskedSum, terms: Terms, state: RunState) -> dict[str, Any]:
    """Return one answer. A masked sum says nothing until enough sites help to open it; this site helps once, or not at all."""
    masked = "masked, opened" if asked.label in state.opened else "masked, not opened by this site"
    answer = masked if terms.trust is Trust.SECURE_SUM else "sent to the server, which adds the noise"
    stated = {"release": asked.release, "number": asked.number, "times": asked.times, "statistic": asked.statistic}
    return stated | {"query": asked.digest, "answer": answer}


def read_receipt(path: Path) -> dict[str, Any]:
    """Return the receipt in a file; refuse anything else."""
    told = read_object(path, _RULE)
    check_format(told, FORMAT, path.name)
    for name, kind in {"site": str, "run": str, "spent": dict, "terms": dict, "sessions": int}.items():
        field_of(told, name, kind, path.name)
    answered = told.get("answered")
    rows = answered if isinstance(answered, list) else []
    needed = {"release": str, "number": int, "times": int, "statistic": str, "query": str, "answer": str}
    if not (isinstance(answered, str | list)) or "signature" not in told:
        raise InputError(f"{path.name} must {_RULE}, got one without answers or without a place for its signature.")
    for row in rows:
        for name, kind in needed.items():
            field_of(row, name, kind, path.name)
    return told


def check_signature(receipt: Mapping[str, Any], public: PublicIdentity) -> None:
    """Refuse a receipt that is not signed, as it is, with the key of this public half."""
    signature = receipt.get("signature")
    if signature is None:
        raise InputError(f"the receipt of {receipt['site']!r:.80} must be signed, got one of a site without a key.")
    value = field_of(signature, "value", str, "the signature of a receipt")
    content = {name: value for name, value in receipt.items() if name != "signature"}
    try:
        valid = verify(public, bytes.fromhex(value), _signed(content))
    except ValueError:
        valid = False
    if not valid:
        site = f"{receipt['site']!r:.80}"
        raise InputError(f"the receipt of {site} must be signed with this key, got another key or a receipt that was changed.")


def receipt_lines(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Yield a receipt as lines that people read."""
    spent, terms = receipt["spent"], receipt["terms"]
    yield f"Receipt of site {receipt['site']} for run {receipt['run']}, agreed to {receipt.get('agreed') or 'at an unknown time'}"
    yield f"  spent: epsilon {spent.get('epsilon')}, delta {spent.get('delta')}, protects each {spent.get('privacy_unit')}"
    sums = ", ".join(f"{name} {terms.get(name)}" for name in ("trust", "threshold", "colluders", "confirmed"))
    yield f"  terms: {sums}; sessions: {receipt['sessions']}"
    for name in ("server", "roster"):
        yield f"  {name}: {receipt.get(name) or 'no fingerprint, a trial without keys'}"
    answered = receipt["answered"]
    if isinstance(answered, str):
        yield f"  answers: {answered}"
        return
    yield f"  answers: {len(answered)}, which are {sum(row['times'] for row in answered)} releases of the plan"
    for row in answered:
        several = f" to {row['number'] + row['times']}" if row["times"] > 1 else ""
        yield f"    {row['release']} {row['number'] + 1}{several}: {row['statistic']}, arguments {row['query'][:16]}..., {row['answer']}"


def authority_fingerprint(certificate: Path) -> str:
    """Return the SHA-256 fingerprint of a certificate file, as openssl shows it without colons."""
    try:
        return load_pem_x509_certificate(certificate.read_bytes()).fingerprint(SHA256()).hex()
    except (OSError, ValueError):
        raise InputError(f"{certificate.name} must be the certificate of the federation's authority, got something else.") from None


def _signed(content: Mapping[str, Any]) -> bytes:
    return b"feddp-kmeans receipt\0" + json.dumps(content, sort_keys=True).encode()
