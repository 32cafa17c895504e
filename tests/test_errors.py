"""The tree of exceptions."""

import ast
from pathlib import Path

import pytest

import feddp_kmeans
from feddp_kmeans.errors import BudgetError, FedDPError, InputError, UnreadableFileError, kind_and_place, without_text

HOME = Path(feddp_kmeans.__file__).parent
NEVER_SHOWN = {"DataError", "NoAnswerError", "NotReachedError"}
"""Caught inside the package: the first hides what private data caused, the others become a line of the log, or an ``InputError``."""


def test_bad_input_is_a_value_error_and_a_budget_error_a_runtime_error():
    for kind in (InputError, UnreadableFileError, BudgetError):
        assert issubclass(kind, FedDPError)
    assert issubclass(InputError, ValueError)
    assert issubclass(BudgetError, RuntimeError)
    assert not issubclass(BudgetError, ValueError)


def test_every_exception_of_the_package_is_in_the_tree():
    """A class elsewhere whose name ends in Error would be one that ``except FedDPError`` misses."""
    elsewhere = [
        f"{path.relative_to(HOME)}: {node.name}"
        for path in sorted(HOME.rglob("*.py"))
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and node.name not in NEVER_SHOWN
    ]
    assert elsewhere == []


@pytest.mark.parametrize("error", [ValueError("SECRET"), KeyError("SECRET"), ArithmeticError("SECRET")])
def test_what_an_unforeseen_error_says_is_not_shown(error):
    assert kind_and_place(error) == type(error).__name__
    assert without_text(error) == type(error).__name__


def test_of_an_unforeseen_error_of_the_system_its_own_word_and_the_file_are_shown():
    assert without_text(FileNotFoundError(2, "SECRET", "a.csv")) == "No such file or directory: a.csv"
