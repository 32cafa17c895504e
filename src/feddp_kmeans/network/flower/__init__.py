"""The federation on Flower (flwr): a transport for the server, and for the client an executor that never runs the server's code.

Importing this package switches off what flwr would do over the network by itself: telemetry, update checks, installs at run time.
"""

import os
from importlib.metadata import version

from feddp_kmeans.errors import InputError

OFF = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1"}
"""Environment variables that flwr reads when it is imported."""

LEAST, BELOW = (1, 41), (1, 43)
"""Versions of flwr that ``compat`` was written for: from the first to below the second. The extra ``flower`` states the same."""


def check_version(installed: str) -> None:
    """Refuse another version of flwr: ``compat`` uses private names, which may be gone."""
    numbers = tuple(int(part) if part.isdecimal() else 0 for part in installed.split(".")[:2])
    if not LEAST <= numbers < BELOW:
        least, below = (".".join(map(str, bound)) for bound in (LEAST, BELOW))
        raise InputError(f"flwr must be at least {least} and below {below}, got {installed}: pip install 'feddp-kmeans[flower]'.")


os.environ.update(OFF)

try:
    import flwr as flwr
except ImportError:
    raise InputError("a federation between machines needs Flower: pip install 'feddp-kmeans[flower]'.") from None

check_version(version("flwr"))
