"""Points in torch tensors as a federation: for a trusted aggregator with a GPU, and for simulations."""

from collections.abc import Sequence
from typing import Any

from feddp_kmeans._typing import BoolArray, IntArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.adder import Adder, ExactAdder
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.run import Run
from feddp_kmeans.statistics.query import Query

try:
    import torch
except ImportError:
    raise FedDPError("statistics on a GPU need torch: pip install 'feddp-kmeans[torch]'.") from None

from feddp_kmeans.silos.gpu.torch_statistics import total_of


class TorchFederation(Federation):
    """Clients as tensors on one device; this process adds up there, in exact whole numbers, and adds the noise here. Protects points.

    Works with server data and both methods. Rows with a NaN or an infinity are left out.
    """

    trust = "aggregator"

    def __init__(self, clients: Sequence[Any]) -> None:
        if not clients:
            raise FedDPError("clients must be at least one, got none.")
        shapes = {(tensor.ndim, tensor.shape[-1]) for tensor in clients}
        if len(shapes) != 1 or clients[0].ndim != 2:
            raise FedDPError(f"clients must be tensors of points with the same number of columns, got shapes {sorted(shapes)}.")
        finite = [torch.isfinite(tensor).all(dim=1) for tensor in clients]
        self._clients = [tensor if bool(rows.all()) else tensor[rows] for tensor, rows in zip(clients, finite, strict=True)]

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return len(self._clients)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return int(self._clients[0].shape[1])

    def _adder(self, run: Run) -> Adder:
        del run
        return ExactAdder(self._total)

    def _total(self, query: Query, cohort: BoolArray | None) -> IntArray:
        del cohort  # Clients are sampled only where they are the unit, and here points are.
        if query.statistic.whole_clients:
            raise FedDPError("privacy_unit must be 'point' on a GPU, got 'client'.")
        total: IntArray = sum(total_of(query, tensor) for tensor in self._clients).cpu().numpy()
        return total
