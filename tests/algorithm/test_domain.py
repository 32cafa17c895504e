"""Where the points are, from noisy looks."""

import numpy as np
import pytest

from feddp_kmeans import InMemoryFederation
from feddp_kmeans.algorithm.domain import find_domain, sharpened
from feddp_kmeans.algorithm.looks import Looks
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.algorithm.three_clusters import BOX, made_up


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_a_private_domain_is_found_at_any_scale_and_place(scale, offset):
    points = scale * (made_up(20_000) + offset)
    plan = prepare(Settings(3, 2.0), None, 1, 5).plan
    federation = InMemoryFederation([points])
    domain = find_domain(Looks(federation.open(plan, seed=0), PrivacyUnit.POINT), None)
    assert np.linalg.norm(domain.ball.center - points.mean(axis=0)) < 3 * scale
    assert 2 * scale < domain.ball.radius < 40 * scale
    assert domain.n_points == pytest.approx(20_000, rel=0.3)


def test_a_public_region_is_kept_and_a_mean_in_it_is_sharpened():
    settings = Settings(3, 2.0, box=BOX)
    region, plan = settings.region(5), prepare(settings, None, 1, 5).plan
    assert (plan["mean"].times, plan["distances"].times) == (1, 3)
    points = np.clip(made_up(5000), *BOX)
    looks = Looks(InMemoryFederation([points]).open(plan, seed=0), PrivacyUnit.POINT)
    domain = find_domain(looks, region)
    assert np.linalg.norm(domain.ball.center - points.mean(axis=0)) < 0.6
    domain = sharpened(looks, domain, region, "looks", 20)
    assert np.linalg.norm(domain.ball.center - points.mean(axis=0)) < 0.1
    assert domain.typical == pytest.approx(np.median(np.linalg.norm(points - points.mean(axis=0), axis=1)), rel=0.2)
    corners = np.array([region.low, region.high])
    assert (np.linalg.norm(corners - domain.ball.center, axis=1) <= domain.ball.radius).all()
