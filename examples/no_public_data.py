"""No public data: what helps instead, from nothing at all to a public box.

    python examples/no_public_data.py

The points are made up: ten clusters in eight dimensions, held by fifty clients. The cost of each way is compared with plain k-means, which
is possible here because nobody's privacy is at stake: `model.score` looks at the points themselves.
"""

import numpy as np
from sklearn.cluster import KMeans

from feddp_kmeans import FedDPKMeans

WAYS = {
    "nothing": {},
    "a radius that every point keeps to": {"radius": 20.0},
    "a box that every coordinate keeps to": {"box": (-6.0, 6.0)},
}


def main():
    """Fit in three ways, and print how far each is above plain k-means."""
    rng = np.random.default_rng(5)
    places = rng.uniform(-5, 5, (10, 8))
    clients = [places[rng.integers(10, size=400)] + 0.4 * rng.standard_normal((400, 8)) for _ in range(50)]
    points = np.vstack(clients)
    best = KMeans(10, n_init=5, random_state=0).fit(points).inertia_

    for known, public in WAYS.items():
        model = FedDPKMeans(n_clusters=10, epsilon=1.0, **public).fit(clients)
        print(f"known in public: {known}: {-model.score(points) / best - 1:.2%} above plain k-means")
    print(model.privacy_.sentence())


if __name__ == "__main__":
    main()
