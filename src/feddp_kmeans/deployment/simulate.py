"""The same app on Flower's simulation engine: every client file a SuperNode of its own, all on this machine."""

import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from feddp_kmeans._errors import FedDPError
from feddp_kmeans.deployment.apps import server_app, site_handler
from feddp_kmeans.deployment.job import DONE, Job
from feddp_kmeans.deployment.processes import private_folder
from feddp_kmeans.deployment.site import Site
from feddp_kmeans.federation.flower.client_app import Handler, make_client_app


def simulate(job: Job, sites: Sequence[Site], tell: Callable[[str], None]) -> None:
    """Run a job on simulated SuperNodes, one a site; the result is in the job's folder afterwards."""
    try:
        import ray
        from flwr.simulation import run_simulation
    except ImportError:
        raise FedDPError("a simulation needs Ray: pip install 'feddp-kmeans[simulation]'.") from None

    def handler_of(configuration: Mapping[str, object]) -> Handler:
        return site_handler(sites[int(str(configuration["partition-id"]))])

    out = Path(job.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / DONE).unlink(missing_ok=True)
    job.write()
    logging.getLogger("flwr").setLevel(logging.ERROR)
    with private_folder() as temporary:
        backend: dict[str, dict[str, Any]] = {
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": os.cpu_count() or 1, "log_to_driver": False, "logging_level": "error", "_temp_dir": str(temporary)},
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run_simulation(server_app(job, tell), make_client_app(handler_of), len(sites), backend_config=backend)
        finally:
            ray.shutdown()
    if not (out / DONE).exists():
        raise FedDPError("the run must end with a result, but the simulation stopped before.")
    if error := json.loads((out / DONE).read_text(encoding="utf-8"))["error"]:
        raise FedDPError(error)
