"""Every place where points can live: the same clients as arrays, tables, sparse rows, files, tasks or sites.

Sums are whole numbers, so every place must give the same sum, bit by bit.
"""

import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from feddp_kmeans._typing import BoolArray, FloatArray, IntArray
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.base import Federation
from feddp_kmeans.federation.files import FileFederation
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.local import LocalFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.network.participant import Participant
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Policy, Trust
from feddp_kmeans.network.transport import Lost
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batches import finite_batch
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.batch import ClientBatch
from feddp_kmeans.statistics.engine import Engine, available, using
from feddp_kmeans.statistics.query import Query

_PIECES = 128
"""Number of empty batches in front: those that are added up before threads start."""

Clients = Sequence[FloatArray]
Asked = Sequence[tuple[Query, Release] | tuple[Query, Release, int]]
"""Queries, releases, and how many of them are made as one if it is more than one."""


@dataclass(frozen=True)
class Place:
    """A way to hold clients' points."""

    name: str
    make: Callable[[Clients, PrivacyUnit], Federation]
    engine: Engine = Engine.NUMPY
    samples: bool = True
    """Whether clients can be sampled there."""
    secure_sum: bool = False


ARRAYS = Place("arrays", lambda clients, _: InMemoryFederation(clients))


def places() -> list[Place]:
    """Return all places that this installation has; arrays come first."""
    compiled = [
        Place("compiled kernels", ARRAYS.make, Engine.COMPILED),
        Place("sparse rows, compiled kernels", lambda clients, _: InMemoryFederation([_sparse(p) for p in clients]), Engine.COMPILED),
    ]
    return [
        ARRAYS,
        Place("float32 arrays", lambda clients, _: InMemoryFederation([points.astype(np.float32) for points in clients])),
        Place("one table", _table),
        Place("sparse rows", lambda clients, _: InMemoryFederation([_sparse(points) for points in clients])),
        Place("batches on threads", lambda clients, _: LocalFederation(_InPieces(clients))),
        Place("files", lambda clients, _: _files(clients)),
        Place("kept on record", lambda clients, _: _recorded(clients)),
        Place("sites, aggregator", lambda clients, unit: LoopbackFederation(clients, unit=unit, trust=Trust.AGGREGATOR)),
        Place("sites, secure sum", lambda clients, unit: LoopbackFederation(clients, unit=unit), samples=False, secure_sum=True),
        *(compiled if available() else []),
        *_optional_places(),
    ]


def exact_sums(place: Place, clients: Clients, queries: Sequence[Query]) -> list[IntArray]:
    """Return the sums without noise of queries of one unit, all in one run, in integer steps."""
    unit = queries[0].statistic.unit
    asked = [(query, silent(query, f"query {index}")) for index, query in enumerate(queries)]
    plan = Plan(unit, math.inf, 1e-6, tuple(release for _, release in asked))
    with using(place.engine):
        found, _ = answers(place.make(clients, unit), plan, asked, seed=0)
    return [np.rint(answer).astype(np.int64) for answer in found]


def answers(federation: Federation, plan: Plan, asked: Asked, seed: int | None) -> tuple[list[FloatArray], list[dict[str, Any]]]:
    """Return what a federation answers in one run under this plan, and the rows of its ledger."""
    with federation.open(plan, seed) as run:
        values = [
            run.noisy_sum(query.statistic, release, times=times[0] if times else 1, **query.public) for query, release, *times in asked
        ]
        return values, run.ledger.rows()


def silent(query: Query, name: str, times: int = 1) -> Release:
    """Return a release of this query without noise, in integer steps."""
    bound = query.sensitivity.l2
    return Release(name, Mechanism.GAUSSIAN, bound, bound, 0.0, query.size, times)


def _recorded(clients: Clients) -> Federation:
    folder = _folder()
    return _owning(folder, RecordedFederation(InMemoryFederation(clients), folder))


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="feddp-audit-"))


def _owning(folder: Path, federation: Federation) -> Federation:
    """Return the federation; its folder is deleted with it."""
    weakref.finalize(federation, shutil.rmtree, folder, ignore_errors=True)
    return federation


def _table(clients: Clients, _: PrivacyUnit) -> Federation:
    """Return one table in which the rows of the clients are mixed; clients without rows are left out."""
    sizes = [len(points) for points in clients]
    order = np.random.default_rng(0).permutation(sum(sizes))
    groups = np.repeat(np.arange(len(clients)), sizes)
    whole: FloatArray = np.concatenate(clients)
    return InMemoryFederation.from_groups(np.asfortranarray(whole[order]), groups[order])


def _sparse(points: FloatArray) -> Any:
    """Return the points as a sparse matrix with duplicate entries and stored zeros."""
    from scipy import sparse

    rows, columns = np.nonzero(points != 0)
    values = points[rows, columns]
    zeros = np.flatnonzero((points == 0).all(axis=1))[:1]
    data = np.concatenate([values / 2, values / 2, np.zeros(len(zeros))])
    where = np.concatenate([rows, rows, zeros]), np.concatenate([columns, columns, np.zeros(len(zeros), dtype=np.int64)])
    order = np.argsort(where[0], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(where[0], minlength=len(points)))])
    return sparse.csr_matrix((data[order], where[1][order], starts), shape=points.shape)


