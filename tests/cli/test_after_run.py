"""What commands about a finished run have in common."""

import pytest

from feddp_kmeans.cli.after_run import AfterRun
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS


def after(made, *, force=False, epsilon=1.0):
    return AfterRun(made, "people.csv", epsilon, 1e-6, None, 1e-6, None, None, force, False, True, AS_THE_HEADER_SAYS)


def test_the_file_is_next_to_the_result_unless_another_is_given(tmp_path):
    (tmp_path / "result.json").write_text("{}")
    assert (
        after(tmp_path).path(None, "profile.json")
        == after(tmp_path / "result.json").path(None, "profile.json")
        == tmp_path / "profile.json"
    )
    assert after(tmp_path).path(tmp_path / "other.json", "profile.json") == tmp_path / "other.json"
    (tmp_path / "profile.json").write_text("{}")
    with pytest.raises(FedDPError, match="--force"):
        after(tmp_path).path(None, "profile.json")
    assert after(tmp_path, force=True).path(None, "profile.json").exists()


def test_impossible_options_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(FedDPError, match="epsilon must be"):
        after(tmp_path, epsilon=0.0).begin()
    with pytest.raises(FedDPError, match="run must be a folder with a result"):
        after(tmp_path).begin()
