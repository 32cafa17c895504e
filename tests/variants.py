"""Variants of a test: which of them every run makes, and which only the slow tests."""

import pytest


def slow_after(count, variants):
    """Return the variants of a test of which ``make test`` tries the first ``count`` and ``make thorough`` the others."""
    kept = [*variants]
    return kept[:count] + [pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=pytest.mark.slow) for v in kept[count:]]
