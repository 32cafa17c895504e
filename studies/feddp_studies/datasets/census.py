"""The paper's US census data: folktables' ACSIncome of 2018, one client per state, one-hot categories.

A row is a person of one employment class (COW). Its points hold one 1 for each of seven categories, so their norm is sqrt(7) = 2.6458;
COW, age (AGEP) and hours (WKHP) are left out. The server holds some rows of the class and many of other classes. The paper does not say
whether its server rows are also client rows; here they are taken away from the clients, and a state that has no row left is no client.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from feddp_kmeans._json import parse_json
from feddp_kmeans._typing import Array, FloatArray, IntArray, Points
from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import FederatedData
from feddp_kmeans.tables.formats import named_errors
from feddp_studies.datasets.split_rows import draw_rows, split_by_owner

FEATURES = ("SCHL", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P")
"""The categories that become columns, in folktables' order."""

TABLE = "acs_income_2018.parquet"
CATEGORIES = "acs_income_2018_categories.json"

Codes = Mapping[str, Sequence[float | None]]
"""The codes of each feature in the order of their columns; None or NaN is the code of an empty cell."""


def census(
    folder: Path | str, employment_class: int = 2, *, seed: int = 0, server_in_class: int = 20, server_other: int = 1000
) -> FederatedData:
    """Return the census data of a folder that holds ``acs_income_2018.parquet`` and ``acs_income_2018_categories.json``.

    The paper's classes are 2 (not-for-profit), 5 (federal government) and 6 (self-employed, not incorporated).
    """
    path = Path(folder) / TABLE
    with named_errors(path):
        table = pq.read_table(path, columns=["state", "COW", *FEATURES])
        table.validate(full=True)
        states = table["state"].cast(pa.string()).to_numpy()
        people = _People(states, _numbers(table["COW"]), {name: _numbers(table[name]) for name in FEATURES})
    return people.federated(_read_codes(Path(folder) / CATEGORIES), employment_class, seed, server_in_class, server_other)


def census_from_folktables(
    root: Path | str = "data",
    employment_class: int = 2,
    *,
    download: bool = True,
    seed: int = 0,
    server_in_class: int = 20,
    server_other: int = 1000,
) -> FederatedData:
    """Return the census data that the package folktables keeps under ``root``, fetched from the Census Bureau if it is missing."""
    try:
        from folktables import ACSDataSource, generate_categories
    except ImportError:
        raise InputError(
            "folktables must be installed for its download: install folktables by pip install 'feddp-studies[census]'."
        ) from None
    source = ACSDataSource(survey_year="2018", horizon="1-Year", survey="person", root_dir=str(root))
    records = source.get_data(download=download)
    named = generate_categories(features=list(FEATURES), definition_df=source.get_definitions(download=download))
    codes = {name: list(named[name]) for name in FEATURES}
    return census_from_records(
        records, employment_class, codes=codes, seed=seed, server_in_class=server_in_class, server_other=server_other
    )


def census_from_records(
    records: Any,
    employment_class: int = 2,
    *,
    codes: Codes | None = None,
    seed: int = 0,
    server_in_class: int = 20,
    server_other: int = 1000,
) -> FederatedData:
    """Return the census data of ACS person records, a DataFrame (or mapping of columns) as folktables gives it.

    ACSIncome's filter is applied: AGEP > 16, PINCP > 100, WKHP > 0, PWGTP >= 1. The client of a row is its state, ST. Without ``codes``
    the columns are the codes that occur in the filtered records, so that there are fewer than 819.
    """
    needed = ("ST", "COW", "AGEP", "PINCP", "WKHP", "PWGTP", *FEATURES)
    columns = {name: _record_column(records, name) for name in needed}
    adult = (columns["AGEP"] > 16) & (columns["PINCP"] > 100) & (columns["WKHP"] > 0) & (columns["PWGTP"] >= 1)
    kept = {name: values[adult] for name, values in columns.items()}
    people = _People(kept["ST"], kept["COW"], {name: kept[name] for name in FEATURES})
    found = {name: np.unique(kept[name]).tolist() for name in FEATURES} if codes is None else codes
    return people.federated(found, employment_class, seed, server_in_class, server_other)


def one_hot(features: Mapping[str, FloatArray], codes: Codes) -> Points:
    """Return the CSR matrix with a 1 in the column of each row's code of each feature."""
    columns, width = [], 0
    for name, values in features.items():
        columns.append(_places(name, values, codes[name]) + width)
        width += len(codes[name])
    cells = np.stack(columns, axis=1)
    ends = np.arange(0, cells.size + 1, cells.shape[1])
    return sparse.csr_matrix((np.ones(cells.size), cells.ravel(), ends), shape=(len(cells), width))


@dataclass(frozen=True)
class _People:
    states: Array
    classes: FloatArray
    features: Mapping[str, FloatArray]

    def federated(self, codes: Codes, employment_class: int, seed: int, in_class: int, other: int) -> FederatedData:
        rng = np.random.default_rng(seed)
        inside, outside = (np.flatnonzero((self.classes == employment_class) == flag) for flag in (True, False))
        if len(inside) <= in_class:
            raise InputError(f"employment_class must have more than the server's {in_class} rows, got {len(inside)} of {employment_class}.")
        own = draw_rows(rng, inside, in_class, "server_in_class")
        server = np.concatenate([own, draw_rows(rng, outside, other, "server_other")])
        rest = np.setdiff1d(inside, own)
        clients = split_by_owner(self._points(rest, codes), self.states[rest])
        return FederatedData(clients, self._points(server, codes).toarray(), name=f"census-{employment_class}")

    def _points(self, rows: IntArray, codes: Codes) -> Points:
        return one_hot({name: values[rows] for name, values in self.features.items()}, codes)


def _places(name: str, values: FloatArray, codes: Sequence[float | None]) -> IntArray:
    """Return the position of each value among the codes. NaN is equal to NaN here, and sorts last."""
    try:
        listed = np.array([np.nan if code is None else code for code in codes], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"codes of {name} must be numbers, got something else.") from None
    if listed.ndim != 1 or not len(listed):
        raise InputError(f"codes of {name} must be numbers, at least one, got shape {listed.shape}.")
    order = np.argsort(listed, kind="stable")
    found = np.minimum(np.searchsorted(listed, values, sorter=order), len(listed) - 1)
    places: IntArray = order[found]
    known = (listed[places] == values) | (np.isnan(listed[places]) & np.isnan(values))
    if not known.all():
        raise InputError(f"{name} must be one of its {len(listed)} codes, got another one.")
    return places


def _read_codes(path: Path) -> Codes:
    try:
        listed = parse_json(path.read_bytes())["categories"]
        return {name: [code for code, _ in listed[name]] for name in FEATURES}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path.name} must list [code, label] pairs for each of {list(FEATURES)}, got: {error!r}") from None


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    numbers: FloatArray = column.cast(pa.float64()).to_numpy()
    return numbers


def _record_column(records: Any, name: str) -> FloatArray:
    try:
        return np.asarray(records[name], dtype=np.float64)
    except KeyError:
        raise InputError(f"records must have the column {name}, got none of that name.") from None
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, got something else.") from None
