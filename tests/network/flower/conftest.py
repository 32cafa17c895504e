"""Shared by the tests of the Flower adapter."""

import pytest

pytest.importorskip("flwr")


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    """Messages carry the run and the node of their process, which flwr sets when a task starts."""
    from flwr.supercore.task_identity import TaskIdentity

    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)
