"""The terms that all parties of a session agree on before anything is sent."""

from dataclasses import dataclass

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields

SESSION_BYTES = 32
"""Length of a session's id."""


@dataclass(frozen=True)
class SessionTerms(fields.Plain):
    """One session: its id, its number of rounds, how many parties must answer, and how many of them may collude with the server.

    For n parties and c ``colluders`` the ``threshold`` t must exceed (n + c) / 2. Then a server never learns both secrets of an honest
    party, and opens a round for only one list of survivors. If ``confirmed``, parties sign this list, and reveal nothing before they
    have seen t signatures on it. The proofs are in docs/secure_sum.md.
    """

    session: bytes
    rounds: int
    threshold: int
    colluders: int = 0
    confirmed: bool = False
    run: str = ""
    """Digest of the run's terms: parties that agreed to different plans cannot read each other's shares."""

    def __post_init__(self) -> None:
        fields.sized(self.session, "the session's id", SESSION_BYTES)
        fields.integer(self.rounds, "rounds", 1, fields.MAX_ROUNDS)
        fields.integer(self.threshold, "threshold", 1, 1 << 31)
        fields.integer(self.colluders, "colluders", 0, self.threshold - 1)

    @property
    def content(self) -> bytes:
        """Return the terms as bytes, which are signed and hashed together with the messages."""
        return fields.encode(self.session, self.rounds, self.threshold, self.colluders, int(self.confirmed), self.run)

    def check_parties(self, n: int) -> None:
        """Refuse a number of parties for which the threshold is too high to reach or too low to be safe."""
        if n < self.threshold:
            raise InputError(f"parties must be at least {self.threshold}, the threshold, got {n}.")
        if 2 * self.threshold <= n + self.colluders:
            raise InputError(f"threshold must exceed half of parties plus colluders, ({n} + {self.colluders}) / 2, got {self.threshold}.")
