"""Whom the guarantee protects: one data point, or everything that one client holds."""

from enum import StrEnum

from feddp_kmeans._errors import FedDPError

RELATION = "add-remove"
"""Neighbouring data sets differ by one unit that is present in one of them and absent from the other."""


class PrivacyUnit(StrEnum):
    """The unit whose presence or absence the released numbers hide."""

    POINT = "point"
    CLIENT = "client"

    @classmethod
    def parse(cls, value: str) -> "PrivacyUnit":
        """Return the unit of this name."""
        try:
            return cls(value)
        except ValueError:
            raise FedDPError(f"privacy_unit must be 'point' or 'client', got {value!r}.") from None
