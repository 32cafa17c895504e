"""Clients as files on this machine's disk, read in pieces when a statistic needs them; small ones once per run."""

from collections.abc import Sequence

from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.batched import PointSource, SourceSilo


class FileFederation(LocalFederation):
    r"""One file per client; a statistic reads the files one after the other, in pieces. A run keeps what it has read if that is little.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from feddp_kmeans import FileFederation
    >>> from feddp_kmeans.tables.client_files import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("berlin", "paris"):
    ...         _ = (Path(folder) / f"{name}.csv").write_text("age,income\n31,2500\n58,4100\n")
    ...     federation = FileFederation([open_table(path) for path in sorted(Path(folder).glob("*.csv"))])
    >>> federation.n_clients, federation.dimension
    (2, 2)

    """

    def __init__(self, files: Sequence[PointSource]) -> None:
        super().__init__(SourceSilo(files))
