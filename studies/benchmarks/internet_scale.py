"""A hundred million phones: what one phone computes and sends, and what sampling and missing phones do to a result.

    python studies/benchmarks/internet_scale.py [--phones 1000000] [--repeats 2]

Points are float32: 50 readings a phone in 20 dimensions for what a phone does, 5 readings a phone for the simulation. Prints the tables
of docs/internet_scale.md.
"""

import argparse
import time

import numpy as np

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.assignment import nearest_centers
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.statistics.batch import ClientBatch

K, DIMENSION, SPREAD = 10, 20, 0.25
CLIENT_SIZE, SIMULATED_SIZE = 50, 5
SEED_BYTES = 16


def mixture(rng, n, means):
    return (means[rng.integers(K, size=n)] + SPREAD * rng.standard_normal((n, DIMENSION))).astype(np.float32)


class Phones(TableSilo):
    """Phones in one table. In each sum a share of them is missing, and what phones are asked is kept."""

    missing, rng = 0.0, np.random.default_rng(7)

    def exact_sum(self, query, cohort=None):
        self.asked.append(query)
        here = self.rng.random(self.n_clients) >= self.missing
        return super().exact_sum(query, here if cohort is None else here & cohort)

    @classmethod
    def of(cls, points, size, missing=0.0):
        phones = cls.from_offsets(points, np.arange(0, len(points) + 1, size))
        phones.missing, phones.asked = missing, []
        return phones


def settings(method, epsilon, size, rate=1.0):
    return Settings(K, epsilon, method=method, privacy_unit="client", client_size=size, noise="gaussian", sampling_rate=rate)


def one_phone():
    """Print what one phone computes and sends in a whole run."""
    print("| method | releases | numbers sent | KB sent | KB received | CPU ms |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    means = rng.random((K, DIMENSION))
    points, server = mixture(rng, 20_000 * CLIENT_SIZE, means), mixture(rng, 300, means).astype(np.float64)
    phone = ClientBatch(points[:CLIENT_SIZE], np.array([0, CLIENT_SIZE]))
    for method in ("paper", "refined"):
        phones = Phones.of(points, CLIENT_SIZE)
        run(LocalFederation(phones), prepare(settings(method, 1.0, CLIENT_SIZE), server, phones.n_clients))
        numbers = sum(query.size for query in phones.asked)
        received = sum(np.asarray(value).nbytes for query in phones.asked for value in query.public.values() if value is not None)
        sent = 8 * numbers + SEED_BYTES * len(phones.asked)
        spent = sum(_milliseconds(query, phone) for query in phones.asked)
        print(f"| {method} | {len(phones.asked)} | {numbers:,} | {sent / 1e3:.1f} | {received / 1e3:.1f} | {spent:.1f} |", flush=True)


def _milliseconds(query, phone):
    batch = ClientBatch(phone.points, phone.starts)  # nothing remembered
    query(ClientBatch(phone.points, phone.starts))
    began = time.process_time()
    query(batch)
    return 1e3 * (time.process_time() - began)


def simulation(n_phones, repeats):
    """Print the cost above that of the exact clustering for sampled and missing phones."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(1)
    means = rng.random((K, DIMENSION))
    points = mixture(rng, n_phones * SIMULATED_SIZE, means)
    server = mixture(rng, 300, means).astype(np.float64)
    some = points[:: max(1, len(points) // 500_000)].astype(np.float64)
    best = KMeans(K, n_init=10, random_state=0).fit(some).cluster_centers_
    print(f"| method | epsilon | sampled | missing | above optimal, mean of {repeats} | worst | seconds |")
    print("|---|---|---|---|---|---|---|")
    cases = [(1.0, 0.0), (0.1, 0.0), (0.01, 0.0), (1.0, 0.1), (1.0, 0.5), (1.0, 0.9)]
    for method in ("paper", "refined"):
        for epsilon in (0.1, 1.0):
            for rate, missing in cases:
                excesses, began = [], time.perf_counter()
                for _ in range(repeats):
                    phones = Phones.of(points, SIMULATED_SIZE, missing)
                    prepared = prepare(settings(method, epsilon, SIMULATED_SIZE, rate), server, n_phones)
                    centers = run(LocalFederation(phones), prepared).centers
                    excesses.append(_cost(some, centers) / _cost(some, best) - 1)
                seconds = (time.perf_counter() - began) / repeats
                shown = f"{100 * np.mean(excesses):.3f} % | {100 * np.max(excesses):.3f} %"
                print(f"| {method} | {epsilon:g} | {rate:.0%} | {missing:.0%} | {shown} | {seconds:.0f} |", flush=True)


def _cost(points, centers):
    return float(np.square(points - centers[nearest_centers(points, centers)]).sum(axis=1).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phones", type=int, default=10**6)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    one_phone()
    simulation(given.phones, given.repeats)


if __name__ == "__main__":
    main()
