"""What computes a row: a hash over the text of all modules that a method and its data import, and over the libraries they use.

Comments and docstrings do not count. A row that other code has made is made again.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from feddp_kmeans.errors import InputError

_OURS = ("feddp_kmeans", "feddp_studies")
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


@cache
def code_hash(*modules: str, alone: tuple[str, ...] = (), without: tuple[str, ...] = (), facts: str = "") -> str:
    """Return the hash of these modules with all that they import of this project, of those ``alone`` without, and of some facts.

    Modules ``without`` which they work, though they import them, do not count.
    """
    found = hashlib.sha256(facts.encode())
    for name in sorted(_closure(modules, without) | set(alone)):
        found.update(f"{name}\n{_text(name)}\n".encode())
    found.update(" ".join(f"{name} {version(name)}" for name in _LIBRARIES).encode())
    return found.hexdigest()[:16]


def _closure(modules: Iterable[str], without: Iterable[str] = ()) -> set[str]:
    known = set(without)
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += _imports(name)
    return known - set(without)


@cache
def _path(name: str) -> Path | None:
    """Return the file of a module, None if there is no such module; nothing but its outermost package is imported."""
    if file := getattr(sys.modules.get(name), "__file__", None):
        return Path(file)
    outermost, *inner = name.split(".")
    found = find_spec(outermost)
    if found is None or found.origin is None:
        return None
    path = Path(found.origin)
    if not inner:
        return path
    path = path.parent.joinpath(*inner)
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


@cache
def _tree(name: str) -> ast.Module:
    path = _path(name)
    if path is None or not path.is_file():
        raise InputError(f"a method or data set must be defined in a module that is a file, got {name!r}.")
    return ast.parse(path.read_text())


@cache
def _imports(name: str) -> list[str]:
    """Return the modules of this project that a module imports, anywhere in it but where only types are checked."""
    found = []
    for node in ast.walk(_without_types(_tree(name))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            ours = node.module.split(".")[0] in _OURS
            found += [one if ours and _path(one) else node.module for one in inner]
    return [one for one in found if one.split(".")[0] in _OURS]


def _without_types(tree: ast.Module) -> ast.Module:
    kept = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    return ast.Module(kept, [])


@cache
def _text(name: str) -> str:
    """Return the code of a module without comments and docstrings."""
    tree = _tree(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return ast.dump(tree)
