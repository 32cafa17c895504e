from types import SimpleNamespace

import pytest

from feddp_kmeans.algorithm.pool import Pool
from feddp_kmeans.algorithm.tuning import REFINED, Rounds

SCALE, SIZE = 30.0, 900
POOL = Pool(SimpleNamespace(plan={"looks": SimpleNamespace(scale=SCALE)}, per_unit=lambda n_points: 4.0), SIZE)


def test_noise_is_that_of_one_look_made_of_the_whole_pool():
    """Noise of 30 / sqrt(900) = 1 in each of 9 numbers, for bounds of 2 residuals (4 points a client), over 600 points."""
    assert POOL.noise(9, 600.0) == pytest.approx(3 * 2 / 600)
    assert POOL.noise(9, 600.0, (2.0, 2.0)) == pytest.approx(3 * 3 * 2 / 600)


@pytest.mark.parametrize(("noise", "releases"), [(1e-6, 9), (0.01, 36), (1.0, 90)])
def test_a_look_is_as_sharp_as_its_level_within_its_limits(noise, releases):
    """Ten cells, each with ten times the noise of all points: a level of 2 asks for (2 * 10 * noise)**2 of the pool."""
    assert POOL.times_of(Rounds(1, 2.0, most=0.1, least=0.01), 10, noise) == releases


def test_a_look_is_at_least_one_release():
    assert POOL.times(1e-9) == 1


def test_looks_are_sharp_where_the_noise_of_all_centers_is_a_small_part_of_a_residual():
    """Over 6,000 points all centers together have noise of 0.001 times their number."""
    k = int(REFINED.sharp * 1000)
    assert POOL.is_sharp(9, 6000.0, k - 1)
    assert not POOL.is_sharp(9, 6000.0, k + 1)
