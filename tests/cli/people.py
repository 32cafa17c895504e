"""A table of people for the commands: income and age tell two groups apart, and sex mostly does."""

import numpy as np


def people_lines():
    """Return the lines of 4,000 people: income, age, sex."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 4000)
    sexes = np.where(rng.random(4000) < 0.2 + 0.6 * groups, "f", "m")
    numbers = np.column_stack([20 + 40 * groups + rng.standard_normal(4000), 30 + 20 * groups + 5 * rng.standard_normal(4000)])
    return [f"{income:.1f},{age:.0f},{sex}" for (income, age), sex in zip(numbers, sexes, strict=True)]
