"""Private runs on Parquet files in Spark and in Dask, and what a row costs there compared with a step of Spark's own k-means.

    python studies/benchmarks/cluster_silos.py --rows 1e8 --folder /tmp/points --engines spark dask

Files of 10^6 rows of 20 float32 numbers (8 GB at 10^8 rows) are written once and kept. Every engine is a process of its own on all
cores of this machine. Memory is the largest sum of the resident memory of its Python processes; the JVM's is shown beside it. Needs the
extras "spark" and "dask", and Java. Linux only: memory is read from /proc.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

K, DIMENSION, FILE_ROWS = 10, 20, 10**6
BOX = (-1.0, 2.0)
ONE_STEP, MORE_STEPS, STEP_ROWS = 1, 21, 4 * 10**6
"""A step of Spark's k-means is what fits of so many steps differ by, on at most so many rows. It reads rows that Spark keeps in memory
after the first step; where they do not fit there, a step takes far longer."""


def write_files(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    means = np.random.default_rng(0).random((K, DIMENSION))
    for number in range(int(rows) // FILE_ROWS):
        path = folder / f"part-{number:04d}.parquet"
        if not path.exists():
            rng = np.random.default_rng(number)
            points = (means[rng.integers(K, size=FILE_ROWS)] + 0.2 * rng.standard_normal((FILE_ROWS, DIMENSION))).astype(np.float32)
            half = path.with_suffix(".half")
            pq.write_table(pa.table({f"x{j}": points[:, j] for j in range(DIMENSION)}), half, compression="none", use_dictionary=False)
            half.rename(path)


class Memory(threading.Thread):
    """The largest resident memory of this process and its children, in MB: Python's, and Java's."""

    def __init__(self):
        super().__init__(daemon=True)
        self.python = self.java = 0.0

    def run(self):
        while True:
            held = {False: 0.0, True: 0.0}
            for pid in _family(os.getpid()):
                try:
                    is_java = Path(f"/proc/{pid}/comm").read_text().strip() == "java"
                    held[is_java] += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
                except (OSError, IndexError):
                    continue
            self.python, self.java = max(self.python, held[False]), max(self.java, held[True])
            time.sleep(0.5)


def _family(pid):
    yield pid
    try:
        children = [child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def private_run(silo, method, folder, report):
    from feddp_kmeans.algorithm.clustering import run
    from feddp_kmeans.algorithm.prepare import prepare
    from feddp_kmeans.algorithm.settings import Settings
    from feddp_kmeans.federation.local import LocalFederation

    server = pq.read_table(folder / "part-0000.parquet").slice(0, 300)
    server = np.column_stack([server[name] for name in server.column_names]).astype(np.float64)
    began, at = time.perf_counter(), []
    prepared = prepare(Settings(K, 1.0, method=method, noise="gaussian"), server, 1)
    run(LocalFederation(silo), prepared, on_release=lambda name: at.append((name, time.perf_counter() - began)))
    report(f"{method}, whole run", time.perf_counter() - began, releases=len(at))


def spark_engine(folder, rows, methods, report):
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from feddp_kmeans.silos.spark_silo import SparkSilo

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.driver.host": "127.0.0.1"}
    spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    files = [str(folder / f"part-{number:04d}.parquet") for number in range(int(rows) // FILE_ROWS)]
    frame = spark.read.parquet(*files)
    silo = SparkSilo(frame, files=files)
    one_sum(silo, report)
    few = files[: STEP_ROWS // FILE_ROWS]
    one_sum(SparkSilo(spark.read.parquet(*few)), report, "ours, of a frame: one exact sum by nearest center", rows=len(few) * FILE_ROWS)
    vectors = VectorAssembler(inputCols=frame.columns, outputCol="features").transform(spark.read.parquet(*few)).select("features")
    seconds = {}
    for steps in (ONE_STEP, MORE_STEPS):
        began = time.perf_counter()
        KMeans(k=K, initMode="random", maxIter=steps, tol=0.0, seed=1).fit(vectors)
        seconds[steps] = time.perf_counter() - began
    report("Spark KMeans: the first step, with reading", seconds[ONE_STEP], rows=len(few) * FILE_ROWS)
    report(
        "Spark KMeans: a further step, rows in memory",
        (seconds[MORE_STEPS] - seconds[ONE_STEP]) / (MORE_STEPS - ONE_STEP),
        rows=len(few) * FILE_ROWS,
    )
    for method in methods:
        private_run(silo, method, folder, report)
    spark.stop()


def dask_engine(folder, rows, methods, report):
    import dask.dataframe as dd

    from feddp_kmeans.silos.dask_silo import DaskSilo

    files = [str(folder / f"part-{number:04d}.parquet") for number in range(int(rows) // FILE_ROWS)]
    silo = DaskSilo.of(dd.read_parquet(files, split_row_groups=False)).as_one_client()
    one_sum(silo, report)
    for method in methods:
        private_run(silo, method, folder, report)


def one_sum(silo, report, what="ours: one exact sum by nearest center", **more):
    """Report the seconds of one exact sum by nearest center: a private Lloyd step without its noise."""
    from feddp_kmeans.statistics import REGISTRY
    from feddp_kmeans.statistics.fixed_point import RESOLUTION
    from feddp_kmeans.statistics.query import Query

    radius = 3.0 * DIMENSION**0.5
    centers = np.random.default_rng(0).random((K, DIMENSION)) * RESOLUTION / radius
    query = Query(REGISTRY["cluster-sums"], {"center": np.zeros(DIMENSION), "radius": radius, "centers": centers}, DIMENSION)
    for _ in range(2):
        began = time.perf_counter()
        silo.exact_sum(query)
        seconds = time.perf_counter() - began
    report(what, seconds, **more)


ENGINES = {"spark": spark_engine, "dask": dask_engine}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--methods", nargs="+", default=["paper", "refined"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        memory = Memory()
        memory.start()

        def report(what, seconds, **more):
            print(json.dumps({"what": what, "seconds": seconds, "python": memory.python, "java": memory.java} | more), flush=True)

        ENGINES[given.child](given.folder, given.rows, given.methods, report)
        return
    write_files(given.folder, given.rows)
    print(f"| engine, {given.rows:.0e} x {DIMENSION} | what | seconds | core-microseconds a row | Python, MB | JVM, MB |")
    print("|---|---|---|---|---|---|")
    for engine in given.engines:
        command = [sys.executable, __file__, "--child", engine, "--rows", str(given.rows), "--folder", str(given.folder), "--methods"]
        with subprocess.Popen([*command, *given.methods], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("{"):
                    found = json.loads(line)
                    each = 1e6 * found["seconds"] * (os.cpu_count() or 1) / found.get("rows", given.rows) / found.get("releases", 1)
                    what = found["what"] + (f" ({found['releases']} releases)" if "releases" in found else "")
                    what += f" ({found['rows']:,} rows)" if "rows" in found else ""
                    shown = f"{found['seconds']:.1f} | {each:.2f} | {found['python']:.0f} | {found['java']:.0f}"
                    print(f"| {engine} | {what} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
