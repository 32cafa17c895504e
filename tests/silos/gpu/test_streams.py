"""Points that are streamed to a device: the integers of numpy, however they are cut, and wherever they lie."""

# ruff: noqa: E402 - without torch nothing below can be imported

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="torch is an extra, and large")

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.silos.gpu import streams, torch_sources
from feddp_kmeans.silos.gpu.streams import ParquetPoints, on_device
from feddp_kmeans.silos.gpu.torch_silo import TorchSilo
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics.query import Query
from tests.statistics.cases import ALL_CASES, DIMENSION, POINT_CASES, names

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


def table(dtype=np.float32, rows=500):
    points = np.random.default_rng(6).standard_normal((rows, DIMENSION)).astype(dtype)
    points[3, 1], points[-1, 0] = np.nan, np.inf
    return points


class Pieces:
    """What a user may write: points that come from anywhere, at most so many rows at a time, and sometimes none."""

    def __init__(self, points):
        self.points, self.shape = points, points.shape

    def pieces(self, rows):
        yield self.points[:0]
        for start in range(0, len(self.points), min(rows, 7)):
            yield self.points[start : start + min(rows, 7)]


FORMS = {
    "array": lambda points: points,
    "by columns": np.asfortranarray,
    "every second row": lambda points: np.repeat(points, 2, axis=0)[::2],
    "backwards": lambda points: points[::-1].copy()[::-1],
    "of other bytes": lambda points: points.astype(points.dtype.newbyteorder()),
    "float16": lambda points: points.astype(np.float16),
    "tensor": torch.as_tensor,
    "columns of a wider tensor": lambda points: torch.as_tensor(np.column_stack([points, points]))[:, :DIMENSION],
    "float16 tensor": lambda points: torch.as_tensor(points).to(torch.float16),
    "pieces": Pieces,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("piece_bytes", [1, 400, 1 << 28])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_form_of_points_and_the_size_of_pieces_change_nothing(dtype, form, piece_bytes, device, monkeypatch):
    monkeypatch.setattr(torch_sources, "PIECE_BYTES", piece_bytes)
    points = table(np.float16 if "float16" in form else dtype, 20).astype(dtype)
    for statistic, public, *_ in ALL_CASES[::5]:
        query = Query(statistic, public, DIMENSION)
        silo = TorchSilo([FORMS[form](points)], device)
        assert np.array_equal(silo.exact_sum(query), ArraySilo([points]).exact_sum(query))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", POINT_CASES, ids=names(POINT_CASES))
def test_streamed_points_add_up_to_those_on_the_device(case, device, monkeypatch):
    monkeypatch.setattr(torch_sources, "PIECE_BYTES", 1000)
    statistic, public, *_ = case
    query, points = Query(statistic, public, DIMENSION), table()
    streamed = TorchSilo([points, points[:0], points[:1]], device).exact_sum(query)
    assert np.array_equal(
        streamed, TorchSilo([torch.as_tensor(points, device=device), torch.as_tensor(points[:1])], device).exact_sum(query)
    )
    assert np.array_equal(streamed, ArraySilo([points, points[:1]]).exact_sum(query))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_parquet_files_give_the_integers_of_their_numbers(dtype, device, tmp_path, monkeypatch):
    monkeypatch.setattr(torch_sources, "PIECE_BYTES", 1000)
    points = np.nan_to_num(table() * 3, posinf=0.0).astype(dtype)
    columns = {f"c{j}": pa.array(points[:, j]) for j in range(DIMENSION)} | {"name": pa.array(["a"] * len(points))}
    nothing = pa.array([None if row == 7 else float(points[row, 2]) for row in range(len(points))]).cast(columns["c2"].type)
    (tmp_path / "some").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "some" / "0.parquet", row_group_size=64)
    pq.write_table(pa.table(columns | {"c2": nothing}), tmp_path / "some" / "1.parquet")
    pq.write_table(pa.table(columns)[:0], tmp_path / "some" / "2.parquet")
    order = ["c3", "c0", "c2", "c1"]
    client = ParquetPoints(tmp_path / "some", order)
    assert client.shape == (1000, 4)
    assert client.dtype == (np.float32 if dtype == np.float32 else np.float64)
    held = points[:, [3, 0, 2, 1]].astype(np.float64)
    whole = np.concatenate([held, np.delete(held, 7, axis=0)])
    silo = TorchSilo([client, ParquetPoints([tmp_path / "some" / "2.parquet"], order)], device)
    assert silo.columns == tuple(order)
    for statistic, public, *_ in ALL_CASES[::4]:
        if "fill" not in public and not statistic.sees_gaps:
            query = Query(statistic, public, DIMENSION)
            assert np.array_equal(silo.exact_sum(query), ArraySilo([whole]).exact_sum(query))


def test_what_holds_no_numbers_is_refused_in_a_line(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": ["x"]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("no such file")
    for paths, columns, rule in (
        (tmp_path / "a.parquet", None, "columns must hold numbers, got string in column 'b' of a.parquet"),
        (tmp_path / "a.parquet", ["c"], "columns must be in a.parquet, each once, got 'c'"),
        (tmp_path / "a.parquet", [], "columns must be at least one"),
        (tmp_path / "b.parquet", None, "paths must name Parquet files"),
        (tmp_path / "c.parquet", None, "paths must name Parquet files"),
        ([], None, "paths must name Parquet files"),
    ):
        with pytest.raises(FedDPError, match=rule):
            ParquetPoints(paths, columns)


@pytest.mark.parametrize("device", DEVICES)
def test_pieces_arrive_in_order_and_whole_with_what_comes_with_them(device, monkeypatch):
    monkeypatch.setattr(streams, "_COPY_BYTES", 64)
    pieces = [np.full((n, 3), float(n), dtype=np.float32) for n in (5, 0, 1000, 7)]
    pieces[3] = np.asfortranarray(pieces[3] + np.arange(3, dtype=np.float32))
    found = list(on_device(((piece, len(piece)) for piece in pieces), device))
    assert [tag for _, tag in found] == [5, 0, 1000, 7]
    assert all(np.array_equal(there.cpu().numpy(), piece) for (there, _), piece in zip(found, pieces, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_an_array_is_pinned_on_cuda_as_long_as_its_silo_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_WORTH_BYTES", 1)
    points = np.ones((100_000, DIMENSION), dtype=np.float32)
    np.save(tmp_path / "points.npy", points)
    silo, again = TorchSilo([points], "cuda"), TorchSilo([points[7:]], "cuda")
    assert torch.from_numpy(points).is_pinned()
    statistic, public, *_ = POINT_CASES[0]
    query = Query(statistic, public, DIMENSION)
    first, others = silo.exact_sum(query), again.exact_sum(query)
    del silo
    assert not torch.from_numpy(points).is_pinned()
    assert np.array_equal(again.exact_sum(query), others)
    in_a_file = TorchSilo([np.load(tmp_path / "points.npy", mmap_mode="r")], "cuda")
    assert np.array_equal(in_a_file.exact_sum(query), first)


@pytest.mark.parametrize("device", DEVICES)
def test_an_error_of_a_reader_reaches_the_caller(device):
    def broken():
        yield np.zeros((2, 2)), None
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(on_device(broken(), device))
