"""What a run says of itself beyond its result: whether the sizes agree with what was agreed."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.report.result import result_dict, write_result
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


@pytest.mark.parametrize("expected", [pytest.param(None, marks=pytest.mark.slow), 6000])
def test_sizes_that_agree_with_the_agreed_number_get_no_remark(tmp_path, expected):
    assert remarks(tmp_path, (2000, 2000, 2000), expected) == []


@pytest.mark.parametrize("expected", [5000, pytest.param(7000, marks=pytest.mark.slow)])
def test_sizes_that_noise_does_not_explain_get_a_remark(tmp_path, expected):
    (remark,) = remarks(tmp_path, (2000, 2000, 2000), expected)
    assert f"{expected} points were agreed: a site was missing, left rows out, or did not tell the truth" in remark


@pytest.mark.slow  # A whole refined run under secure sum.
def test_sizes_of_bounded_contributions_may_be_smaller(tmp_path):
    assert remarks(tmp_path, (2000, 2000, 2000), 10**6, privacy_unit="client", client_size=2000) == []


def test_a_federation_goes_on_from_a_run_with_the_same_bits_as_one_place(tmp_path):
    rng = np.random.default_rng(0)
    tables = [MEANS[rng.integers(2, size=3000)] + 0.02 * rng.standard_normal((3000, 3)) for _ in range(3)]
    settings = Settings(2, 2.0, box=(0, 1))
    first = clustering.cluster(InMemoryFederation(tables), settings, None, seed=1)
    write_result(tmp_path / "first", result_dict(first, columns=["x0", "x1", "x2"], seed=1))
    expected = clustering.cluster(InMemoryFederation(tables), settings, None, last=first.last_run(), seed=2)
    made = []
    for number, table in enumerate(tables):
        np.save(tmp_path / f"s{number}.npy", table)
        places = [str(tmp_path / name) for name in (f"s{number}.npy", f"{number}", f"{number}.jsonl")]
        made.append(Site(f"s{number}", places[0], float("inf"), *places[1:], allow_aggregator=True, allow_simulation=True))
    asked = RunRequest("run1", settings, str(tmp_path / "run"), "feddp serve", last=str(tmp_path / "first"), trust="aggregator", seed=2)
    carry_out(Loopback(site.participant() for site in made), opened(replace(asked, min_sites=3)))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["centers"] == expected.centers.tolist()
    assert [cluster["state"] for cluster in result["changes"]["clusters"]] == ["same", "same"]
    with pytest.raises(InputError, match="columns must be those of the run of --from"):
        opened(replace(asked, ignore=("x0",), out=str(tmp_path / "other")))