class _InPieces(ArraySilo):
    """Clients whose points come in many small batches, like those of a large table."""

    def points(self) -> Iterator[ClientBatch]:
        """Yield many empty batches, then the points in small ones."""
        return self._after_many(part for source in self._sources for part in np.array_split(source.read(), 40))

    def whole(self, cohort: BoolArray | None) -> Iterator[ClientBatch]:
        """Yield very many empty batches, then each client by itself."""
        return self._after_many(source.read() for index, source in enumerate(self._sources) if cohort is None or cohort[index])

    def _after_many(self, parts: Iterable[FloatArray]) -> Iterator[ClientBatch]:
        for part in chain([np.empty((0, self.dimension))] * _PIECES, parts):
            yield finite_batch(part, np.array([len(part)]))


def _files(clients: Clients) -> Federation:
    """Return one file per client: Parquet, CSV and NumPy in turn."""
    from feddp_kmeans.tables.client_files import open_table

    folder = _folder()
    paths = [_written(folder / f"{index:03d}", points, index % 3) for index, points in enumerate(clients)]
    return _owning(folder, FileFederation([open_table(path) for path in paths]))


def _written(stem: Path, points: FloatArray, kind: int) -> Path:
    import pyarrow as pa
    from pyarrow import csv, parquet

    path = stem.with_suffix((".parquet", ".csv", ".npy")[kind])
    if kind == 2:
        np.save(path, points)
        return path
    table = pa.table({f"x{column}": values for column, values in enumerate(points.T)})
    parquet.write_table(table, path) if kind == 0 else csv.write_csv(table, path)
    return path


def _optional_places() -> Iterator[Place]:
    """Yield the places that need a library that may not be installed."""
    try:
        from dask import config
        from dask.delayed import delayed

        from feddp_kmeans.silos.dask_silo import DaskSilo

        def tasks(clients: Clients, _: PrivacyUnit) -> Federation:
            config.set(scheduler="synchronous")
            names = tuple(f"x{column}" for column in range(clients[0].shape[1]))
            return LocalFederation(DaskSilo([delayed(points) for points in clients], names))

        yield Place("a Dask cluster", tasks)
    except ImportError:
        pass
    try:
        import torch

        from feddp_kmeans.silos.gpu.torch_silo import TorchSilo

        def tensors(clients: Clients, _: PrivacyUnit) -> Federation:
            return LocalFederation(TorchSilo([torch.tensor(points) for points in clients]))

        yield Place("tensors", tensors)
    except (ImportError, FedDPError):
        pass


class LoopbackTransport:
    """Hands each request to its participant. Those in ``absent`` do not answer."""

    def __init__(self, sites: Sequence[Participant]) -> None:
        self._sites = dict(enumerate(sites, 1))
        self.absent: set[int] = set()
        self.sent: list[tuple[int, bytes, bytes]] = []
        """Which site was asked what, and its answer."""

    def nodes(self) -> list[int]:
        """Return who is connected."""
        return list(self._sites)

    def exchange(self, requests: Mapping[int, bytes], timeout: float, patient: Collection[int]) -> dict[int, bytes | Lost]:
        """Return the answers of all sites except the absent ones."""
        del timeout, patient
        answered = {node: self._sites[node].handle(asked) for node, asked in requests.items() if node not in self.absent}
        self.sent += [(node, requests[node], reply) for node, reply in answered.items()]
        return {node: answered.get(node, Lost("it does not answer")) for node in requests}


class LoopbackFederation(RemoteFederation):
    """One site per client in this process, with its own odometer and state in a temporary folder. A site holds its points in two files."""

    def __init__(
        self,
        clients: Sequence[Any],
        *,
        unit: PrivacyUnit = PrivacyUnit.POINT,
        epsilon: float = math.inf,
        trust: Trust = Trust.SECURE_SUM,
        **more: Any,
    ) -> None:
        folder = _folder()
        _owning(folder, self)
        self.odometers = [Odometer(folder / f"{index:03d}.jsonl") for index in range(len(clients))]
        policy = Policy(unit, epsilon, allow_aggregator=trust is Trust.AGGREGATOR, allow_simulation=True)
        sites = [self._site(points, odometer, policy) for points, odometer in zip(clients, self.odometers, strict=True)]
        self.loopback = LoopbackTransport(sites)
        super().__init__(self.loopback, trust=trust, **more)
        self.connect()

    @staticmethod
    def _site(points: Any, odometer: Odometer, policy: Policy) -> Participant:
        data = ArraySilo([points[::2], points[1::2]])
        name = f"site{odometer.path.stem}"
        return Participant(name, lambda: data, registry=REGISTRY, policy=policy, odometer=odometer, state=odometer.path.with_suffix(""))
