"""Cost above optimal of both methods on mixtures and real tables: the numbers of README.md and docs/refined.md.

    python benchmarks/accuracy.py CASE[,CASE...] EPSILON[,EPSILON...] [--seeds 10] [--method refined] [--tables FOLDER] [--jobs 2]

Costs are computed from the client points themselves: a NON-PRIVATE check. Data seeds start at 1000, noise seeds at 0.
Real tables (census, Stack Exchange) are read from the folder --tables: acs_income_2018.parquet with acs_income_2018_categories.json,
and stackexchange_travel.parquet, stackexchange_stackoverflow.parquet.
"""

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.data.mixture import gaussian_mixture
from feddp_kmeans.privacy.accounting import gaussian_mu

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
TOPICS = {"travel": ("travel", "visas", "air-travel"), "stackoverflow": ("stackoverflow", "c#", "java")}
CENSUS = {"census-2": 2, "census-5": 5, "census-6": 6}
FEATURES = ("SCHL", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P")


def cost(points, centers):
    total = 0.0
    for start in range(0, points.shape[0], 20_000):
        rows = points[start : start + 20_000]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        distances = np.square(rows).sum(axis=1)[:, None] - 2 * rows @ centers.T + np.square(centers).sum(axis=1)
        total += distances.min(axis=1).sum()
    return total / points.shape[0]


def topics(name, folder, seed):
    table, *pair = TOPICS[name]
    rows = pq.read_table(folder / f"stackexchange_{table}.parquet")
    points = rows["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, 384).astype(float)
    column = rows["topics" if table == "travel" else "first_tag"].to_pylist()
    words = [set(x if isinstance(x, list) else str(x).split()) for x in column]
    member = np.array([[topic in own for own in words] for topic in pair])
    inside = member.any(axis=0)
    rng = np.random.default_rng(seed)
    picks = [rng.choice(np.flatnonzero(~inside), 1000, replace=False)]
    picks += [rng.choice(np.flatnonzero(mask), 10, replace=False) for mask in member]
    owners = np.unique(np.array(rows["client"].to_pylist())[inside], return_inverse=True)[1]
    order = np.argsort(owners, kind="stable")
    clients = np.split(points[inside][order], np.cumsum(np.bincount(owners))[:-1])
    return clients, points[np.concatenate(picks)]


def census(name, folder, seed):
    rows = pq.read_table(folder / "acs_income_2018.parquet", columns=["state", "COW", *FEATURES]).to_pandas()
    categories = json.loads((folder / "acs_income_2018_categories.json").read_text())["categories"]
    columns, width = [], 0
    for feature in FEATURES:
        places = {code: index for index, (code, _) in enumerate(categories[feature])}
        columns.append(rows[feature].map(places).to_numpy() + width)
        width += len(categories[feature])
    cells = np.stack(columns, axis=1)
    ends = np.arange(0, cells.size + 1, len(FEATURES))
    points = sparse.csr_matrix((np.ones(cells.size), cells.ravel(), ends), shape=(len(rows), width))
    rng = np.random.default_rng(seed)
    inside, outside = (np.flatnonzero((CENSUS[name] == rows.COW) == flag) for flag in (True, False))
    own = rng.choice(inside, 20, replace=False)
    server = points[np.concatenate([own, rng.choice(outside, 1000, replace=False)])].toarray()
    inside = np.setdiff1d(inside, own)
    states = rows.state.to_numpy()[inside]
    return [points[inside[states == state]] for state in np.unique(states)], server


@lru_cache(maxsize=1)
def load(case, seed, folder):
    if case in MIXTURES:
        data = gaussian_mixture(1000 + seed, **MIXTURES[case])
        start = {"init": data.means, "n_init": 1}
        clients, server, k = data.clients, data.server_points, len(data.means)
    else:
        clients, server = (topics if case in TOPICS else census)(case, Path(folder), seed)
        start, k = {"n_init": 10, "random_state": 0}, 10
    points = sparse.vstack(clients).tocsr() if sparse.issparse(clients[0]) else np.concatenate(clients)
    optimal = cost(points, KMeans(k, **start).fit(points).cluster_centers_)
    server_only = cost(points, KMeans(k, n_init=30, random_state=0).fit(server).cluster_centers_)
    return clients, server, k, points, optimal, server_only


def run(job):
    warnings.filterwarnings("ignore", category=UserWarning)
    case, epsilons, seed, settings, folder = job
    clients, server, k, points, optimal, server_only = load(case, seed, folder)
    unit = "client" if case.startswith("clients") or case in TOPICS else "point"
    n, d = points.shape
    results = []
    for epsilon in epsilons:
        began = time.perf_counter()
        model = FedDPKMeans(k, epsilon=epsilon, privacy_unit=unit, random_state=seed, **settings).fit(clients, server_data=server)
        seconds = time.perf_counter() - began
        excess = cost(points, model.cluster_centers_) - optimal
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
