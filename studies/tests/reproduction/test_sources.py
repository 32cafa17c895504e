"""The hash of code: what is imported counts, comments and docstrings do not."""

import pytest

from feddp_studies.reproduction import sources


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that counts as ours: one module imports another, and a third stands alone."""
    folder = tmp_path / "feddp_made_up"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text("VALUE = 1\n")
    (folder / "outer.py").write_text("def f():\n    from feddp_made_up.inner import VALUE\n    return VALUE\n")
    (folder / "alone.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "_OURS", ("feddp_made_up",))
    return folder


def now(*modules, **more):
    for cached in (sources.code_hash, sources._path, sources._tree, sources._imports, sources._text):
        cached.cache_clear()
    return sources.code_hash(*modules, **more)


def test_what_a_module_imports_counts(package):
    first, alone = now("feddp_made_up.outer"), now("feddp_made_up.outer", alone=("feddp_made_up.alone",))
    assert first != alone
    (package / "alone.py").write_text("VALUE = 3\n")
    assert now("feddp_made_up.outer") == first
    assert now("feddp_made_up.outer", alone=("feddp_made_up.alone",)) != alone
    (package / "inner.py").write_text("VALUE = 4\n")
    assert now("feddp_made_up.outer") != first
    assert now("feddp_made_up.outer", facts="other") != now("feddp_made_up.outer")


def test_what_is_never_run_does_not_count(package):
    first = now("feddp_made_up.outer", without=("feddp_made_up.inner",))
    (package / "inner.py").write_text("from feddp_made_up.alone import VALUE\n")
    assert now("feddp_made_up.outer", without=("feddp_made_up.inner",)) == first
    (package / "outer.py").write_text("VALUE = 6\n")
    assert now("feddp_made_up.outer", without=("feddp_made_up.inner",)) != first


def test_comments_and_docstrings_do_not_count(package):
    first = now("feddp_made_up.outer")
    (package / "inner.py").write_text('"""What it is."""\n\nVALUE = 1  # a number\n"""What it means."""\n')
    assert now("feddp_made_up.outer") == first


def test_only_types_do_not_count(package):
    (package / "outer.py").write_text("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from feddp_made_up.inner import VALUE\n")
    first = now("feddp_made_up.outer")
    (package / "inner.py").write_text("VALUE = 5\n")
    assert now("feddp_made_up.outer") == first


def test_a_method_rests_on_statistics_accounting_and_noise():
    closure = sources._closure(["feddp_kmeans.algorithm.clustering"])
    assert {"feddp_kmeans.statistics.residual_sums", "feddp_kmeans.privacy.accounting", "feddp_kmeans.privacy.noise"} <= closure
    assert not any(name.startswith(("feddp_kmeans.cli", "feddp_kmeans.network", "feddp_studies")) for name in closure)
