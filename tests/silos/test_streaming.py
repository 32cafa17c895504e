"""Data larger than the memory that a run may use: what is resident does not grow with the file."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process its peak memory")

DIMENSION = 100
CHILD = """
import json, sys
from pathlib import Path
import numpy as np
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS
from feddp_kmeans.tables.client_files import open_table
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.statistics.engine import Engine, using

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3

public = {"center": np.zeros(100), "radius": 65536.0, "centers": np.zeros((1, 100))}
silo = SourceSilo([open_table(Path(sys.argv[1]))])
before = peak()
with using(Engine.NUMPY):  # A compiler takes memory of its own, whatever the file.
    total = silo.exact_sum(Query(CLUSTER_SUMS, public, 100))
print(json.dumps({"growth": peak() - before, "sum": int(total.sum())}))
"""


def test_a_mapped_file_of_600_megabytes_streams_through_200(tmp_path):
    path = tmp_path / "client.npy"
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(1_500_000, DIMENSION))
    table[::100_000, 3] = 2.0
    table.flush()
    assert path.stat().st_size > 600e6
    found = summed(path)
    assert found["sum"] == 30
    assert found["growth"] < 200


def test_a_parquet_file_with_one_row_group_streams(tmp_path):
    path = tmp_path / "client.parquet"
    rows = 500_000
    column = np.zeros(rows)
    column[-1] = 5.0
    table = pa.table({f"x{i}": column for i in range(DIMENSION)})
    pa.parquet.write_table(table, path, row_group_size=rows, use_dictionary=False, compression="none")
    assert path.stat().st_size > 400e6
    found = summed(path)
    assert found["sum"] == 5 * DIMENSION
    assert found["growth"] < 250  # pages of a megabyte in each of 100 columns


def summed(path):
    made = subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)
