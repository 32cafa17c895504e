"""Whole runs on points and settings of any kind: what noise does must never end a run with an error once its budget is booked."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans

RUNS = 300


def drawn(rng):
    """Return settings, clients and server points of a run that nothing forbids; noise hides everything in most of them."""
    d, k = int(rng.choice([1, 2, 3, 8, 20])), int(rng.choice([1, 2, 5, 20]))
    scales = 10.0 ** rng.integers(-4, 5, size=d) if rng.random() < 0.5 else np.ones(d)
    place = rng.choice([0, 0, 1, 1000]) * scales * rng.choice([-1, 1], size=d)
    kinds = {
        "normal": lambda n: rng.normal(size=(n, d)),
        "heavy tails": lambda n: rng.standard_cauchy(size=(n, d)),
        "skewed": lambda n: np.exp(3 * rng.normal(size=(n, d))),
        "two places": lambda n: rng.choice([-1.0, 1.0], size=(n, 1)) * np.ones((n, d)),
        "gaps": lambda n: np.where(rng.random((n, d)) < 0.3, np.nan, rng.normal(size=(n, d))),
    }
    make = kinds[rng.choice([*kinds])]
    clients = [make(int(rng.integers(0, rng.choice([2, 5, 40])))) * scales + place for _ in range(rng.choice([1, 2, 30, 300]))]
    server = np.nan_to_num(make(40)) * 1.1 * scales + place if rng.random() < 0.4 else None
    chosen = {
        "n_clusters": "auto" if rng.random() < 0.15 else k,
        "epsilon": float(rng.choice([0.001, 0.02, 0.2, 1.0, 20.0])),
        "privacy_unit": str(rng.choice(["point", "client"])),
        "method": "paper" if server is not None and rng.random() < 0.4 else "refined",
        "random_state": int(rng.integers(1000)),
    }
    region = rng.random()
    if region < 0.3:
        chosen["radius"] = float(np.linalg.norm(4 * scales + np.abs(place)))
    elif region < 0.6:
        chosen["box"] = place - 4 * scales, place + 4 * scales
    return chosen, clients, server


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::feddp_kmeans.FedDPWarning")
@pytest.mark.parametrize("seed", range(8))
def test_no_run_ends_with_an_error(seed):
    rng = np.random.default_rng(seed)
    for _ in range(RUNS):
        chosen, clients, server = drawn(rng)
        try:
            centers = FedDPKMeans(**chosen).fit(clients, server_data=server).cluster_centers_
        except Exception as error:
            error.add_note(f"{chosen}, {len(clients)} clients with {clients[0].shape[1]} columns")
            raise
        assert np.isfinite(centers).all(), chosen
