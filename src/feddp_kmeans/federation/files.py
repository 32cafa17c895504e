"""Clients as files on this machine's disk, read when a statistic needs them and never all at once."""

from collections.abc import Sequence

from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.batched import PointSource, SourceSilo


class FileFederation(LocalFederation):
    """One file per client; a statistic reads the files one after the other, in pieces."""

    def __init__(self, files: Sequence[PointSource]) -> None:
        super().__init__(SourceSilo(files))
