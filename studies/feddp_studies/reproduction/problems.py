"""The data sets of the paper's evaluation, and ours beside them. One registration makes a data set, its unit and its k known."""

from typing import Any

from feddp_kmeans.errors import InputError
from feddp_kmeans.mixture import gaussian_mixture
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_studies.datasets.census import CATEGORIES, TABLE, census
from feddp_studies.datasets.central import central_data, mixture_in_box
from feddp_studies.datasets.stack_exchange import stack_exchange
from feddp_studies.datasets.stack_overflow import CLIENT_SIZES, SETS
from feddp_studies.reproduction.data_set import DataSet

FIRST_MIXTURE = 1000
"""Seed of the first mixture drawn; the noise of run s has seed s."""

UNBALANCED = (0.3, 0.2, 0.12, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02)

DATA_SETS: dict[str, DataSet] = {}
"""Every data set by its name."""


def register_data_set(made: DataSet) -> DataSet:
    """Make the data set known by its name."""
    if DATA_SETS.get(made.name, made) != made:
        raise InputError(f"data set must have a name of its own, got {made.name!r}, which is taken.")
    DATA_SETS[made.name] = made
    return made


def data_set(name: str) -> DataSet:
    """Return the data set of this name."""
    if name not in DATA_SETS:
        raise InputError(f"data set must be one of {sorted(DATA_SETS)}, got {name!r}.")
    return DATA_SETS[name]


def _mixture(name: str, k: int = 10, **how: Any) -> None:
    register_data_set(DataSet(name, gaussian_mixture, how if k == 10 else how | {"k": k}, k, first_seed=FIRST_MIXTURE))


def _clients(name: str, n_clients: int, size: int = 50, **how: Any) -> None:
    arguments = {"n_clients": n_clients, "client_size": size, **how}
    register_data_set(DataSet(name, gaussian_mixture, arguments, 10, PrivacyUnit.CLIENT, size, first_seed=FIRST_MIXTURE))


_mixture("mixture")
_mixture("mixture-clean", server_uniform=0)
for _count in (1, 2, 5):
    _mixture(f"missing-{_count}", missing_on_server=_count)
_mixture("mixture-d50", dimension=50)
_mixture("mixture-d200", dimension=200)
_mixture("mixture-k5", k=5)
_mixture("mixture-k20", k=20)
_mixture("mixture-unbalanced", component_weights=UNBALANCED)
for _count in (1000, 2000, 5000):
    _clients(f"clients-{_count}", _count)
_clients("clients-unbalanced", 1000, component_weights=UNBALANCED)
for _class in (2, 5, 6):
    register_data_set(DataSet(f"census-{_class}", census, {"employment_class": _class}, files=(TABLE, CATEGORIES), drawn=False))
for _site, _size in (("stackoverflow", 4), ("travel", 1)):
    _files = (f"stackexchange_{_site}.parquet",)
    register_data_set(DataSet(_site, stack_exchange, {"site": _site}, 10, PrivacyUnit.CLIENT, _size, _files, drawn=False))
for _name, _set in SETS.items():
    _how = {"site": _name, "topics": _set.topics}
    _files = (f"stackexchange_{_name}.parquet",)
    register_data_set(DataSet(_name, stack_exchange, _how, 10, PrivacyUnit.CLIENT, CLIENT_SIZES[_set.reading], _files, drawn=False))
for _name, _k in (("gas", 10), ("letter", 10), ("s1", 15), ("digits", 10)):
    _tables = () if _name == "digits" else (f"central/{_name}.npz",)
    register_data_set(DataSet(_name, central_data, {"name": _name, "k": _k}, _k, files=_tables, drawn=False, in_box=True))
register_data_set(DataSet("mixture-box", mixture_in_box, first_seed=FIRST_MIXTURE, in_box=True))
_many = {"n_clients": 2000, "client_size": 50}
register_data_set(DataSet("clients-box", mixture_in_box, _many, 10, PrivacyUnit.CLIENT, first_seed=FIRST_MIXTURE, in_box=True))
