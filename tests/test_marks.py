"""No private cell in any message, log, exception, file or answer: tables full of marked cells, broken at every stage."""

import importlib.util
import json
import logging

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.federation.adder import ExactAdder
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.query import Query
from feddp_kmeans.tables import point_files
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.stated_columns import StatedColumns
from tests.cli.command import feddp
from tests.logs import logged
from tests.marks import BREAKS, FORMATS, NUMBER, WORD, caught, marked, search, write
from tests.network.loopback import Loopback

SCHEMA = Schema((NumberColumn("a", 0, 1), NumberColumn("b", 0, 1), CategoryColumn("w", ("x", "y"))))
NAMED = ("csv", "tsv", "parquet", "arrow")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "clients").mkdir()
    SCHEMA.write(tmp_path / "schema.json")
    (tmp_path / "public.csv").write_text("a,b,w\n" + "0,1,x\n1,0,y\n0.5,0.5,x\n" * 4)
    (tmp_path / "numbers.csv").write_text("a,b\n" + "0,1\n1,0\n0.5,0.5\n" * 4)
    (tmp_path / "numbers.svm").write_text("1 1:0 2:1\n" * 9)
    return tmp_path


def counted(inputs):
    query = Query(REGISTRY["point-count"], {}, inputs.federation.dimension)
    return inputs.federation._silo.exact_sum(query)


def clients(place, suffix):
    """Write three marked client files; return the one that is to break."""
    for index in range(3):
        write(place / "clients" / f"{index}.{suffix}")
    return place / "clients" / f"1.{suffix}"


def ways(suffix):
    """Return how the files of a format are opened: as numbers, with a schema, and with words in a column that is to be a number."""
    if suffix not in NAMED:
        return [{"server": "numbers.svm"}] if suffix == "svm" else [{}]
    return [{"ignore": ("w",)}, {"schema": "schema.json"}, {}, {"ignore": ("w",), "server": "numbers.csv"}]


def opened(place, more, told, **options):
    server = place / more["server"] if "server" in more else None
    stated = {name: str(place / value) if name == "schema" else value for name, value in more.items() if name != "server"}
    with logged(told):
        return open_inputs(str(place / "clients"), server, StatedColumns(**stated), **options)


@pytest.mark.parametrize("how", sorted(BREAKS))
@pytest.mark.parametrize("suffix", FORMATS)
def test_no_reader_quotes_a_cell(place, suffix, how):
    """At opening, with broken files allowed and not; and in the middle of a run, where a file breaks that was whole when opened."""
    seen = []
    for more in ways(suffix):
        path = clients(place, suffix)
        inputs = caught(lambda more=more: opened(place, more, seen), seen)
        BREAKS[how](path)
        if inputs is not None:
            caught(lambda inputs=inputs: counted(inputs), seen)
            caught(lambda inputs=inputs: list(inputs.federation.nonprivate_clients()) and None, seen)
        for options in ({}, {"skip_broken": True}):
            caught(lambda more=more, options=options: opened(place, more, seen, **options) and None, seen)
        with logged(seen):
            caught(lambda path=path: open_inputs(str(path), None, client_column="w") and None, seen)
    assert not search(seen, place, [place / "clients"])
    assert seen


@pytest.mark.parametrize("kind", [ValueError, KeyError, OSError, pa.ArrowInvalid])
def test_what_a_reader_says_is_not_passed_on(place, kind, monkeypatch):
    """Readers change: whatever one of them raises, the message names the file only, and the traceback shows nothing else."""

    def fail(*_):
        raise kind(f"cannot read {WORD} {NUMBER}")
        yield

    inputs, seen = (clients(place, "csv"), opened(place, {"ignore": ["w"]}, []))[1], []
    monkeypatch.setattr(point_files, "read_tables", fail)
    caught(lambda: counted(inputs), seen)
    caught(lambda: opened(place, {"ignore": ["w"]}, seen), seen)
    caught(lambda: opened(place, {"schema": "schema.json"}, seen), seen)
    assert len(seen) == 6
    assert all("csv must be a readable .csv table: it is broken, or not what its name says." in text for text in seen)
    assert not search(seen)


def sites(place, **more):
    site = pytest.importorskip("feddp_kmeans.network.deployment.site")
    return [
        site.Site(
            name=f"site{index}",
            data=str(path),
            limit=100.0,
            delta=1e-3,
            state=str(place / f"state{index}"),
            odometer=str(place / f"budget{index}.jsonl"),
            allow_aggregator=True,
            allow_simulation=True,
            **more,
        ).participant()
        for index, path in enumerate(sorted((place / "clients").iterdir()))
    ]


class Recording(Loopback):
    """A transport that keeps what the sites answer."""

    def exchange(self, requests, timeout, patient):
        replies = super().exchange(requests, timeout, patient)
        self.answers = [*getattr(self, "answers", []), *replies.values()]
        return replies


