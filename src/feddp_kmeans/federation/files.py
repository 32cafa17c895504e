"""Clients as files on this machine's disk, read when a statistic needs them and never all at once."""

from feddp_kmeans.federation.local import LocalFederation


class FileFederation(LocalFederation):
    """One client a file; a statistic reads the files one after the other, in pieces."""
