"""The planted bugs can be planted: each names a text that is in the source, once."""

import ast

import pytest

from tests.mutation.__main__ import ROOT, SOURCE
from tests.mutation.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.name}")
def test_a_bug_can_be_planted(mutant):
    source = (ROOT / SOURCE / mutant.file).read_text(encoding="utf-8")
    assert source.count(mutant.before) == 1
    assert mutant.before != mutant.after
    ast.parse(source.replace(mutant.before, mutant.after))


def test_names_are_unique():
    names = [(mutant.file, mutant.name) for mutant in MUTANTS]
    assert len(set(names)) == len(names)
