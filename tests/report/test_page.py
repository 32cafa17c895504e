"""The page and the files of a result."""

import json
import math

import numpy as np
import pytest

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.algorithm.feddp_kmeans import prepare, run
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.result import check_folder, result_dict, write_result


def result(epsilon=1.0, seed=None, columns=("a", "<b>")):
    rng = np.random.default_rng(0)
    server = rng.standard_normal((20, 2))
    clients = [rng.standard_normal((100, 2))]
    found = run(InMemoryFederation(clients), prepare(Settings(2, epsilon), server, 1), seed=seed)
    return result_dict(found, columns=columns, seed=seed)


def test_the_page_states_the_guarantee_and_the_ledger():
    made = result()
    page = render_page(made)
    assert made["guarantee"] in page
    for row in made["ledger"]:
        assert row["release"] in page
    assert 'class="guarantee not"' not in page


@pytest.mark.parametrize(("epsilon", "seed"), [(1.0, 3), (math.inf, None)])
def test_the_page_warns_where_nothing_is_private(epsilon, seed):
    page = render_page(result(epsilon, seed))
    assert 'class="guarantee not"' in page
    assert "NOT PRIVATE" in page


def test_a_result_that_is_all_noise_says_so():
    made = result(0.001)
    assert "server data alone" in made["remarks"][0]
    assert made["remarks"][0] in render_page(made)
    assert result(math.inf)["remarks"] == []


def test_files_are_whole_and_strict_json(tmp_path):
    write_result(tmp_path / "run", result(math.inf))
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"centers.parquet", "report.html", "result.json"}
    json.loads((tmp_path / "run" / "result.json").read_text(), parse_constant=pytest.fail)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FedDPError, match="--out must be a folder"):
        check_folder(tmp_path / "file", force=True)
