"""The theorem's rate: error of the centers after T noisy Lloyd steps, against 2^-T and the noise floor. Writes a picture.

    python studies/benchmarks/convergence.py docs/figures/convergence.svg

Errors are distances to the planted means: a NON-PRIVATE check on made-up data.
"""

import sys

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare_lloyds
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.in_memory import InMemoryFederation

K, DIMENSION, N, SEEDS, STEPS = 4, 10, 100_000, 5, 8
COLOURS = {float("inf"): "#000000", 4.0: "#0072B2", 1.0: "#009E73", 0.25: "#D55E00"}


def errors(gap, epsilon, seed):
    rng = np.random.default_rng(seed)
    means = np.eye(K, DIMENSION) * gap / np.sqrt(2)
    points = means[rng.choice(K, N)] + rng.standard_normal((N, DIMENSION))
    start = means + 0.3 * (np.roll(means, 1, axis=0) - means)
    federation = InMemoryFederation([points])
    found = []
    for steps in range(STEPS + 1):
        prepared = prepare_lloyds(Settings(K, epsilon, lloyd_steps=steps, radius=12.0), means, 1, "planted", 1)
        centers = run(federation, prepared, start=start, seed=seed).centers
        found.append(np.linalg.norm(centers - means, axis=1).max())
    return found


def main():
    mpl.rcParams["svg.hashsalt"] = "feddp"
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, gap in zip(figure.subplots(1, 2, sharey=True), (3.0, 5.0), strict=True):
        for epsilon, colour in COLOURS.items():
            measured = np.mean([errors(gap, epsilon, seed) for seed in range(SEEDS)], axis=0)
            label = "no noise" if np.isinf(epsilon) else f"epsilon {epsilon:g}"
            axes.semilogy(measured, marker="o", color=colour, label=label)
            print(gap, epsilon, np.round(measured, 4))
        axes.semilogy(0.3 * gap * 2.0 ** -np.arange(STEPS + 1), "--", color="#999999", label="halved at every step")
        axes.set(title=f"means {gap:g} standard deviations apart", xlabel="noisy Lloyd steps T")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("worst error of a center")
    figure.axes[1].legend(frameon=False)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
