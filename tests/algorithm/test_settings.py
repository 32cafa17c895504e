"""Settings: what is parsed, and what is refused by name, rule and value."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from feddp_kmeans.algorithm.settings import MethodName, NoiseName, Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit


def test_names_are_parsed_once_into_enums():
    asked = Settings(2, 1.0, privacy_unit="client", method="paper", composition="paper-naive", noise="gaussian")
    assert asked.unit is asked.privacy_unit is PrivacyUnit.CLIENT
    assert asked.method is MethodName.PAPER
    assert asked.composition is Composition.PAPER_NAIVE
    assert asked.noise is NoiseName.GAUSSIAN
    assert asked.count_noise is Mechanism.GAUSSIAN
    assert Settings(2, 1.0).count_noise is Mechanism.LAPLACE
    assert asked == replace(asked, method=MethodName.PAPER)
    assert Settings(**json.loads(json.dumps(asdict(asked)))) == asked


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "best"}, r"method must be one of \['paper', 'refined'\], got 'best'"),
        ({"composition": "none"}, r"composition must be one of \['tight', 'paper-naive'\], got 'none'"),
        ({"noise": "laplace"}, r"noise must be one of \['auto', 'gaussian'\], got 'laplace'"),
        ({"privacy_unit": "row"}, "privacy_unit must be 'point' or 'client', got 'row'"),
        ({"sampling_rate": 0.5}, r"sampling_rate must be 1 where the privacy unit is a point, got 0\.5"),
        ({"sampling_rate": True, "privacy_unit": "client"}, "sampling_rate must be above 0 and at most 1, got True"),
        ({"sampling_rate": float("nan"), "privacy_unit": "client"}, "sampling_rate must be above 0 and at most 1, got nan"),
    ],
)
def test_what_is_wrong_is_refused_by_name_rule_and_value(wrong, message):
    with pytest.raises(FedDPError, match=message):
        Settings(2, 1.0, **wrong)


def test_a_box_or_a_radius_is_a_public_region():
    assert Settings(2, 1.0).region(3) is None
    box = Settings(2, 1.0, box=(0, [2.0, 2.0, 4.0])).region(3)
    assert box.high.tolist() == [2, 2, 4]
    assert box.ball.radius == pytest.approx(6**0.5)
    ball = Settings(2, 1.0, radius=3.0).region(2)
    assert ball.low.tolist() == [-3, -3]
    with pytest.raises(FedDPError, match="box must hold numbers or vectors of 2 coordinates"):
        Settings(2, 1.0, box=(0, np.ones(3))).region(2)
