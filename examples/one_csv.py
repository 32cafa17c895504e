"""One CSV file: columns on very different scales, no public data, a result in the columns' own units.

    python examples/one_csv.py

The table is made up and written to a temporary folder. Every person in it is protected. On the command line:

    feddp fit people.csv --ignore name --ignore city --ignore joined -k 3 --epsilon 1
"""

import tempfile
from pathlib import Path

from pyarrow import csv
from tables.made_up_people import write_people

from feddp_kmeans import FedDPKMeans

NUMBERS = ["age", "income", "visits", "newsletter"]


def main():
    """Cluster the columns of numbers, and print a line per cluster."""
    with tempfile.TemporaryDirectory() as folder:
        write_people(Path(folder) / "people.csv", 20_000)
        people = csv.read_csv(Path(folder) / "people.csv").select(NUMBERS)

    model = FedDPKMeans(n_clusters=3, epsilon=1.0).fit(people)

    print("".join(f"{name:>12}" for name in ["people", *NUMBERS]))
    for count, center in sorted(zip(model.cluster_counts_, model.cluster_centers_.tolist(), strict=True), key=lambda pair: pair[1]):
        print(f"{count:12,.0f}" + "".join(f"{value:12,.1f}" for value in center))
    print(model.privacy_.sentence())


if __name__ == "__main__":
    main()
