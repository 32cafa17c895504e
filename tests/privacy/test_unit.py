"""The unit that a guarantee protects, and where clients may be sampled."""

import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.unit import PrivacyUnit, check_sampling


def test_a_unit_is_found_by_its_name():
    assert [PrivacyUnit.parse(name) for name in ("point", "client")] == list(PrivacyUnit)
    with pytest.raises(FedDPError, match="privacy_unit must be 'point' or 'client', got 'row'"):
        PrivacyUnit.parse("row")


@pytest.mark.parametrize("rate", [0, -0.1, 1.1, float("nan"), True, "0.5", None])
@pytest.mark.parametrize("unit", PrivacyUnit)
def test_a_rate_that_is_none_is_refused(unit, rate):
    with pytest.raises(FedDPError, match="sampling_rate must be above 0 and at most 1"):
        check_sampling(unit, rate)


def test_sampling_clients_hides_clients_only():
    check_sampling(PrivacyUnit.CLIENT, 0.5)
    check_sampling(PrivacyUnit.POINT, 1)
    with pytest.raises(FedDPError, match=r"sampling_rate must be 1 where the privacy unit is a point, got 0\.5"):
        check_sampling(PrivacyUnit.POINT, 0.5)