@pytest.mark.parametrize("trust", list(Trust))
@pytest.mark.parametrize("how", ["before", *sorted(BREAKS)])
def test_no_site_sends_or_logs_a_cell(place, how, trust, monkeypatch, caplog):
    """What a site answers, what both halves log, and all that is written; broken before it is asked, and in the run."""
    caplog.set_level(logging.INFO, logger="feddp_kmeans")
    path = clients(place, "csv")
    told, made = [], []
    exact_sum = SourceSilo.exact_sum

    def breaking(self, query, cohort=None):
        made.append(query.statistic.name)
        if len(made) == 5 and how in BREAKS:
            BREAKS[how](path)
        return exact_sum(self, query, cohort)

    monkeypatch.setattr(SourceSilo, "exact_sum", breaking)
    if how == "before":
        path.write_text(f"a,b,w\n{WORD},{WORD},{WORD}\n{NUMBER}")
    transport = Recording(sites(place, ignore=("w",)))
    server = np.random.default_rng(0).random((20, 2))

    def cluster():
        remote = RemoteFederation(transport, trust=trust).connect()
        return run(remote, prepare(Settings(2, 5.0, box=(0, 1), lloyd_steps=1), server, 3)) and None

    caught(cluster, told)
    assert transport.answers
    assert len(made) > 5 or how == "before"
    assert caplog.messages
    assert not search([*told, caplog.text, *caplog.messages, *transport.answers], place, [place / "clients"])


def run_commands(place, suffix, how, at):
    """Run every command on tables that break when the run has made so many releases; None: before it opens them."""
    path = clients(place, suffix)
    more = {"csv": ("--ignore", "w"), "parquet": ("--schema", place / "schema.json")}.get(suffix, ())
    data = place / "clients"
    made, noisy_sum = [], ExactAdder.noisy_sum

    def breaking(self, *arguments):
        made.append(1)
        if len(made) == at:
            BREAKS[how](path)
        return noisy_sum(self, *arguments)

    def fresh():
        made.clear()
        write(path)
        if at is None:
            BREAKS[how](path)

    options = ("-k", 2, "--epsilon", 5, "--lloyd-steps", 1, *more)
    box = () if suffix == "parquet" else ("--box", "0,1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExactAdder, "noisy_sum", breaking)
        fresh()
        yield feddp("fit", data, *options, *box, "--out", place / "run", cwd=place)
        fresh()
        yield feddp("choose-k", data, "--epsilon", 5, *more, *box, "--max-clusters", 3, "--out", place / "look", cwd=place)
        fresh()
        name = "x0" if suffix == "npy" else "a"
        yield feddp("knots", data, name, "--epsilon", 5, *more, "--out", place / "knots.toml", "--force", cwd=place)
    if at is None:
        if how in {"words", "emptied"}:  # refused before anything is simulated, which would take long
            yield feddp("simulate", data, *options, *box, "--out", place / "simulated", cwd=place)
        yield feddp("fit", data, *options, *box, "--skip-broken", "--json", "--out", place / "rest", cwd=place)
    made_run = place / "rest" if (place / "rest" / "result.json").exists() else place / "good"
    if not made_run.exists():
        write(path)
        yield feddp("fit", data, *options, *box, "--out", made_run, cwd=place)
        BREAKS[how](path)
    for command in (
        ("predict", made_run, path),
        ("predict", made_run, data / f"0.{suffix}"),
        ("evaluate", made_run, data),
        ("report", made_run),
        ("budget", data),
        ("plan", "-k", 2, "--server", place / "public.csv", "--epsilon", 1),
        ("encode", place / "public.csv", "--out", place / "learnt.json", "--force"),
    ):
        yield feddp(*command, cwd=place)


@pytest.mark.parametrize(
    ("suffix", "how", "at"),
    [
        ("csv", "words", None),
        ("csv", "ragged", None),
        ("csv", "deleted", 2),
        ("parquet", "truncated", None),
        ("parquet", "noise", 2),
        *(
            pytest.param(suffix, how, at, marks=pytest.mark.slow)
            for suffix in ("csv", "parquet", "npy")
            for how in sorted(BREAKS)
            for at in (None, 1, 3)
        ),
    ],
)
def test_no_command_quotes_a_cell(place, suffix, how, at):
    seen, codes = [], []
    for done in run_commands(place, suffix, how, at):
        seen += [done.stdout, done.stderr]
        codes.append(done.returncode)
    assert 70 not in codes
    assert 0 in codes
    assert not search(seen, place, [place / "clients"])


def test_no_command_quotes_a_file_that_is_given_for_another(place):
    path = clients(place, "csv")
    seen = []
    for command in (
        ("fit", place / "clients", "-k", 2, "--epsilon", 1, "--schema", path),
        ("fit", place / "clients", "-k", 2, "--epsilon", 1, "--box", "0,1", "--ignore", "w", "--limit", 9, "--odometer", path),
        ("fit", place / "clients", "-k", 2, "--epsilon", 1, "--box", "0,1", "--ignore", "w", "--resume", path),
        ("predict", path, path),
        ("evaluate", path, path),
        ("report", path),
        ("budget", path),
        ("fit", path, "-k", 2, "--epsilon", 1, "--box", "0,1", "--client-column", "c"),
        ("fit", path, "-k", 2, "--epsilon", 1, "--box", "0,1", "--client-column", "a"),
    ):
        before = path.read_bytes()
        done = feddp(*command, cwd=place)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), (command, done.stderr)
        seen += [done.stdout, done.stderr]
        assert path.read_bytes() == before
    assert not search(seen, place, [place / "clients"])


