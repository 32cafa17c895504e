"""A year of monthly runs, each of which goes on from the last, against twelve new starts in the same total budget: docs/next_month.md.

    python studies/benchmarks/next_year.py [SET ...] [--epsilons 1,4] [--seeds 3] [--tables FOLDER] [--jobs 2]

A month is a random 70 % of the rows of a set, or of its clients where these are protected. New starts have mu / sqrt(12) each, and the
server data of the set if it has any; a year has the server data for its first run only. The excess is over the best of plain k-means and of
Lloyd's algorithm from any of the compared centers, on the rows of that month: a NON-PRIVATE check.
"""

import argparse
import subprocess
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from feddp_kmeans.algorithm import clustering
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.accounting import shares_of_total
from feddp_studies.accuracy.benchmark_sets import load

SETS = ("mixture", "mixture-box", "blobs-20-16", "letter", "gas", "census-2", "travel")
MONTHS, PART, DELTA = 12, 0.7, 1e-6
FIRSTS = (1.0, 3.0)


def months(found, seed):
    """Yield the clients of each month."""
    rng = np.random.default_rng(seed)
    whole = found.given.get("privacy_unit") == "client"
    for _ in range(MONTHS):
        if whole:
            yield [found.clients[i] for i in rng.permutation(len(found.clients))[: int(PART * len(found.clients))]]
        else:
            yield [client[rng.random(len(client)) < PART] for client in found.clients]


def excesses(job):
    """Return the excess of each way in each month."""
    name, epsilon, seed, folder = job
    found = load(name, 1000 + seed, folder)
    found = replace(found, clients=[client.toarray() if issparse(client) else client for client in found.clients])
    delta = found.given.get("delta", DELTA)
    weights = {"new": [1.0] * MONTHS} | {first: [first, *[1.0] * (MONTHS - 1)] for first in FIRSTS}
    shares = {name: shares_of_total(epsilon, delta, weight) for name, weight in weights.items()}
    last, rows = {}, []
    with threadpool_limits(1):
        for month, clients in enumerate(months(found, seed)):
            federation, points = InMemoryFederation(clients), np.concatenate([np.asarray(client) for client in clients])
            made = {}
            for way, epsilons in shares.items():
                settings = Settings(found.k, epsilons[month], **{"delta": delta} | found.given)
                start = last.get(way)
                server = found.server_points if start is None else None
                made[way] = clustering.cluster(federation, settings, server, last=start, seed=100 * seed + month)
                if way != "new" and not made[way].useless:
                    last[way] = made[way].last_run()
            plain = [KMeans(found.k, n_init=2, random_state=0).fit(points)]
            plain += [KMeans(found.k, init=one.centers, n_init=1).fit(points) for one in made.values()]
            best = min(one.inertia_ for one in plain)
            rows.append([cost(points, one.centers) / best - 1 for one in made.values()])
    return np.array(rows)


def cost(points, centers):
    """Return the sum of squared distances from the nearest center."""
    squares = np.square(points).sum(axis=1)[:, None] - 2 * points @ centers.T + np.square(centers).sum(axis=1)
    return float(np.maximum(squares.min(axis=1), 0).sum())


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--epsilons", type=lambda text: tuple(float(x) for x in text.split(",")), default=(1.0, 4.0))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default="tables")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"commit {commit}; {given.seeds} years each; mean excess over twelve months")
    print("| set | epsilon of the year | new starts | a year, first run like the others | ratio | first run three times | ratio |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for name, epsilon in product(given.sets, given.epsilons):
            found = np.array(list(pool.map(excesses, [(name, epsilon, seed, given.tables) for seed in range(given.seeds)])))
            new, even, more = 100 * found.mean(axis=(0, 1))
            print(f"| {name} | {epsilon:g} | {new:.3g} % | {even:.3g} % | {even / new:.2f} | {more:.3g} % | {more / new:.2f} |", flush=True)


if __name__ == "__main__":
    main()
