"""Columns of any scale without public data: cost on standardised columns, relative to plain k-means there.

    python studies/benchmarks/column_scales.py [--runs 10] [--epsilons 0.25,1] [--rows 20000] [--sets people,ten,years,random,two,forty]

Prints the table of docs/no_server_data.md, "Columns of any scale". Run i has data seed i and noise seed i. The comparison is NON-PRIVATE.
"""

import argparse
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.column_looks import UNSEEN

ROWS = 20_000


def people(rng, n):
    """Age, log-normal income and a yes/no of three groups."""
    group = rng.integers(3, size=n)
    age = np.clip(rng.normal(np.array([25, 45, 70])[group], 7), 16, 99)
    income = np.exp(rng.normal(np.array([9.8, 10.8, 10.1])[group], 0.5))
    return np.column_stack([age, income, rng.random(n) < np.array([0.8, 0.3, 0.1])[group]])


def ten(rng, n):
    """Five clusters in ten columns; scales are random powers of ten, and half of the columns lie 5 or 300 deviations from zero."""
    points = rng.normal(0, 2, (5, 10))[rng.integers(5, size=n)] + rng.standard_normal((n, 10))
    scales = 10.0 ** rng.integers(-6, 7, 10)
    return points * scales + scales * rng.choice([0, 0, 5, 300], 10)


def years(rng, n):
    """A year, seconds of one day since 1970, a log-normal number, a small count, a constant, and a flag of 3 %."""
    year = 2020 + rng.integers(4, size=n) + rng.normal(0, 0.3, n)
    second, count = 1.7e9 + 86_400 * rng.random(n), rng.integers(0, 6, n)
    return np.column_stack([year, second, rng.lognormal(3, 1.5, n), count, np.full(n, 7.0), rng.random(n) < 0.03])


def any_column(rng, shift, n):
    """One column of any kind and scale, in which groups are shifted: numbers, amounts, counts, yes/no, years, shares."""
    scale, move, noise = 10.0 ** rng.integers(-3, 5), shift * rng.choice([0, 0.7, 1.5]), rng.standard_normal(n)
    kinds = [
        lambda: (noise + move + rng.choice([0, 10])) * scale,
        lambda: np.exp(rng.uniform(0.4, 1) * (noise + move)) * scale,
        lambda: rng.exponential(1, n) * np.exp(move) * scale,
        lambda: rng.poisson(np.exp(rng.uniform(-0.5, 1.5) + move / 2)),
        lambda: rng.random(n) < 1 / (1 + np.exp(-rng.uniform(-2, 1) - move)),
        lambda: (rng.random(n) + 0.3 * move) * scale,
        lambda: np.floor(2000 + 10 * rng.random(n) + 3 * move),
        lambda: 100 / (1 + np.exp(-noise - move)),
        lambda: np.round(np.exp(10 + 0.8 * noise + move / 2)) * (rng.random(n) > 0.1),
    ]
    return kinds[rng.integers(len(kinds))]()


def random(rng, n):
    """Three to ten such columns and two to five groups."""
    k, d = rng.integers(2, 6), rng.integers(3, 11)
    group = rng.integers(k, size=n)
    return np.column_stack([any_column(rng, rng.standard_normal(k)[group], n) for _ in range(d)]), k


def wide(rng, n, d):
    """So many columns of any kind and scale, and four groups."""
    group = rng.integers(4, size=n)
    return np.column_stack([any_column(rng, rng.standard_normal(4)[group], n) for _ in range(d)])


def two(rng, n):
    """Age and log-normal income, of one group."""
    return np.column_stack([rng.normal(40, 10, n).round(), rng.lognormal(10, 1, n).round(2)])


SETS = {"people": (people, 3), "ten": (ten, 5), "years": (years, 4), "random": (random, None), "two": (two, 3)}
WIDE = {"forty": (partial(wide, d=40), 4), "hundred": (partial(wide, d=100), 4)}
"""Sets whose columns are looked at only if that is asked for."""


def excess(name, seed, epsilon, rows):
    """The cost of one private run relative to the best of ten plain runs on standardised columns; and whether a remark doubts the scale."""
    make, k = (SETS | WIDE)[name]
    made = make(np.random.default_rng(seed), rows)
    points, k = (made, k) if k else made
    points = points.astype(np.float64)
    scaler = StandardScaler().fit(points)
    standard = scaler.transform(points)
    model = FedDPKMeans(k, epsilon=epsilon, random_state=seed, scale="columns" if name in WIDE else "auto").fit(points)
    cost = np.square(standard[:, None] - scaler.transform(model.cluster_centers_)[None]).sum(axis=2).min(axis=1).sum()
    is_told = UNSEEN in model.clustering_.remarks
    return cost / KMeans(k, n_init=10, random_state=0).fit(standard).inertia_, is_told


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", default="0.25,1")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    print("| rows | set | epsilon | runs | left as they are, with a remark | others: mean | worst | above 1.15 |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        for epsilon in map(float, given.epsilons.split(",")):
            runs = [excess(name, seed, epsilon, given.rows) for seed in range(100, 100 + given.runs)]
            costs = np.array([cost for cost, is_told in runs if not is_told])
            told = f"{given.rows:,} | {name} | {epsilon:g} | {given.runs} | {given.runs - len(costs)}"
            others = f"{costs.mean():.3f} | {costs.max():.3f} | {np.sum(costs > 1.15)}" if len(costs) else "- | - | -"
            print(f"| {told} | {others} |", flush=True)


if __name__ == "__main__":
    main()
