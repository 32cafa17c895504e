"""What all parties of a session agree on before anything is sent, and why its threshold is safe."""

from dataclasses import dataclass

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields

SESSION_BYTES = 32
"""Length of a session's id."""


@dataclass(frozen=True)
class SessionTerms(fields.Plain):
    """One session: its id, its rounds, how many parties must answer, and how many of them may work for the server.

    A party reveals, for each other party and round, a share of its mask key or of its self-mask, once and never both. Of the n holders of
    a party's shares c may collude and give both kinds, so a server that asks different parties for different kinds gets at most
    n - c + 2c = n + c shares. To know both secrets it needs 2t of them. ``threshold`` t is therefore required to exceed (n + c) / 2: no
    honest party's mask key and self-mask are ever both known, and what it sent stays hidden or is counted, never both.

    Two attempts at one round with different honest survivors disagree on some honest party: one needs its self-mask, the other its mask
    key. So at most one of them can be unmasked.

    ``confirmed`` adds a message to each round: parties sign the list of survivors and reveal nothing before they have seen t signatures
    on exactly that list. Two lists with t signatures each would share 2t - n > c signers, an honest one too, who signs one per round.
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
        """Return the terms as bytes that are signed and hashed along with what is sent under them."""
        return fields.encode(self.session, self.rounds, self.threshold, self.colluders, int(self.confirmed), self.run)

    def check_parties(self, n: int) -> None:
        """Refuse a number of parties for which the threshold is too high to reach or too low to be safe."""
        if n < self.threshold:
            raise InputError(f"parties must be at least {self.threshold}, the threshold, got {n}.")
        if 2 * self.threshold <= n + self.colluders:
            raise InputError(f"threshold must exceed half of parties plus colluders, ({n} + {self.colluders}) / 2, got {self.threshold}.")
