"""The federation on Flower (flwr): a transport for the server, and for the client an executor that never runs the server's code.

Importing this package switches off what flwr would do over the network by itself: telemetry, the look for updates, installs at run time.
"""

import os

from feddp_kmeans.errors import FedDPError

OFF = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""The environment in which flwr reaches for no network but ours; it is read when flwr is imported."""

os.environ.update(OFF)

try:
    import flwr as flwr
except ImportError:
    raise FedDPError("a federation between machines needs Flower: pip install 'feddp-kmeans[flower]'.") from None
