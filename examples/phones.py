"""Phones: two thousand users' daily habits, clustered so that everything one user has is protected.

    python examples/phones.py

A point is one day of one phone: minutes of use in each of eight parts of the day. A user has ten to sixty days. With
privacy_unit="client" adding or removing a *user*, with all days, changes the outcome by no more than the guarantee allows.
"""

import numpy as np

from feddp_kmeans import FedDPKMeans

HABITS = np.array([[0, 0, 40, 10, 10, 15, 60, 30], [50, 10, 0, 0, 5, 10, 30, 80], [5, 30, 10, 50, 50, 10, 10, 5]], dtype=float)


def days(rng, n):
    """Return n days of one user, who keeps to one habit mostly."""
    main = rng.integers(3)
    habit = np.where(rng.random(n) < 0.8, main, rng.integers(3, size=n))
    return np.maximum(0.0, HABITS[habit] + 8 * rng.standard_normal((n, 8)))


def main():
    """Cluster days of many users, then say what one user's presence can change."""
    rng = np.random.default_rng(1)
    users = [days(rng, rng.integers(10, 61)) for _ in range(2000)]
    volunteers = np.vstack([days(rng, 10) for _ in range(20)])  # Public: they agreed to share.

    model = FedDPKMeans(n_clusters="auto", epsilon=2.0, privacy_unit="client", client_size=30, max_clusters=8)
    model.fit(users, server_data=volunteers)

    print(f"{len(model.cluster_centers_)} habits, minutes of use from midnight on, in steps of three hours:")
    for center in model.cluster_centers_:
        print("  " + " ".join(f"{minutes:5.0f}" for minutes in center))
    print(model.privacy_.sentence())


if __name__ == "__main__":
    main()
