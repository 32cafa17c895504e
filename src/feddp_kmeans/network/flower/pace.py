"""How soon a part of a message that is still on its way is asked for again: flwr waits for a second, and often has to."""

from functools import partial
from types import ModuleType

_SOON = 0.05
"""Seconds before the second try; the pauses double from there."""


def hasten(module: ModuleType, function: str) -> None:
    """Make a module of flwr ask again sooner, through the function that it pulls messages with."""
    setattr(module, function, partial(getattr(module, function), initial_backoff=_SOON))
