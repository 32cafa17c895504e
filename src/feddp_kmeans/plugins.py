"""What other distributions add by entry points: commands of ``feddp``, and starts for ``init=``. The product names none of them."""

from importlib.metadata import entry_points
from typing import Any

COMMANDS = "feddp_kmeans.commands"
"""Functions that become commands of ``feddp``, by the name of the command."""

STARTS = "feddp_kmeans.starts"
"""Clusterers (``algorithm.clustering.Clusterer``) that ``init=`` takes, by their name."""


def names(group: str) -> list[str]:
    """Return what is installed in a group."""
    return sorted(entry_points(group=group).names)


def load(group: str, name: str) -> Any:
    """Return what an installed distribution adds under this name."""
    return entry_points(group=group)[name].load()
