"""Settings: what is parsed, and what is refused by name, rule and value."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from feddp_kmeans.algorithm.settings import MethodName, NoiseName, Region, Settings
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.mechanism import Mechanism
from feddp_kmeans.privacy.plan import Composition
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics.fixed_point import Ball


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
        ({"scale": True}, "scale must be 'auto', 'columns' or 'off', got True"),
        (
            {"scale": "columns", "radius": 2.0},
            r"radius must be None if scale is 'columns': it is a length in columns as they are, got 2\.0",
        ),
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


def test_a_region_holds_its_box_or_its_ball():
    box = Region.of_box(np.array([0.0, -1]), np.array([2.0, 1]))
    assert box.ball.center.tolist() == [1, 0]
    assert box.ball.radius == pytest.approx(2**0.5)
    ball = Region.of_ball(Ball(np.ones(2), 3.0))
    assert ball.low.tolist() == [-2, -2]
    assert ball.ball_around(np.array([1.0, 5.0])).radius == 7.0
    assert ball.clip(np.array([[9.0, 0]])).tolist() == [[4, 0]]
