"""What all parties of a session agree on before anything is sent, and what it guarantees."""

from dataclasses import dataclass
from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.secure_sum import fields
from feddp_kmeans.network.secure_sum.graph import Graph, degree, graph_of

SESSION_BYTES = 32
"""Length of a session's id."""


@dataclass(frozen=True)
class SessionTerms:
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
        fields.raw(self.session, "the session's id", SESSION_BYTES)
        fields.integer(self.rounds, "rounds", 1, fields.MAX_ROUNDS)
        fields.integer(self.threshold, "threshold", 1, 1 << 31)
        fields.integer(self.colluders, "colluders", 0, 1 << 31)
        fields.boolean(self.confirmed, "confirmed")
        fields.text(self.run, "run")
        if self.colluders >= self.threshold:
            raise InputError(f"threshold must exceed the {self.colluders} colluders, got {self.threshold}.")

    @property
    def content(self) -> bytes:
        """Return the terms as bytes that are signed and hashed along with what is sent under them."""
        return fields.encode(self.session, self.rounds, self.threshold, self.colluders, int(self.confirmed), self.run)

    def check_parties(self, n: int) -> None:
        """Refuse a number of parties for which the threshold is too high to reach or too low to be safe."""
        if n < self.threshold:
            raise InputError(f"parties must be at least the threshold {self.threshold}, got {n}.")
        if 2 * self.threshold <= n + self.colluders:
            raise InputError(
                f"threshold must exceed half of parties plus colluders, ({n} + {self.colluders}) / 2, got {self.threshold}.",
            )

    def graph(self, names: tuple[str, ...]) -> Graph:
        """Return who masks and shares with whom. Where lists are confirmed against a lying server, everybody does with everybody."""
        return graph_of(names, self.session, self.threshold, self.colluders, sparse=not self.confirmed)

    def honest_floor(self, n: int) -> int:
        """Return how many honest parties any sum holds that a server which lies to each party differently can learn.

        Confirmed: t - c, since there is one list of at least t survivors. Otherwise, on a complete graph: let u be an honest party in
        such a sum C. Its pairwise masks with the at least t - c honest parties that it masked with vanish only inside C or for those whose
        mask key was rebuilt, each of them from t - c honest answers that call it dropped. An honest party calls at most n - t dropped, so
        at most (n - c)(n - t) / (t - c) keys are rebuilt, and C holds the rest. On a sparse graph a server that lies can cut off one party.
        A server that tells everybody the same never learns a sum of fewer than t - c.
        """
        self.check_parties(n)
        honest = self.threshold - self.colluders
        if self.confirmed:
            return honest
        if degree(n, self.threshold, self.colluders) < n - 1:
            return 1
        rebuilt = (n - self.colluders) * (n - self.threshold) // honest
        return max(1, honest - rebuilt)

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as plain data."""
        return {
            "session": self.session.hex(),
            "rounds": self.rounds,
            "threshold": self.threshold,
            "colluders": self.colluders,
            "confirmed": self.confirmed,
            "run": self.run,
        }

    @classmethod
    def from_dict(cls, given: Any) -> "SessionTerms":
        """Return the terms that this plain data states; refuse anything else."""
        row = fields.fields(given, "terms", ("session", "rounds", "threshold", "colluders", "confirmed", "run"))
        session = fields.from_hex(row["session"], "the session's id", SESSION_BYTES)
        return cls(session, row["rounds"], row["threshold"], row["colluders"], row["confirmed"], row["run"])
