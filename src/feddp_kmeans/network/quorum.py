"""How many sites must answer and how many may side with the server: the defaults of both halves, from the number of sites only."""

import math


def assumed_colluders(sites: int) -> int:
    """Return how many sites are assumed to side with the server unless somebody says otherwise: a tenth, at least one of several."""
    return max(1, sites // 10) if sites > 1 else 0


def safe_threshold(sites: int, colluders: int) -> int:
    """Return the fewest sites that may open a sum: any two groups of so many have an honest site in common."""
    return (sites + colluders) // 2 + 1


def default_threshold(sites: int, colluders: int) -> int:
    """Return the fewest sites that a sum is made of unless somebody says otherwise: the safe number, and at least two thirds."""
    return max(safe_threshold(sites, colluders), math.ceil(2 * sites / 3))
