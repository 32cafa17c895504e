"""Errors of this package: each message names the thing, the rule and the value."""


class FedDPError(ValueError):
    """Input that was refused before any data was touched or any budget spent."""


class BudgetError(RuntimeError):
    """A release that the plan does not hold, or holds no more."""
