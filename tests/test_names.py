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
