"""Points in torch tensors as a silo: for a trusted aggregator with a GPU, and for simulations."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import InputError
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics.query import Query

try:
    import torch
except ImportError:
    raise InputError("statistics on a GPU need torch: pip install 'feddp-kmeans[torch]'.") from None

from feddp_kmeans.silos.gpu.torch_statistics import total_of


class TorchSilo(Silo):
    """Clients as tensors on one device, which adds them up in exact whole numbers. Protects points.

    Works with server data and both methods. Rows with a NaN or an infinity are left out.
    """

    def __init__(self, clients: Sequence[Any]) -> None:
        if not clients:
            raise InputError("clients must be at least one, got none.")
        shapes = {(tensor.ndim, tensor.shape[-1]) for tensor in clients}
        if len(shapes) != 1 or clients[0].ndim != 2:
            raise InputError(f"clients must be tensors of points with the same number of columns, got shapes {sorted(shapes)}.")
        finite = [torch.isfinite(tensor).all(dim=1) for tensor in clients]
        self._tensors = [tensor if bool(rows.all()) else tensor[rows] for tensor, rows in zip(clients, finite, strict=True)]
        self.n_clients, self.dimension = len(clients), int(clients[0].shape[1])

    def exact_sum(self, query: Query, cohort: BoolArray | None = None) -> IntArray:
        """Return the sum of a statistic of points over all clients, without noise: never for release."""
        del cohort  # Clients are sampled only where they are the unit, and here points are.
        if query.statistic.whole_clients:
            raise InputError("privacy_unit must be 'point' on a GPU, got 'client'.")
        total: IntArray = sum(total_of(query, tensor) for tensor in self._tensors).cpu().numpy()
        return total

    def as_one_client(self) -> "TorchSilo":
        """Return the same points as those of one client: a sum over points does not change."""
        one = copy(self)
        one.n_clients = 1
        return one

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's raw points, without those that are left out."""
        return (tensor.cpu().numpy() for tensor in self._tensors)
