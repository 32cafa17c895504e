"""Made-up rows of the census."""

import numpy as np

CODES = {
    "SCHL": [1, 2, None],
    "MAR": [1, 2, 3, None],
    "OCCP": [40, 10, 20, None],
    "POBP": [1, None],
    "RELP": [0, 1, None],
    "SEX": [1, 2, None],
    "RAC1P": [1, 2, None],
}
WIDTH = sum(map(len, CODES.values()))


def people(n=400):
    rng = np.random.default_rng(5)
    columns = {name: rng.choice([c for c in codes if c is not None], n) for name, codes in CODES.items()}
    return columns | {"COW": rng.choice([1, 2, 5], n), "state": rng.choice(["AL", "PR", "WY"], n)}
