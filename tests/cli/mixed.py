"""Mixed tables for the commands: three kinds of people, told apart by age, city and income."""

import numpy as np
import pyarrow as pa
import pyarrow.csv

KINDS = ((25, "Paris", 20.0), (45, "Lyon", 40.0), (70, "Nice", 30.0))


def mixed(n, seed, holes=0.0):
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=n)
    ages = np.array([kind[0] for kind in KINDS])[which] + rng.integers(-3, 4, size=n)
    incomes = np.array([kind[2] for kind in KINDS])[which] + rng.normal(size=n).round(2)
    cities = np.where(rng.random(n) < holes, "", np.array([kind[1] for kind in KINDS])[which])
    return pa.table({"âge": ages, "city": cities, "income": incomes}), which


def write_mixed(folder):
    """Write a server table and five clients whose columns stand in another order, and return the folder."""
    (folder / "clients").mkdir()
    for index in range(5):
        table, _ = mixed(300, index)
        pa.csv.write_csv(table.select(["income", "âge", "city"]), folder / "clients" / f"{index}.csv")
    pa.csv.write_csv(mixed(60, 99, holes=0.1)[0], folder / "server.csv")
    return folder
