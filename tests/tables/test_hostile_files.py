"""Every reader of tables: a right answer or one clear line, whatever is in the file, in bounded memory."""

import io
import os
import pickle
import resource
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.tables.client_files import check_client_column, open_table, read_grouped
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.learn_schema import learn_schema
from feddp_kmeans.tables.schema import Schema
from tests.hostile import refused_or_right, spoilt_bytes, written

X = np.random.default_rng(0).standard_normal((9, 3))
MIXED = pa.table(
    {"a": X[:, 0], "b": X[:, 1].astype(np.float32), "w": ["x", None, "z"] * 3, "d": pa.array(["u", "v", "u"] * 3).dictionary_encode()}
)
SCHEMA = Schema((NumberColumn("a", 0, 99), CategoryColumn("w", ("x", "y")), CategoryColumn("d", ("u", "v"))))


def buffered(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def arrow(table, writer):
    sink = pa.BufferOutputStream()
    with writer(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue().to_pybytes()


def text(rows):
    return ("a,b,c\n" + "\n".join(",".join(f"{value:.3g}" for value in row) for row in rows) + "\n").encode()


FILES = {
    "a.csv": text(X),
    "q.csv": b'a;"b ""x""";c\n1,5;"x";3\n2;"y\nz";nan\n;;\n',
    "u.csv": "a\tb\n1\t2\n3\té\n".encode("utf-16"),
    "a.npy": buffered(lambda file: np.save(file, X)),
    "f.npy": buffered(lambda file: np.save(file, np.asfortranarray(X.astype(np.float32)))),
    "a.npz": buffered(lambda file: np.savez(file, X)),
    "c.npz": buffered(lambda file: np.savez_compressed(file, X)),
    "s.npz": buffered(lambda file: sparse.save_npz(file, sparse.csr_matrix(np.eye(4)))),
    "a.parquet": buffered(lambda file: pq.write_table(MIXED, file)),
    "n.parquet": buffered(lambda file: pq.write_table(MIXED.select(["a", "b"]), file)),
    "a.arrow": arrow(MIXED, pa.ipc.new_file),
    "a.feather": arrow(MIXED, pa.ipc.new_stream),
    "a.svm": b"1 1:0.5 3:2\n-1 2:1.5\n0 1:1 2:2 3:3 # x\n",
}
READERS = {
    "open": lambda path: open_table(path).check(),
    "learn": learn_schema,
    "encode": lambda path: open_table(path, SCHEMA).check(),
    "owners": lambda path: (check_client_column(str(path), "a"), read_grouped(open_table(path, SCHEMA), "a")),
    "inputs": lambda path: open_inputs(str(path), None),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_spoilt_table_is_refused_or_read(place, name, data):
    path = written(place / name, data.draw(spoilt_bytes(FILES[name])))
    for read in READERS.values():
        refused_or_right(lambda read=read: read(path))


@pytest.mark.parametrize("name", ["a.npy", "c.npz", "a.parquet", "a.arrow", "a.csv", "a.svm"])
def test_every_beginning_of_a_table_is_refused_or_read(place, name):
    content = FILES[name]
    for end in range(0, len(content), max(1, len(content) // 60)):
        refused_or_right(lambda end=end: READERS["open"](written(place / name, content[:end])))


def archive(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def array(values):
    return buffered(lambda file: np.save(file, values))


def claiming(shape, kind=b"<f8"):
    """An array file whose header states another shape."""
    header = b"{'descr': '" + kind + b"', 'fortran_order': False, 'shape': " + shape + b", }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


def matrix(**changed):
    found = {"format": np.array(b"csr"), "shape": np.array([4, 4]), "data": np.ones(4), "indices": np.arange(4), "indptr": np.arange(5)}
    return archive(**{name: array(value) for name, value in (found | changed).items()})


BOMBS = {
    "a zip that unpacks to 2 GiB.npz": archive(x=claiming(b"(16777216, 16)") + bytes(1 << 29)),
    "an array of 2**60 rows.npz": archive(x=claiming(b"(1152921504606846976, 3)")),
    "an array of 2**60 rows.npy": claiming(b"(1152921504606846976, 3)"),
    "no rows of 2**50 columns.npy": claiming(b"(0, 1125899906842624)"),
    "fewer than no rows.npy": claiming(b"(-1, 3)"),
    "objects.npz": archive(x=claiming(b"(2, 4)", b"|O")),
    "places outside the matrix.npz": matrix(indices=np.array([0, 1, 2, 1 << 40])),
    "places before the matrix.npz": matrix(indices=np.array([0, 1, 2, -5])),
    "ends outside the matrix.npz": matrix(indptr=np.array([0, 1, 2, 3, 1 << 40])),
    "ends that fall.npz": matrix(indptr=np.array([0, 3, 1, 4, 4])),
    "2**50 columns.npz": matrix(shape=np.array([4, 1 << 50])),
    "2**50 rows by columns.npz": matrix(format=np.array(b"csc"), shape=np.array([1 << 50, 4])),
    "a format of its own.npz": matrix(format=np.array(b"dia")),
    "a feature of number 2e9.svm": b"1 1:1 2000000000:1\n",
    "a feature beyond 64 bits.svm": b"1 18446744073709551617:1\n",
    "a feature below 0.svm": b"1 -3:1\n",
}


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_a_small_file_that_claims_to_be_large_is_refused_in_little_memory(tmp_path, name):
    path = written(tmp_path / name, BOMBS[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FedDPError):
        open_inputs(str(path), None) if not name.endswith("svm") else learn_schema(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # KiB


def test_compressed_and_sparse_archives_are_read_as_they_are(tmp_path):
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix):
        sparse.save_npz(tmp_path / "s.npz", kind(np.eye(4)))
        assert np.array_equal(open_table(tmp_path / "s.npz").read(), np.eye(4))
    np.savez_compressed(tmp_path / "z.npz", np.zeros((100_000, 20)))
    assert open_table(tmp_path / "z.npz").read().shape == (100_000, 20)


class Caught:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet", ".arrow", ".svm"])
def test_code_in_a_file_is_not_run(tmp_path, suffix):
    trap = tmp_path / "trap"
    objects = np.array([[Caught(trap), 1]], dtype=object)
    path = tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(path, objects, allow_pickle=True)
    elif suffix == ".npz":
        np.savez(path, objects)
    else:
        path.write_bytes(pickle.dumps(objects))
    for read in READERS.values():
        with pytest.raises(FedDPError):
            read(path)
    assert not trap.exists()
    np.load(io.BytesIO(array(np.zeros(1))))
    pickle.loads(pickle.dumps(Caught(trap)))
    assert trap.exists()  # the trap works
