"""Every place where the same points can live: the same federation of clients as arrays, tables, sparse rows, files, tasks or sites.

Sums are whole numbers, so every place must give the same sum, bit by bit.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.audit.loopback import LoopbackFederation
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batched import BatchedSilo
from feddp_kmeans.silos.batches import finite_batch
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import Engine, available, using
from feddp_kmeans.statistics.query import Query

_PIECES = 128
"""Empty batches in front: as many as are added up before threads start."""


@dataclass(frozen=True)
class Place:
    """A way to hold clients' points."""

    name: str
    make: Callable[[Sequence[FloatArray], PrivacyUnit], Federation]
    engine: Engine = Engine.NUMPY
    units: tuple[PrivacyUnit, ...] = tuple(PrivacyUnit)
    samples: bool = True
    """Whether clients can be sampled there."""
    secure_sum: bool = False
    quick: bool = True

    def using(self) -> AbstractContextManager[None]:
        """Compute with the engine of this place inside a ``with`` block."""
        return using(self.engine)


def places() -> list[Place]:
    """Return all places that this installation has."""
    found = [
        Place("arrays", lambda clients, _: InMemoryFederation(clients)),
        Place("compiled kernels", lambda clients, _: InMemoryFederation(clients), Engine.NUMBA) if available() else None,
        Place("float32 arrays", lambda clients, _: InMemoryFederation([points.astype(np.float32) for points in clients])),
        Place("one table", _table),
        Place("sparse rows", lambda clients, _: InMemoryFederation([_sparse(points) for points in clients])),
        Place("sparse rows, compiled kernels", lambda clients, _: InMemoryFederation([_sparse(p) for p in clients]), Engine.NUMBA)
        if available()
        else None,
        Place("batches on threads", lambda clients, _: LocalFederation(_InPieces(clients)), quick=False),
        Place("files", lambda clients, _: _files(clients)),
        Place("kept on record", lambda clients, _: _recorded(clients)),
        Place("sites, aggregator", lambda clients, unit: LoopbackFederation(clients, unit=unit, trust=Trust.AGGREGATOR), quick=False),
        Place(
            "sites, secure sum", lambda clients, unit: LoopbackFederation(clients, unit=unit), samples=False, secure_sum=True, quick=False
        ),
        _dask_place(),
        _torch_place(),
    ]
    return [place for place in found if place is not None]


def exact_sums(place: Place, clients: Sequence[FloatArray], queries: Sequence[Query]) -> list[IntArray]:
    """Return the sums without noise of queries of one unit, all in one run, in integer steps."""
    unit = queries[0].statistic.unit
    releases = [silent(query, f"query {index}") for index, query in enumerate(queries)]
    plan = Plan(unit, float("inf"), 1e-6, tuple(releases))
    with place.using():
        found = answers(place.make(clients, unit), plan, list(zip(queries, releases, strict=True)), seed=0)
    return [np.rint(answer).astype(np.int64) for answer in found]


def answers(federation: Federation, plan: Plan, asked: Sequence[tuple[Query, Release]], seed: int | None) -> list[FloatArray]:
    """Return what a federation answers in one run under this plan."""
    return answers_and_ledger(federation, plan, asked, seed)[0]


def answers_and_ledger(
    federation: Federation, plan: Plan, asked: Sequence[tuple[Query, Release]], seed: int | None
) -> tuple[list[FloatArray], list[dict[str, Any]]]:
    """Return what a federation answers in one run under this plan, and the rows of its ledger."""
    with federation.open(plan, seed) as run:
        values = [run.noisy_sum(query.statistic, release, **query.public) for query, release in asked]
        return values, run.ledger.rows()


def silent(query: Query, name: str, times: int = 1) -> Release:
    """Return a release of this query without noise, in integer steps."""
    bound = query.sensitivity.l2
    return Release(name, Mechanism.GAUSSIAN, bound, bound, 0.0, query.size, times)


def _secure_sum(clients: Sequence[FloatArray], unit: PrivacyUnit) -> Federation:
    return LoopbackFederation(clients, unit=unit)


def _recorded(clients: Sequence[FloatArray]) -> Federation:
    folder = _folder()
    return _with(folder, RecordedFederation(InMemoryFederation(clients), folder))


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="feddp-audit-"))


