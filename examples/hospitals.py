"""Hospital silos: five hospitals cluster their patients together, and every single patient is protected.

    python examples/hospitals.py

The data are made up here: four kinds of patients, described by age, blood pressure, pulse, glucose and weight. Hospitals see them in
different proportions. The server has a small public sample from another country, in which one kind is rare and some patients are of no
kind at all.
"""

import numpy as np

from feddp_kmeans import FedDPKMeans

COLUMNS = ["age", "blood pressure", "pulse", "glucose", "weight"]
KINDS = np.array([[35, 118, 68, 90, 70], [62, 150, 75, 105, 82], [58, 135, 80, 180, 95], [78, 140, 60, 110, 66]], dtype=float)
SPREAD = np.array([6, 8, 6, 12, 8], dtype=float)
LOW, HIGH = np.array([18, 80, 40, 60, 40], dtype=float), np.array([100, 200, 120, 260, 140], dtype=float)


def patients(rng, n, shares):
    """Return n patients of the four kinds."""
    return KINDS[rng.choice(4, n, p=shares)] + SPREAD * rng.standard_normal((n, 5))


def scaled(points):
    """Return the values on the public ranges, each from 0 to 1: fixed beforehand, never read off the hospitals' data."""
    return (np.clip(points, LOW, HIGH) - LOW) / (HIGH - LOW)


def main():
    """Cluster, and print the clusters in the units that a doctor reads."""
    rng = np.random.default_rng(7)
    hospitals = [scaled(patients(rng, 4000, rng.dirichlet(np.ones(4)))) for _ in range(5)]
    public = scaled(np.vstack([patients(rng, 150, [0.4, 0.3, 0.28, 0.02]), rng.uniform(LOW, HIGH, (50, 5))]))

    model = FedDPKMeans(n_clusters=4, epsilon=1.0, privacy_unit="point").fit(hospitals, server_data=public)

    print("".join(f"{name:>16}" for name in ["patients, noisy", *COLUMNS]))
    for center, count in zip(model.cluster_centers_, model.cluster_counts_, strict=True):
        values = LOW + center * (HIGH - LOW)
        print(f"{count:16.0f}" + "".join(f"{value:16.1f}" for value in values))
    print()
    print(model.privacy_)


if __name__ == "__main__":
    main()
