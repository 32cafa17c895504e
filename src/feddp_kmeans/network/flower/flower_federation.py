"""The clients of a Flower grid as a federation: for a ServerApp of your own."""

from typing import Any

from flwr.serverapp import Grid

from feddp_kmeans.network.flower.grid_transport import GridTransport
from feddp_kmeans.network.remote import RemoteFederation


class FlowerFederation(RemoteFederation):
    """Clients that are reached through Flower; options are those of ``RemoteFederation``."""

    def __init__(self, grid: Grid, **options: Any) -> None:
        super().__init__(GridTransport(grid), **options)
