"""Very many clusters without server data: cost as a multiple of optimal.

    python studies/benchmarks/many_clusters.py [--runs 4] [--rows 100000] [--epsilons 0.5,1,4] [--sets 2x300,3x100,...]

Prints the table of docs/no_server_data.md, "Very many clusters". The means of the clusters are uniform in a cube, their deviation in each
direction is a seventh of the distance that as many means on a grid would have. Run i has data seed i and noise seed i. Optimal is Lloyd's
algorithm from the planted means: NON-PRIVATE.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.server import kmeans_cost

SETS = "2x300,2x1000,3x100,3x300,4x300,4x1000,6x300,10x300,10x1000"


def times_optimal(d, k, seed, epsilon, rows):
    """The cost of one private run as a multiple of optimal, and its CPU seconds."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(-1, 1, (k, d))
    points = means[rng.integers(k, size=rows)] + 2 * k ** (-1 / d) / 7 * rng.standard_normal((rows, d))
    began = time.process_time()
    model = FedDPKMeans(k, epsilon=epsilon, random_state=seed, scale="off").fit(points)
    seconds = time.process_time() - began
    return kmeans_cost(points, model.cluster_centers_) * rows / KMeans(k, init=means, n_init=1).fit(points).inertia_, seconds


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--epsilons", default="0.5,1,4")
    parser.add_argument("--sets", default=SETS)
    given = parser.parse_args()
    epsilons = [float(epsilon) for epsilon in given.epsilons.split(",")]
    heads = [f"epsilon {epsilon:g}: mean (worst)" for epsilon in epsilons]
    print(f"| dimensions | clusters | points of each | {' | '.join(heads)} | CPU s |\n|---|---|---|{'---|' * len(heads)}---|")
    for shape in given.sets.split(","):
        d, k = map(int, shape.split("x"))
        runs = np.array([[times_optimal(d, k, seed, epsilon, given.rows) for seed in range(given.runs)] for epsilon in epsilons])
        cells = [f"{one.mean():.3f} ({one.max():.3f})" for one in runs[:, :, 0]]
        print(f"| {d} | {k:,} | {given.rows // k:,} | {' | '.join(cells)} | {runs[:, :, 1].mean():.1f} |", flush=True)


if __name__ == "__main__":
    main()