def test_an_unforeseen_error_is_one_line_without_its_text(place, monkeypatch):
    def fail(*_):
        raise KeyError(WORD)

    monkeypatch.setattr(ExactAdder, "noisy_sum", fail)
    clients(place, "csv")
    done = feddp("fit", place / "clients", "-k", 2, "--epsilon", 1, "--box", "0,1", "--ignore", "w", "--out", place / "run", cwd=place)
    assert done.returncode == 70
    last = done.stderr.splitlines()[-1]
    assert last.startswith("feddp: unexpected error: KeyError in ")
    assert not search([done.stdout, done.stderr], place, [place / "clients"])


def frames():
    """Yield tables in memory with words among their numbers."""
    columns = {"a": [NUMBER, NUMBER], "w": [f"{WORD}1", f"{WORD}2"]}
    yield pa.table(columns)
    for library in ("polars", "pandas"):
        if importlib.util.find_spec(library):
            frame = importlib.import_module(library).DataFrame
            yield frame(columns)
    if importlib.util.find_spec("pandas"):
        yield frame({"a": [NUMBER, NUMBER], "w": [NUMBER, f"{WORD}1"]})
        yield frame({"a": [NUMBER, NUMBER], "w": [{WORD: NUMBER}, [WORD]]})
    yield np.array([[NUMBER, WORD], [NUMBER, WORD]])
    yield np.array([[NUMBER, WORD], [NUMBER, NUMBER]], dtype=object)
    yield np.array([[NUMBER, 1j * NUMBER]])
    yield sparse.csr_array([[NUMBER, 1j * NUMBER]])
    yield [[NUMBER, WORD], [NUMBER, NUMBER]]
    yield [[NUMBER, WORD], [NUMBER]]
    yield [NUMBER, NUMBER]
    yield np.array([NUMBER, NUMBER])
    yield np.array([WORD])
    yield NUMBER


def test_no_table_in_memory_is_quoted():
    good = FedDPKMeans(1, random_state=0, box=(0, 1)).fit(np.random.default_rng(0).random((30, 2)))
    for table in frames():
        seen = []
        for call in (
            lambda table=table: FedDPKMeans(1, box=(0, 1)).fit(table),
            lambda table=table: FedDPKMeans(1, box=(0, 1)).fit([table, table]),
            lambda table=table: FedDPKMeans(1, box=(0, 1)).fit_predict(table),
            lambda table=table: good.predict(table),
            lambda table=table: good.transform(table),
            lambda table=table: good.score(table),
            lambda table=table: InMemoryFederation.from_groups(table, [1, 1]),
            lambda table=table: InMemoryFederation.from_offsets(table, [0, 2]),
            lambda table=table: SCHEMA.encode(table),
        ):
            caught(call, seen)
        assert seen
        assert not search(seen)


def test_words_in_a_frame_are_refused_by_the_column():
    for table, name in ((next(frames()), "'w'"), (np.array([[NUMBER, WORD]]), "1")):
        seen = []
        caught(lambda table=table: FedDPKMeans(1, box=(0, 1)).fit(table), seen)
        assert f"X must hold numbers only, got something else in column {name}: leave the column out, or say what it holds" in seen[0]


def test_the_search_finds_marks(tmp_path):
    """The marks are found where they are: in text, in escaped text, in bytes and in files of every format."""
    assert search([f"a {WORD}1", json.dumps({"a": NUMBER}), np.array([NUMBER]).tobytes(), repr(KeyError(WORD))]).__len__() == 4
    seen = []
    caught(lambda: float(WORD), seen)
    assert len(search(seen)) == 2
    for suffix in FORMATS:
        (tmp_path / f"a.{suffix}").write_bytes(marked(suffix))
    assert len(search([], tmp_path)) == len(FORMATS)
    assert not search(["harmless", b"bytes"], tmp_path, [tmp_path])
