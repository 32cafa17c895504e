"""k-means clustering of data that many clients hold and none may show, with differential privacy."""

from importlib.metadata import version

from feddp_kmeans._errors import BudgetError, FedDPError
from feddp_kmeans.algorithm.bounds import ClientBounds
from feddp_kmeans.estimator import FedDPKMeans
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.ledger import PrivacyReport
from feddp_kmeans.privacy.plan import Plan

__version__ = version("feddp-kmeans")

__all__ = [
    "BudgetError",
    "ClientBounds",
    "FedDPError",
    "FedDPKMeans",
    "Federation",
    "InMemoryFederation",
    "Plan",
    "PrivacyReport",
    "__version__",
]
