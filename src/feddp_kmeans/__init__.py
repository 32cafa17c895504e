"""k-means clustering of data that many clients hold and none may share, with differential privacy.

Names are imported when they are first used, so that a client that only answers queries does not wait for scikit-learn.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feddp_kmeans.algorithm.client_bounds import ClientBounds
    from feddp_kmeans.errors import BudgetError, FedDPError, FedDPWarning, InputError
    from feddp_kmeans.estimator import FedDPKMeans
    from feddp_kmeans.federation.base import Federation
    from feddp_kmeans.federation.files import FileFederation
    from feddp_kmeans.federation.in_memory import InMemoryFederation
    from feddp_kmeans.privacy.ledger import PrivacyReport
    from feddp_kmeans.privacy.plan import Plan

    __version__: str

_HOMES = {
    "BudgetError": "errors",
    "ClientBounds": "algorithm.client_bounds",
    "FedDPError": "errors",
    "FedDPKMeans": "estimator",
    "FedDPWarning": "errors",
    "Federation": "federation.base",
    "FileFederation": "federation.files",
    "InMemoryFederation": "federation.in_memory",
    "InputError": "errors",
    "Plan": "privacy.plan",
    "PrivacyReport": "privacy.ledger",
}

__all__ = [
    "BudgetError",
    "ClientBounds",
    "FedDPError",
    "FedDPKMeans",
    "FedDPWarning",
    "Federation",
    "FileFederation",
    "InMemoryFederation",
    "InputError",
    "Plan",
    "PrivacyReport",
    "__version__",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless the user sets up logging


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("feddp-kmeans")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
