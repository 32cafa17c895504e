"""What each half of a federation logs."""

import logging

import pytest


def lines_of(caplog, *modules):
    """Return what calls up the lines that these modules of ``feddp_kmeans.network`` have logged so far."""
    caplog.set_level(logging.INFO, logger="feddp_kmeans")
    names = {f"feddp_kmeans.network.{module}" for module in modules}
    return lambda: [record.getMessage() for record in caplog.records if record.name in names]


@pytest.fixture
def server_log(caplog):
    return lines_of(caplog, "sites", "remote", "run_log", "deployment.run_request")


@pytest.fixture
def site_log(caplog):
    return lines_of(caplog, "participant", "flower.executor")
