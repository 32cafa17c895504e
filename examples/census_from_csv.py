"""Census from CSV: five states' tables with words, numbers and holes, clustered and shown in their own words.

    python examples/census_from_csv.py

The tables are made up here and written to a temporary folder, one CSV file per state. The encoding is learnt only from a small public
table; the command line does the same with `feddp encode` and `feddp fit --schema`.
"""

import csv
import random
import tempfile
from pathlib import Path

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.tables.inputs import open_inputs

KINDS = [
    ("student", (18, 27), (5, 25), "school", "never married"),
    ("clerk", (25, 60), (35, 42), "office", "married"),
    ("farmer", (35, 70), (50, 75), "farm", "married"),
    ("retired", (62, 90), (0, 8), "none", "widowed"),
]


def write_table(path, rows, seed):
    """Write a table of people, a few of its cells empty."""
    draw = random.Random(seed)  # noqa: S311 - made-up people, no secrets
    with path.open("w", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(["age", "hours a week", "workplace", "marital status"])
        for _ in range(rows):
            _, ages, hours, place, status = draw.choice(KINDS)
            cells = [draw.randint(*ages), draw.randint(*hours), place, status if draw.random() < 0.9 else "divorced"]
            table.writerow(["" if draw.random() < 0.01 else cell for cell in cells])


def main():
    """Cluster all states together, every person protected, and tell the clusters in the columns' own words."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "states").mkdir()
        for index in range(5):
            write_table(folder / "states" / f"state_{index}.csv", 3000, seed=index)
        write_table(folder / "public.csv", 200, seed=99)

        inputs = open_inputs(str(folder / "states"), folder / "public.csv")
        schema = inputs.schema
        model = FedDPKMeans(n_clusters=4, epsilon=1.0, radius=schema.radius)
        model.fit(inputs.federation, server_data=inputs.server_points)

    for center, stddev, count in zip(model.cluster_centers_, model.center_stddev_, model.cluster_counts_, strict=True):
        print(f"about {count:,.0f} people")
        for row in schema.describe(center, float(stddev)):
            if row.kind == "number":
                print(f"  {row.column}: {row.value:.1f} (noise {row.error:.2g})")
            else:
                best = max(row.shares, key=row.shares.get)
                print(f"  {row.column}: {best} ({row.shares[best]:.0%})")
    print(model.privacy_.sentence())


if __name__ == "__main__":
    main()
