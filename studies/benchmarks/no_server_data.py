"""Cost without server data, compared with that of the best rival: the numbers of docs/no_server_data.md.

    python studies/benchmarks/no_server_data.py CASE[,CASE...] [EPSILON[,EPSILON...]] [--seeds 10] [--central FOLDER]

Cases: gas, letter, digits, s1 (gas.npz, letter.npz and s1.npz from the folder --central; docs/data.md), mixture (the paper's, box
from -0.75 to 1.75), clients (2,000 clients of 50 points, whole clients protected) and missing-1, -2, -5 (server data without this many
clusters).
Costs are computed from the points themselves: a NON-PRIVATE check.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.mixture import gaussian_mixture
from feddp_studies.datasets.central import digits, load_central

EPSILONS = (0.1, 0.25, 0.5, 1, 2, 4, 8)
BEST_RIVAL = {
    "gas": (0.1312, 0.1210, 0.1054, 0.0956, 0.0879, 0.0813, 0.0791),
    "letter": (0.2822, 0.2494, 0.2455, 0.2350, 0.2229, 0.2132, 0.2091),
    "digits": (5.96, 4.74, 4.50, 4.25, 3.93, 3.65, 3.42),
    "s1": (0.00447, 0.00219, 0.00221, 0.00207, 0.00206, 0.00206, 0.00206),
    "mixture": (52.38, 50.96, 50.50, 50.31, 50.42, 50.96, 50.45),
}
"""Best cost of Google's LSH and HST, FastLloyd (on the mixture with its best number of steps), diffprivlib, Su et al. and EUGkM."""


def load(case, folder):
    """Return clients, points, k, fit's and the model's further arguments, and the start of the optimal clustering."""
    if case in ("gas", "letter", "s1", "digits"):
        data = digits() if case == "digits" else load_central(Path(folder) / f"{case}.npz")
        return [data.points], data.points, data.k, {}, {"box": (data.low, data.high)}, {"n_init": 10, "random_state": 0}
    if case == "clients":
        made, more, given = gaussian_mixture(0, n_clients=2000, client_size=50), {}, {"box": (-0.75, 1.75), "privacy_unit": "client"}
    elif case.startswith("missing-"):
        made = gaussian_mixture(0, missing_on_server=int(case.removeprefix("missing-")))
        more, given = {"server_data": made.server_points}, {}
    else:
        made, more, given = gaussian_mixture(0), {}, {"box": (-0.75, 1.75)}
    return made.clients, made.pooled, 10, more, given, {"init": made.means, "n_init": 1}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("epsilons", nargs="?", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--central", default="central")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    for case in asked.cases.split(","):
        clients, points, k, more, given, start = load(case, asked.central)
        optimal = kmeans_cost(points, KMeans(k, **start).fit(points).cluster_centers_)
        for epsilon in map(float, asked.epsilons.split(",")):
            began = time.perf_counter()
            costs = []
            for seed in range(asked.seeds):
                model = FedDPKMeans(k, epsilon=epsilon, random_state=seed, **given).fit(clients, **more)
                assert model.privacy_.epsilon_spent <= epsilon
                costs.append(kmeans_cost(points, model.cluster_centers_))
            rival = BEST_RIVAL[case][EPSILONS.index(epsilon)] if case in BEST_RIVAL and epsilon in EPSILONS else np.nan
            seconds = (time.perf_counter() - began) / asked.seeds
            print(
                f"| {case} | {epsilon:g} | {asked.seeds} | {np.mean(costs):.5g} | {np.max(costs):.5g} "
                f"| {100 * (np.mean(costs) / optimal - 1):.2f} % | {rival:.5g} | {seconds:.1f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
