"""Ray for our own processes: importing this imports Ray with a secret and with longer time limits.

Ray listens on every address of the machine, and runs the code of whoever connects. Here each request needs a token that is new each time
and known only to the processes that Ray starts. On a busy machine Ray also gives up on its processes after seconds; here after minutes.
"""

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from feddp_kmeans.errors import InputError

_LIMIT = 600
_LOOK = 0.5

os.environ.update(
    {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_agent_register_timeout_ms": str(1000 * _LIMIT),
        "RAY_gcs_rpc_server_connect_timeout_s": str(_LIMIT),
        "RAY_gcs_server_request_timeout_seconds": str(_LIMIT),
        "RAY_health_check_timeout_ms": str(1000 * _LIMIT),
        "RAY_py_gcs_connect_timeout_s": str(_LIMIT),
        "RAY_worker_register_timeout_seconds": str(_LIMIT),
    }
)

import ray  # noqa: E402 - Ray reads these when it is imported
from flwr.simulation import run_simulation  # noqa: E402 - as above
from ray._private import services  # noqa: E402 - as above

__all__ = ["FOLDER", "patient", "run_simulation", "running"]

FOLDER = "/tmp"  # noqa: S108 - a new folder is made in it
"""Parent of the folder with Ray's files, as by Ray's default. TMPDIR is not used: the names of sockets must be short."""


@contextmanager
def running(folder: str) -> Iterator[None]:
    """Keep Ray running, with its files in this folder, for as long as the block runs.

    It is started before the run, whose first round would otherwise wait for it: on a busy machine for minutes.
    """
    cores = os.cpu_count() or 1
    try:
        try:
            ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, _temp_dir=folder)
        except Exception as error:  # noqa: BLE001 - Ray has no class of errors for this
            raise InputError(f"Ray must start on this machine, but says: {' '.join(str(error).split())}") from None
        yield
    finally:
        ray.shutdown()


def patient(look: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a function that calls ``look`` again, for minutes, while it raises RuntimeError, which means not yet."""

    def look_again(*given: Any) -> dict[str, Any]:
        end = time.monotonic() + _LIMIT
        while True:
            try:
                return look(*given)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
            time.sleep(_LOOK)

    return look_again


# A starting node looks for itself for 30 seconds only, whatever the limits above say.
services.get_node = patient(services.get_node)
