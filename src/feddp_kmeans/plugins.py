"""What other distributions add by entry points: commands of ``feddp`` and starts for ``init=``. The product never imports them."""

from importlib.metadata import entry_points
from typing import Any

COMMANDS = "feddp.commands"
"""Functions that become commands of ``feddp``, by the name of the command."""

STARTS = "feddp_kmeans.starts"
"""Clusterers (``algorithm.clustering.Clusterer``) that ``init=`` takes, by their name."""

_IN_STUDIES = {COMMANDS: ("bench", "reproduce"), STARTS: ("server-kmeans++", "server-lloyds", "sphere-packing")}


def names(group: str) -> list[str]:
    """Return what is installed in a group."""
    return sorted(entry_points(group=group).names)


def load(group: str, name: str) -> Any:
    """Return what an installed distribution adds under this name."""
    return entry_points(group=group)[name].load()


def advice(group: str, name: str) -> str:
    """Return how to get a name that is not installed; empty if no distribution is known to have it."""
    return f"{name!r} comes with the studies of the paper: pip install feddp-studies." if name in _IN_STUDIES[group] else ""
