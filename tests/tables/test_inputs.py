"""Opening the data of a run: what is left out, what is refused, and who is told."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.run_request import REQUEST, RunRequest, opened, read_request
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.silos.memory import TableSilo
from feddp_kmeans.silos.sorted_rows import SortedSilo
from feddp_kmeans.tables import inputs
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.row_counts import FILLED
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.stated_columns import StatedColumns
from tests.cli.command import feddp
from tests.logs import logged

FIT = ("-k", 2, "--epsilon", 3, "--box", "0,9", "--lloyd-steps", 0, "--out", "run")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clients").mkdir()
    (tmp_path / "clients" / "0.csv").write_text("")
    for index in (1, 2):
        (tmp_path / "clients" / f"{index}.csv").write_text("x,y,w\n1,2,a\n3,4,b\n5,word,c\n6\n")
    return tmp_path


def test_a_broken_file_is_refused_or_a_client_without_data(folder):
    with pytest.raises(FedDPError, match=r"^0\.csv must be a readable \.csv table"):
        open_inputs(str(folder / "clients"), None, StatedColumns(ignore=("w",)))
    with logged() as told:
        inputs = open_inputs(str(folder / "clients"), None, StatedColumns(ignore=("w",)), skip_broken=True)
    assert [len(points) for points in inputs.federation.nonprivate_clients()] == [0, 3, 3]
    assert (inputs.federation.n_clients, inputs.columns) == (3, ("x", "y"))
    assert told == [
        "0.csv must be a readable .csv table: it is empty. It is a client without data.",
        "2 of 2 files: 2 of 8 rows do not parse (most in 1.csv, 1 of 4); they are left out.",
        f"2 of 2 files: 2 of 8 rows have a cell that is missing or not a number (most in 1.csv, 1 of 4); {FILLED}.",
    ]


def test_with_a_schema_a_broken_file_is_a_client_without_data_too(folder):
    schema = Schema((NumberColumn("x", 0, 9), CategoryColumn("w", ("a", "b"))))
    schema.write(folder / "schema.json")
    for path in (folder / "clients").glob("[12].csv"):
        path.unlink()
    inputs = open_inputs(str(folder / "clients"), None, StatedColumns(schema=str(folder / "schema.json")), skip_broken=True)
    assert [points.shape for points in inputs.federation.nonprivate_clients()] == [(0, 3)]


def test_a_table_of_the_wrong_kind_is_refused_before_anything_is_booked(folder):
    """Allowing broken files does not allow wrong ones; most cells decide, not one."""
    for more in ((), ("--skip-broken",)):
        (folder / "clients" / "0.csv").write_text("x,y,w\n1,2,3\n")
        done = feddp("fit", "clients", *FIT, *more, cwd=folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("feddp: column 'w' of 1.csv must hold numbers, got words in most cells: leave it out with --ignore")
        assert not list(folder.rglob(".feddp-budget.jsonl"))
    (folder / "schema.json").write_text(json.dumps(Schema((NumberColumn("w", 0, 9), NumberColumn("y", 0, 9))).to_dict()))
    with pytest.raises(FedDPError, match=r"column 'w' of 1\.csv must hold numbers"):
        open_inputs(str(folder / "clients"), None, StatedColumns(schema=str(folder / "schema.json")))
    (folder / "clients" / "1.csv").write_text("x,y,w\n1,2,3\n1,2,3\n1,2,?\n,,\n")
    (folder / "clients" / "2.csv").unlink()
    assert open_inputs(str(folder / "clients"), None).federation.n_clients == 2


def test_what_is_left_out_is_on_the_terminal_and_in_no_file(folder):
    done = feddp("fit", "clients", *FIT, "--ignore", "w", "--skip-broken", "--json", cwd=folder)
    assert done.returncode in {0, USELESS}, done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines()[1:3]] == ["2 of 2 files"] * 2
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "clients"]
    written += [(folder / "clients" / ".feddp-budget.jsonl").read_bytes(), done.stdout.encode()]
    assert len(written) > 4
    assert not any(b"they are left out" in content or b"must be a readable" in content for content in written)


def test_owners_and_points_leave_out_the_same_lines(tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 2 if i % 5 else ''}{'' if i % 7 else ',9'}" for i in range(99)]
    (tmp_path / "a.csv").write_text("\n".join(["who,x", *rows, '"a,1']))
    clients = list(open_inputs(str(tmp_path / "a.csv"), None, client_column="who").federation.nonprivate_clients())
    assert sum(map(len, clients)) == 99 - 15
    for points in clients:
        assert len(np.unique(points[np.isfinite(points)])) == 1


def test_a_large_sorted_table_is_not_held_in_memory(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(inputs, "_LARGE", 100)
    columns = {"who": np.repeat(np.arange(40), 25), "x": rng.standard_normal(1000), "y": rng.standard_normal(1000)}
    pq.write_table(pa.table(columns), tmp_path / "sorted.parquet")
    pq.write_table(pa.table({name: values[::-1] for name, values in columns.items()}), tmp_path / "turned.parquet")
    opened = [open_inputs(str(tmp_path / name), None, client_column="who").federation for name in ("sorted.parquet", "turned.parquet")]
    assert [type(federation._silo) for federation in opened] == [SortedSilo, TableSilo]
    centers = [FedDPKMeans(2, privacy_unit="client", epsilon=9.0, box=(-4, 4), random_state=0).fit(one).cluster_centers_ for one in opened]
    assert np.array_equal(*centers)


def test_a_site_may_have_broken_files_where_it_says_so(folder):
    site = Site("s", str(folder / "clients"), 1.0, "state", "budget.jsonl", ignore=("w",), skip_broken=True)
    with logged() as told:
        data = site.read()
    assert (data.columns, [len(rows) for rows in data.nonprivate_clients()], len(told)) == (("x", "y"), [0, 3, 3], 3)
    alone = Site("s", str(folder / "clients" / "0.csv"), 1.0, "state", "budget.jsonl", skip_broken=True)
    with pytest.raises(FedDPError, match="at least one file that can be read"):
        alone.read()
    assert Site("s", alone.data, 1.0, "state", "b", skip_broken=True, columns=("x", "y")).read().columns == ("x", "y")


def test_columns_without_a_range_are_open_where_others_have_one(tmp_path):
    (tmp_path / "a.csv").write_text("id,age,income\n" + "".join(f"{i},{20 + i % 50},{100 * i}\n" for i in range(60)))
    inputs = open_inputs(str(tmp_path / "a.csv"), None, StatedColumns(ranges=("age=0:100",), ignore=("id",)))
    assert inputs.schema == Schema((NumberColumn("age", 0, 100), OpenColumn("income")))
    assert (inputs.schema.open, inputs.schema.radius) == ((False, True), None)
    assert inputs.prepared(Settings(2, 1.0)).settings.radius is None
    (points,) = inputs.federation.nonprivate_clients()
    assert points[1] == pytest.approx([0.21, 100])
    arrays = np.arange(40.0).reshape(20, 2)
    np.save(tmp_path / "a.npy", arrays)
    whole = open_inputs(str(tmp_path / "a.npy"), None, StatedColumns(ranges=("x0=0:100", "x1=0:100")))
    assert next(iter(whole.federation.nonprivate_clients())) == pytest.approx(arrays / 100)
    assert whole.prepared(Settings(2, 1.0)).settings.radius == pytest.approx(2**0.5)


def test_how_text_is_read_goes_with_a_site_and_with_a_request_through_json(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe^b\n1^2\n".encode("latin-1"))
    reading = Reading("^", "latin-1")
    site = Site("s", str(tmp_path), 1.0, "state", "budget.jsonl", reading=reading)
    assert site.read().columns == ("größe", "b")
    (tmp_path / "site.json").write_text(json.dumps({"format": 1} | asdict(site)))
    assert read_site(tmp_path / "site.json") == site
    request = RunRequest("r", Settings(1, 1.0), str(tmp_path / "run"), "feddp serve", str(tmp_path / "a.csv"), reading=reading)
    assert opened(request) == read_request(tmp_path / "run" / REQUEST) == request