def _with(folder: Path, federation: Federation) -> Federation:
    """Return the federation; its folder goes when it does."""
    weakref.finalize(federation, shutil.rmtree, folder, ignore_errors=True)
    return federation


def _table(clients: Sequence[FloatArray], _: PrivacyUnit) -> Federation:
    """Return one table whose rows are in no order, and whose clients are told by a column."""
    sizes = [len(points) for points in clients]
    order = np.random.default_rng(0).permutation(sum(sizes))
    groups = np.repeat(np.arange(len(clients)), sizes)
    whole: FloatArray = np.concatenate(clients)
    return InMemoryFederation.from_groups(np.asfortranarray(whole[order]), groups[order])


def _sparse(points: FloatArray) -> Any:
    """Return the points as a matrix of stored numbers, some of them in two parts and some of them zero."""
    from scipy import sparse

    rows, columns = np.nonzero(points != 0)
    values = points[rows, columns]
    zeros = np.flatnonzero((points == 0).all(axis=1))[:1]
    data = np.concatenate([values / 2, values / 2, np.zeros(len(zeros))])
    where = np.concatenate([rows, rows, zeros]), np.concatenate([columns, columns, np.zeros(len(zeros), dtype=np.int64)])
    order = np.argsort(where[0], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(where[0], minlength=len(points)))])
    return sparse.csr_matrix((data[order], where[1][order], starts), shape=points.shape)


class _InPieces(BatchedSilo):
    """Clients whose points come in very many small batches, as those of a large table do."""

    def __init__(self, clients: Sequence[FloatArray]) -> None:
        self._clients = clients
        self.n_clients, self.dimension, self.size = len(clients), int(clients[0].shape[1]), 1

    def as_one_client(self) -> Silo:
        """Return the points as those of one client."""
        return _InPieces([np.concatenate(self._clients)])

    def nonprivate_clients(self) -> Iterator[Any]:
        """Yield each client's points."""
        return iter(self._clients)

    def points(self) -> Iterator[ClientBatch]:
        """Yield very many empty batches, then each point by itself."""
        return self._after_many(point for points in self._clients for point in points[:, None])

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield very many empty batches, then each client by itself."""
        return self._after_many(points for index, points in enumerate(self._clients) if cohort is None or cohort[index])

    def _after_many(self, parts: Iterable[FloatArray]) -> Iterator[ClientBatch]:
        for part in chain([np.empty((0, self.dimension))] * _PIECES, parts):
            yield finite_batch(part, np.array([len(part)]))


def _files(clients: Sequence[FloatArray]) -> Federation:
    """Return one file per client: Parquet, CSV and NumPy in turn."""
    from feddp_kmeans.tables.client_files import open_table

    folder = _folder()
    paths = [_written(folder / f"{index:03d}", points, index % 3) for index, points in enumerate(clients)]
    return _with(folder, FileFederation([open_table(path) for path in paths]))


def _written(stem: Path, points: FloatArray, kind: int) -> Path:
    names = [f"x{column}" for column in range(points.shape[1])]
    if kind == 0:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = stem.with_suffix(".parquet")
        pq.write_table(pa.table(dict(zip(names, points.T, strict=True))), path)
    elif kind == 1:
        path = stem.with_suffix(".csv")
        lines = [",".join(names), *(",".join(repr(float(value)) for value in row) for row in points)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        path = stem.with_suffix(".npy")
        np.save(path, points)
    return path


def _dask_place() -> Place | None:
    try:
        from dask import config
        from dask.delayed import delayed
    except ImportError:
        return None
    from feddp_kmeans.silos.dask_silo import DaskSilo

    def make(clients: Sequence[FloatArray], _: PrivacyUnit) -> Federation:
        config.set(scheduler="synchronous")
        names = tuple(f"x{column}" for column in range(clients[0].shape[1]))
        return LocalFederation(DaskSilo([delayed(points) for points in clients], names))

    return Place("a Dask cluster", make)


def _torch_place() -> Place | None:
    try:
        import torch

        from feddp_kmeans.silos.gpu.torch_silo import TorchSilo
    except (ImportError, FedDPError):
        return None

    def make(clients: Sequence[FloatArray], _: PrivacyUnit) -> Federation:
        return LocalFederation(TorchSilo([torch.tensor(points) for points in clients]))

    return Place("tensors", make, units=(PrivacyUnit.POINT,), samples=False)
