"""What is imported when: a client that only answers queries must not wait for what only servers need."""

import subprocess
import sys

import pytest

import feddp_kmeans

HEAVY = ("dp_accounting", "pandas", "pyarrow", "scipy", "sklearn")


@pytest.mark.parametrize(
    "statement",
    [
        "import feddp_kmeans",
        "from feddp_kmeans.statistics import REGISTRY",
        "from feddp_kmeans.cli.main import main",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    program = f"import sys; {statement}; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_public_name_is_there_and_listed():
    for name in feddp_kmeans.__all__:
        assert getattr(feddp_kmeans, name) is not None
    assert set(feddp_kmeans.__all__) <= set(dir(feddp_kmeans))
    assert set(feddp_kmeans.__all__) == {*feddp_kmeans._HOMES, "__version__"}
    with pytest.raises(AttributeError, match="module 'feddp_kmeans' has no attribute 'FedDP'"):
        feddp_kmeans.FedDP  # noqa: B018
