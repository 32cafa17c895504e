"""Where the real tables are, for tests that read them."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def tables():
    """Return the folder of the real tables, named by the environment variable FEDDP_TABLES."""
    folder = os.environ.get("FEDDP_TABLES")
    if not folder:
        pytest.skip("FEDDP_TABLES does not name a folder with the real tables")
    return Path(folder)


@pytest.fixture
def real(tables):
    """Return a function that gives the path of a real file, or skips."""

    def path(name):
        if not (tables / name).is_file():
            pytest.skip(f"FEDDP_TABLES has no {name}")
        return tables / name

    return path
