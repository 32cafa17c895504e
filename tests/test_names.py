"""One name, one thing: no two classes and no two files of one name in the product and the studies, no long file, and who imports whom."""

import ast
from collections import defaultdict
from pathlib import Path

LONGEST = 300
ROOT = Path(__file__).parents[1]
SOURCES = [path for folder in ("src", "studies/feddp_studies", "studies/benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]


def is_app(path):
    """Return whether Flower prescribes the name of this file."""
    return "feddp_app" in path.parts


def twice(named):
    return {name: sorted(str(path.relative_to(ROOT)) for path in places) for name, places in named.items() if len(places) > 1}


def test_no_two_files_have_one_name():
    named = defaultdict(list)
    for path in SOURCES:
        # A command's file is named by the command.
        if path.name != "__init__.py" and "cli" not in path.parts and not is_app(path):
            named[path.name].append(path)
    assert not twice(named)


def test_no_two_classes_have_one_name():
    named = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                named[node.name].append(path)
    assert not twice(named)


def test_no_file_is_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: length for name, length in lengths.items() if length > LONGEST}


def imported(path):
    """The names that a file imports, with what it takes from them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


TESTS = [path for folder in ("tests", "studies/tests") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_test_module_is_imported():
    """What several test modules share is in a module without tests."""
    shared = {path: [name for name in imported(path) if any(part.startswith("test_") for part in name.split("."))] for path in TESTS}
    assert not {str(path.relative_to(ROOT)): names for path, names in shared.items() if names}


def test_tests_of_the_product_do_not_import_the_studies():
    users = {path: [name for name in imported(path) if name.split(".")[0] in {"feddp_studies", "studies"}] for path in TESTS}
    assert not {str(path.relative_to(ROOT)): names for path, names in users.items() if names and ROOT / "tests" in path.parents}


WHOLE_ROOMS = {
    "audit": "tests/audit/test_planted_bugs.py: what it misses shows on planted bugs",
    "cli": "tests/cli: commands are tested as a person runs them",
}


def untested():
    """The modules of the product that have no test file of their name and that no test imports."""
    named = {path.stem for path in TESTS if path.name.startswith("test_")}
    used = {name for path in TESTS for name in imported(path)}
    for path in sorted((ROOT / "src").rglob("*.py")):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        if path.name != "__init__.py" and parts[1] not in WHOLE_ROOMS and not is_app(path) and f"test_{path.stem.strip('_')}" not in named:
            dotted = ".".join(parts)
            if not any(name == dotted or name.startswith(f"{dotted}.") for name in used):
                yield dotted


TESTED_ELSEWHERE = {
    "feddp_kmeans._html": "tests/report/test_notebook.py",
    "feddp_kmeans._typing": "names of types",
    "feddp_kmeans.algorithm.feddp_lloyds": "tests/algorithm/test_clustering.py",
    "feddp_kmeans.network.sites": "tests/network/test_remote.py",
    "feddp_kmeans.privacy.entry": "tests/privacy/test_odometer.py",
    "feddp_kmeans.report.column_facts": "tests/report/test_page_sections.py",
    "feddp_kmeans.report.spent": "tests/cli/test_fit.py",
    "feddp_kmeans.report.templates": "tests/report",
    "feddp_kmeans.silos.gpu.cuda": "needs a GPU",
    "feddp_kmeans.silos.silo": "the protocol of tests/silos/test_batched.py",
    "feddp_kmeans.tables.array_files": "tests/tables/test_client_files.py",
}


def test_every_module_is_tested():
    assert not set(untested()) - set(TESTED_ELSEWHERE)
