"""The picture of an audit: what an attacker achieved, and what the claim allows; one panel per attack."""

import math
from typing import Any

from feddp_kmeans.report.templates import rendered


def roc_chart(audit: dict[str, Any]) -> str:
    """Return the picture of all attacks of an audit, given as plain data."""
    return rendered("roc.svg", verdicts={name: verdict | _curves(verdict) for name, verdict in audit["verdicts"].items()})


def _curves(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return curves of (fpr, tpr): measured, the same with its error, and what the pair allows: ``tpr = e^eps fpr + delta``, mirrored."""
    delta = verdict["delta"]
    corner = (1 - delta) / (1 + math.exp(verdict["epsilon_claimed"]))
    return {
        "pair": [(0.0, delta), (corner, 1 - corner), (1.0, 1.0)],
        "measured": [(0.0, 0.0), *sorted((p["fpr"], p["tpr"]) for p in verdict["roc"]), (1.0, 1.0)],
        "sure": sorted((p["fpr_high"], p["tpr_low"]) for p in verdict["roc"]),
    }
