"""Results as plain data, without a run: ordinary ones and those that are hard to draw."""

import re

import numpy as np

from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.report.page import render_page

HOSTILE = '<script>alert("1")</script>\'&"><img src=x onerror=alert(2)>'


def section(result, name):
    """Return one section of the page, on one line; empty where the page has none of this name."""
    found = re.search(rf'<section aria-labelledby="{name}"[^>]*>.*?</section>', render_page(result), re.DOTALL)
    return " ".join(found[0].split()) if found else ""


def requests(mixed=False):
    second = Mechanism.LAPLACE if mixed else Mechanism.GAUSSIAN
    return [
        Release("second moment", Mechanism.GAUSSIAN, 1.0, 1e6, 1.0, values=10, times=1),
        Release("sums", second, 1.0, 1e6, 0.5, values=20, times=2),
    ]


def made_result(k=3, d=4, *, epsilon=1.0, mixed=False, releases=True, n_points=40, stddev=0.1, **changes):
    """Return a result as ``feddp fit`` writes it, with these fields changed."""
    rng = np.random.default_rng(k + d)
    planned = calibrated_plan(
        PrivacyUnit.POINT,
        epsilon,
        1e-6,
        requests(mixed) if releases else [],
        facts={"method": "refined", "n_clusters": k, "dimension": d, "n_clients": 100, "n_server_points": n_points, "lloyd_steps": 1},
        reasons=["1 Lloyd step, because it was asked for"],
    )
    points = np.column_stack([rng.standard_normal((n_points, 2)), rng.uniform(0, 9, n_points)])
    return {
        "version": "0.1.0",
        "method": "refined",
        "n_clusters": k,
        "centers": rng.standard_normal((k, d)).tolist(),
        "noisy_counts": rng.uniform(20, 9000, k).tolist(),
        "center_stddev": [stddev] * k,
        "count_stddev": 30.0,
        "inertia": 3.2e4,
        "inertia_stddev": 900.0,
        "spread": [None, *rng.uniform(1, 2, k - 1).tolist()],
        "spread_stddev": [None, *[0.02] * (k - 1)],
        "reach": 7.5,
        "remarks": [],
        "columns": [f"column {i}" for i in range(d)],
        "epsilon": "inf" if epsilon == float("inf") else epsilon,
        "delta": 1e-6,
        "privacy_unit": "point",
        "relation": "add-remove",
        "guarantee": "NOT PRIVATE: epsilon is infinite." if epsilon == float("inf") else "Adding or removing any one data point ...",
        "caveat": "",
        "secure": True,
        "trust": "aggregator",
        "seed": None,
        "ledger": planned.ledger_rows(),
        "plan": planned.to_dict() | ({"epsilon": "inf", "epsilon_spent": "inf"} if epsilon == float("inf") else {}),
        "server_map": {"points": points.tolist(), "centers": rng.standard_normal((k, 2)).tolist()},
        "command": f"feddp fit clients/ --server public.csv -k {k} --epsilon {epsilon:g} --out run/",
        "versions": {"python": "3.11.7", "numpy": "2.4.6"},
    } | changes


def categories():
    """Return profiles of three clusters of people: a number, and two columns of categories."""
    work = (
        {"office": 0.71, "field": 0.2, "none": 0.09},
        {"office": 0.1, "field": 0.55, "none": 0.35},
        {"office": 0.3, "field": 0.32, "none": 0.38},
    )
    return [
        [
            {"column": "age", "kind": "number", "value": age, "error": 0.8, "shares": None},
            {"column": "income per year", "kind": "number", "value": 1000.0 * age, "error": 2500.0, "shares": None},
            {"column": "work", "kind": "category", "value": None, "error": 0.03, "shares": shares},
            {"column": "owns a bicycle", "kind": "category", "value": None, "error": 0.2, "shares": {"yes": 0.5 + age / 1000, "no": 0.45}},
        ]
        for age, shares in zip((34.2, 51.0, 44.7), work, strict=True)
    ]


HARD = {
    "ordinary": made_result(),
    "mixed": made_result(mixed=True),
    "one cluster": made_result(k=1),
    "one dimension": made_result(d=1, server_map={"points": [[1.0, 0.0, 2.0], [3.0, 0.0, 1.0]], "centers": [[1.0, 0.0]] * 3}),
    "one point only": made_result(k=1, d=1, server_map={"points": [], "centers": [[1.0, 0.0]]}),
    "819 columns": made_result(d=819),
    "counts unknown": made_result(noisy_counts=[None, None, 5.0], count_stddev=None),
    "negative counts": made_result(noisy_counts=[-3.0, -1.0, -2.0]),
    "no noise": made_result(epsilon=float("inf"), stddev=0.0, count_stddev=0.0, inertia_stddev=0.0),
    "no release": made_result(releases=False),
    "50 clusters": made_result(k=50, d=12),
    "all noise": made_result(epsilon=0.01, stddev=500.0, count_stddev=1e5, remarks=["the centers are those of the server data alone"]),
    "client": made_result(privacy_unit="client", method="paper"),
    "simulation": made_result(secure=False, seed=3, guarantee="SIMULATION, NOT PRIVATE: for those who know the seed."),
    "categories": made_result(profiles=categories()),
    "hostile": made_result(
        d=3,
        columns=[HOSTILE, HOSTILE, "w" * 400],
        remarks=[HOSTILE],
        command=HOSTILE,
        trust=HOSTILE,
        method=HOSTILE,
        version=HOSTILE,
        profiles=[
            [{"column": HOSTILE, "kind": "category", "value": None, "error": 0.1, "shares": {HOSTILE: 0.1 * i, "w" * 300: 0.5}}]
            for i in range(3)
        ],
    ),
    "old": {
        key: value
        for key, value in made_result().items()
        if key
        not in {
            "count_stddev",
            "inertia",
            "inertia_stddev",
            "spread",
            "spread_stddev",
            "reach",
            "caveat",
            "server_map",
            "command",
            "versions",
            "profiles",
        }
    },
}
"""Results that a page must show well, by name."""
