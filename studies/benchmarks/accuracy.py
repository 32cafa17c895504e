"""Cost above optimal of both methods on mixtures and real tables: the numbers of README.md and docs/refined.md.

    python studies/benchmarks/accuracy.py CASE[,CASE...] EPSILON[,EPSILON...] [--seeds 10] [--method refined] [--tables FOLDER] [--jobs 2]

Costs are computed from the client points themselves: a NON-PRIVATE check. Data seeds start at 1000, noise seeds at 0.
Real tables (census, Stack Exchange) are read from the folder --tables; docs/data.md says which files.
"""

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.mixture import gaussian_mixture
from feddp_kmeans.privacy.accounting import gaussian_mu
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.datasets.census import census
from feddp_studies.datasets.stack_exchange import stack_exchange

UNBALANCED = [0.3, 0.2, 0.12, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02]
MIXTURES = {
    "mixture": {},
    "mixture-d50": {"dimension": 50},
    "mixture-d200": {"dimension": 200},
    "mixture-k5": {"k": 5},
    "mixture-k20": {"k": 20},
    "mixture-unbalanced": {"component_weights": UNBALANCED},
    "clients-1000": {"n_clients": 1000, "client_size": 50},
    "clients-2000": {"n_clients": 2000, "client_size": 50},
    "clients-5000": {"n_clients": 5000, "client_size": 50},
    "clients-unbalanced": {"n_clients": 1000, "client_size": 50, "component_weights": UNBALANCED},
    "clients-sizes": {"n_clients": 1000, "client_size": [int(x) for x in np.exp(np.linspace(0, np.log(1000), 1000))]},
}
CENSUS = {"census-2": 2, "census-5": 5, "census-6": 6}
SITES = ("travel", "stackoverflow")


def load(case, seed, folder):
    if case in MIXTURES:
        data = gaussian_mixture(1000 + seed, **MIXTURES[case])
        return replace(data, unit=PrivacyUnit.CLIENT) if case.startswith("clients") else data
    return stack_exchange(folder, case, seed=seed) if case in SITES else census(folder, CENSUS[case], seed=seed)


@lru_cache(maxsize=1)
def load_with_costs(case, seed, folder):
    data = load(case, seed, folder)
    start = {"n_init": 10, "random_state": 0} if data.means is None else {"init": data.means, "n_init": 1}
    k = 10 if data.means is None else len(data.means)
    points = data.pooled
    optimal = kmeans_cost(points, KMeans(k, **start).fit(points).cluster_centers_)
    server_only = kmeans_cost(points, KMeans(k, n_init=30, random_state=0).fit(data.server_points).cluster_centers_)
    return data, k, points, optimal, server_only


def run(job):
    warnings.filterwarnings("ignore", category=UserWarning)
    case, epsilons, seed, settings, folder = job
    data, k, points, optimal, server_only = load_with_costs(case, seed, folder)
    n, d = points.shape
    results = []
    for epsilon in epsilons:
        began = time.perf_counter()
        model = FedDPKMeans(k, epsilon=epsilon, privacy_unit=data.unit, random_state=seed, **settings)
        model.fit(data.clients, server_data=data.server_points)
        seconds = time.perf_counter() - began
        excess = kmeans_cost(points, model.cluster_centers_) - optimal
        # The oracle floor for clusters of these sizes, residual radius 7.2 where d = 100.
        shares = np.array(MIXTURES.get(case, {}).get("component_weights", [1 / k] * k))
        floor = d * (7.2 * np.sqrt(d / 100) / gaussian_mu(epsilon, 1e-6) / n) ** 2 * (1 / shares).sum()
        results.append((100 * excess / optimal, excess / floor, 100 * (server_only / optimal - 1), seconds))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("epsilons")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--method", default="refined")
    parser.add_argument("--client-size", type=int)
    parser.add_argument("--tables", default="tables")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    settings = {"method": given.method, "client_size": given.client_size}
    epsilons = [float(x) for x in given.epsilons.split(",")]
    for case in given.cases.split(","):
        jobs = [(case, epsilons, seed, settings, given.tables) for seed in range(given.seeds)]
        with ProcessPoolExecutor(given.jobs) as pool:
            table = np.array(list(pool.map(run, jobs)))
        for epsilon, rows in zip(epsilons, table.transpose(1, 0, 2), strict=True):
            mean, worst = rows.mean(axis=0), rows.max(axis=0)
            floor = f"{mean[1]:.2f}" if case.startswith("mixture") else "-"
            print(
                f"| {case} | {given.method} | {epsilon:g} | {given.seeds} | {mean[0]:.3f} % | {worst[0]:.3f} % | {floor} "
                f"| {mean[2]:.1f} % | {mean[3]:.1f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
