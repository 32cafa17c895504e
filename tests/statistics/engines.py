"""Both engines, side by side; the compiled one with every set of instructions that this processor has."""

import shutil

import pytest

from feddp_kmeans.statistics import kernels
from feddp_kmeans.statistics.engine import Engine, available, using

needs_kernels = pytest.mark.skipif(
    not available() and shutil.which("cc") is None, reason="no C compiler: the package was built without compiled kernels"
)
"""Where there is a compiler, a package without kernels is a failure."""


def both(function):
    """The results of numpy and of every set of instructions."""
    with using(Engine.NUMPY):
        results = [function()]
    for level in kernels.levels():
        with using(Engine.COMPILED), pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "levels", lambda level=level: (level,))
            results.append(function())
    return results
