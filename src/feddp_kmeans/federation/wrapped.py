"""A federation around another: what both have in common is the other's."""

from feddp_kmeans.federation.base import Federation


class WrappedFederation(Federation):
    """Asks another federation."""

    def __init__(self, inner: Federation) -> None:
        self._inner = inner

    @property
    def trust(self) -> str:  # type: ignore[override]
        """Return who is trusted with what."""
        return self._inner.trust

    @property
    def n_clients(self) -> int:
        """Return the number of clients."""
        return self._inner.n_clients

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a point."""
        return self._inner.dimension
