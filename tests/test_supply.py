"""Files are data and never code, and what is installed is what is pinned."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import feddp_kmeans
from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.report import write_report
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.federation.recorded import RecordedFederation
from feddp_kmeans.report.finished_run import read_run
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.result import result_dict, write_result
from tests import pins

SOURCES = sorted(Path(feddp_kmeans.__file__).parent.rglob("*.py"))
FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "yaml",
    "jsonpickle",
    "xmlrpc",
    "dbm",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "pd.read_pickle", "pandas.read_pickle"}
LOADERS = {"np.load", "numpy.load", "torch.load"}

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
RNG = np.random.default_rng(0)
CLIENTS = [RNG.standard_normal((30, 2)) for _ in range(3)]
SERVER = RNG.standard_normal((20, 2))


def faults(tree):
    """Return what in a module could run what a file holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"import {name}" for name in names if name.split(".")[0] in FORBIDDEN_MODULES)
        if isinstance(node, ast.keyword):
            if node.arg == "allow_pickle" and not (isinstance(node.value, ast.Constant) and node.value.value is False):
                yield "allow_pickle"
            if node.arg == "shell" and not (isinstance(node.value, ast.Constant) and node.value.value is False):
                yield "shell"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in FORBIDDEN_CALLS:
                yield called
            if called in LOADERS and not any(keyword.arg == "allow_pickle" for keyword in node.keywords):
                yield f"{called} without allow_pickle=False"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_module_can_run_what_a_file_holds(path):
    assert not list(faults(ast.parse(path.read_text())))


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "import yaml",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "torch.load(path)",
        "eval(text)",
        "exec(text)",
        "pd.read_pickle(path)",
        "os.system(text)",
        "subprocess.run(text, shell=True)",
        "__import__(name)",
    ],
)
def test_the_search_finds_what_it_looks_for(code):
    assert list(faults(ast.parse(code)))


def test_constraints_pin_exactly_and_name_every_dependency():
    pinned = pins.pins()
    seen, waiting = set(), ["feddp-kmeans", "feddp-studies", "build", "hatchling"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = pins.metadata.requires(name) or []
        except pins.metadata.PackageNotFoundError:
            continue
        plain = [requirement for requirement in needed if "extra ==" not in requirement]
        waiting += [pins.canonical(pins.re.split(r"[ ;<>=!~\[(]", requirement, maxsplit=1)[0]) for requirement in plain]
    installed = {pins.canonical(found.metadata["Name"]) for found in pins.metadata.distributions()}
    assert len(seen) > 10
    assert (seen & installed) - pins.OURS <= set(pinned)


def result_with(columns=("a", "b")):
    found = run(InMemoryFederation(CLIENTS), prepare(Settings(2, 2.0, lloyd_steps=0), SERVER, 3), seed=1)
    return result_dict(found, columns=columns, seed=1, server_points=SERVER, command=f"feddp fit {HOSTILE}")


def hostile_everywhere(value):
    """Return plain data in which every word is one that would run in a browser."""
    if isinstance(value, dict):
        return {key: hostile_everywhere(item) for key, item in value.items()} | {HOSTILE: HOSTILE}
    if isinstance(value, list):
        return [hostile_everywhere(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_no_word_of_a_result_runs_in_a_browser():
    result = json.loads(json.dumps(result_with((HOSTILE, "b"))))
    pages = [render_page(result)]
    for key in result:
        try:
            pages.append(render_page(result | {key: hostile_everywhere(result[key])}))
        except (KeyError, ValueError, TypeError):
            continue  # a word that must be one of a few
    assert len(pages) > 20
    for page in pages:
        assert "<script" not in page
        assert "<img" not in page
        assert "default-src 'none'" in page


def test_odd_keys_of_a_result_are_left_alone(tmp_path):
    write_result(tmp_path, result_with())
    odd = json.loads((tmp_path / "result.json").read_text()) | {"__class__": "os.system", "odd": {"__reduce__": HOSTILE}}
    (tmp_path / "result.json").write_text(json.dumps(odd))
    assert read_run(tmp_path).columns == ("a", "b")
    assert "<script" not in write_report(tmp_path, None).read_text()


def test_a_release_on_record_is_data(tmp_path):
    prepared = prepare(Settings(2, 2.0, lloyd_steps=0), SERVER, 3)
    run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared)
    first = min(tmp_path.glob("*.npy"))
    np.save(first, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FedDPError, match="as it was made; it was changed"):
        run(RecordedFederation(InMemoryFederation(CLIENTS), tmp_path), prepared)
