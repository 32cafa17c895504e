"""One name, one thing: no two classes and no two files of one name in the product and the studies."""

import ast
from collections import defaultdict
from pathlib import Path

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
