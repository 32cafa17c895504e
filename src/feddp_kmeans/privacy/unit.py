"""Whom the guarantee protects: one data point, or everything that one client holds."""

from enum import StrEnum

from feddp_kmeans.errors import FedDPError

RELATION = "add-remove"
"""Neighbouring data sets differ by one unit that is present in one of them and absent from the other.

A client that is absent stays a client, one that has no data: it adds zero to every statistic, and the number of clients is the same.
"""

PUBLIC_CLIENTS = "The number of clients is public; where groups are given, it is the number of distinct groups."
"""What every guarantee says beside its epsilon: plans and cohorts are made for that many clients."""


class PrivacyUnit(StrEnum):
    """The unit whose presence or absence the released numbers hide."""

    POINT = "point"
    CLIENT = "client"

    @property
    def hidden(self) -> str:
        """Return what the released numbers hide, in words."""
        return (
            "any one data point" if self is PrivacyUnit.POINT else "all the data of any one client, which stays as a client without data,"
        )

    @classmethod
    def parse(cls, value: str) -> "PrivacyUnit":
        """Return the unit of this name."""
        try:
            return cls(value)
        except ValueError:
            raise FedDPError(f"privacy_unit must be 'point' or 'client', got {value!r}.") from None
