"""Who may touch raw points or exact sums, read off the source: a look at them anywhere else would be a leak that no release shows."""

import ast
from functools import cache
from pathlib import Path

import pytest

import feddp_kmeans

SOURCE = Path(feddp_kmeans.__file__).parent

ALLOWED = {
    "nonprivate_clients": {"silos/batched.py", "silos/spark_silo.py", "federation/local.py"},
    "exact_sum": {"silos/dask_silo.py", "silos/gpu/torch_silo.py", "silos/spark_job.py", "federation/local.py", "network/participant.py"}
    | {"audit/case.py", "audit/federation_checks.py"},  # of points that the audit makes up itself
    "total_of": {"silos/gpu/torch_silo.py"},
}
"""Whatever hands out raw points or exact sums, and the files that may name it."""

FEDERATION = {"books", "columns", "dimension", "n_clients", "open", "trust", "with_books"}
"""What the algorithm may ask of a federation: a run, where it is booked, and public facts."""

RUN = {"dimension", "fill", "ledger", "made", "n_clients", "noisy_sum", "plan", "remarks", "report", "server_seed", "units"}
"""What it may ask of a run: the one verb, public facts, and a place for remarks on what was released."""

INSIDE = ("audit/", "federation/", "network/deployment/serve.py")
"""Federations themselves, those that watch them, and where the word means a folder."""

EXACT = ("federation/local.py",)
"""Federations that add up exact sums in this process."""


def files(*folders):
    return [path for folder in folders for path in sorted((SOURCE / folder).rglob("*.py"))]


def place(path):
    return path.relative_to(SOURCE).as_posix()


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ALLOWED)
def test_raw_points_and_exact_sums_are_named_where_they_are_due_alone(name):
    # In any form: as a name, an attribute or a text that getattr is given.
    named = {
        place(path)
        for path in files(".")
        for node in ast.walk(tree(path))
        if name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "value", None))
    }
    assert named <= ALLOWED[name]


@pytest.mark.parametrize("path", [path for path in files(".") if not place(path).startswith(INSIDE)], ids=place)
def test_a_federation_is_asked_for_noisy_sums_and_public_facts_alone(path):
    if "nonprivate_clients" in path.read_text(encoding="utf-8"):
        return
    assert asked_of(path, {"federation", "_federation"}) <= FEDERATION | {"federation"}


@pytest.mark.parametrize("path", files("algorithm"), ids=place)
def test_a_run_is_asked_for_noisy_sums_and_public_facts_alone(path):
    assert asked_of(path, {"run", "_run", "opened"}) <= RUN


def asked_of(path, names):
    return {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] in names
    }


def returned(function):
    return [ast.unparse(node.value) for node in ast.walk(function) if isinstance(node, ast.Return)]


@pytest.mark.parametrize("path", EXACT)
def test_an_exact_sum_is_handed_to_what_adds_the_noise(path):
    made = [node for node in ast.walk(tree(SOURCE / path)) if isinstance(node, ast.FunctionDef) and node.name == "_adder"]
    assert made
    assert all(value.startswith("ExactAdder(") for function in made for value in returned(function))


def test_a_sum_leaves_with_the_noise_of_its_release_and_bits_of_its_own():
    (adder,) = (n for n in ast.walk(tree(SOURCE / "federation/adder.py")) if isinstance(n, ast.ClassDef) and n.name == "ExactAdder")
    (made,) = (node for node in adder.body if isinstance(node, ast.FunctionDef) and node.name == "noisy_sum")
    assert returned(made) == ["NoisySum(asked.release.noisy(self._total(asked.query, asked.cohort), asked.stream))"]
    (run,) = (n for n in ast.walk(tree(SOURCE / "federation/run.py")) if isinstance(n, ast.FunctionDef) and n.name == "_made_as_one")
    assert "self.streams.stream(name)" in returned(run)[0]
