"""What a run says of itself beyond its result: whether the sizes agree with what was agreed."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from tests.network.loopback import Loopback

MEANS = np.array([[0.2, 0.2, 0.8], [0.8, 0.7, 0.1]])


def remarks(folder, rows, expected, **settings):
    """Run a federation of sites with so many rows each; return the remarks on the agreed number."""
    rng = np.random.default_rng(0)
    made = []
    for number, n in enumerate(rows):
        np.save(folder / f"s{number}.npy", MEANS[rng.integers(2, size=n)] + 0.02 * rng.standard_normal((n, 3)))
        place = [str(folder / f"{number}{end}") for end in ("", ".jsonl")]
        made.append(Site(f"s{number}", str(folder / f"s{number}.npy"), 100.0, *place, unit=settings.get("privacy_unit", "point")))
    asked = RunRequest("run1", Settings(2, 10.0, box=(0, 1), **settings), str(folder / "run"), "feddp serve", expected_points=expected)
    carry_out(Loopback(site.participant() for site in made), opened(replace(asked, min_sites=len(rows))))
    said = json.loads((folder / "run" / "result.json").read_text())["remarks"]
    return [remark for remark in said if "agreed" in remark]


@pytest.mark.parametrize("expected", [None, 6000])
def test_sizes_that_agree_with_the_agreed_number_get_no_remark(tmp_path, expected):
    assert remarks(tmp_path, (2000, 2000, 2000), expected) == []


@pytest.mark.parametrize("expected", [5000, 7000])
def test_sizes_that_noise_does_not_explain_get_a_remark(tmp_path, expected):
    (remark,) = remarks(tmp_path, (2000, 2000, 2000), expected)
    assert f"{expected} points were agreed: a site was missing, left rows out, or did not tell the truth" in remark


def test_sizes_of_bounded_contributions_may_be_smaller(tmp_path):
    assert remarks(tmp_path, (2000, 2000, 2000), 10**6, privacy_unit="client", client_size=2000) == []
