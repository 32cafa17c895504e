"""Whom the guarantee protects: one data point, or everything that one client holds."""

from enum import StrEnum
from numbers import Real

from feddp_kmeans.errors import InputError

RELATION = "add-remove"
"""Neighbouring data sets differ by one unit that is present in one of them and absent from the other.

An absent client stays a client without data: it adds zero to every statistic, and the number of clients does not change.
"""

PUBLIC_CLIENTS = "The number of clients is public; where groups are given, it is the number of distinct groups."
"""Stated with every guarantee: plans and cohorts are made for this number of clients."""


def check_sampling(unit: "PrivacyUnit", rate: float) -> None:
    """Refuse a rate that is no probability, and one below 1 if points are protected: sampling clients does not hide a point."""
    if not (isinstance(rate, Real) and not isinstance(rate, bool) and 0 < rate <= 1):
        raise InputError(f"sampling_rate must be above 0 and at most 1, got {rate!r}.")
    if rate < 1 and unit is PrivacyUnit.POINT:
        raise InputError(
            f"sampling_rate must be 1 where the privacy unit is a point, got {rate}: "
            "sampling clients does not amplify the privacy of a point."
        )


class PrivacyUnit(StrEnum):
    """The unit whose presence or absence the released numbers hide."""

    POINT = "point"
    CLIENT = "client"

    @property
    def hidden(self) -> str:
        """Return what the released numbers hide, in words."""
        if self is PrivacyUnit.POINT:
            return "any one data point"
        return "all the data of any one client, which stays as a client without data,"

    @classmethod
    def parse(cls, value: str) -> "PrivacyUnit":
        """Return the unit of this name."""
        try:
            return cls(value)
        except ValueError:
            raise InputError(f"privacy_unit must be 'point' or 'client', got {value!r}.") from None
