"""The earlier run that a ``fit`` goes on from: a fitted model, or the folder of a run."""

from pathlib import Path
from typing import Any

from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.last_run import LastRun
from feddp_kmeans.errors import InputError


def last_run(last: Any) -> LastRun | None:
    """Return what a fitted model, or the run in a folder, leaves for the next one; None for None."""
    if last is None:
        return None
    if isinstance(last, str | Path):
        from feddp_kmeans.report.finished_run import read_last  # a fit that starts anew needs no reader of results

        return read_last(Path(last))[0]
    found = getattr(last, "clustering_", None)
    if not isinstance(found, Clustering):
        raise InputError(f"last must be a fitted FedDPKMeans or the folder of a run, got {type(last).__name__}.")
    return found.last_run()
