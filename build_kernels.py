"""Builds the compiled kernels into the package where there is a C compiler; without one the package computes with numpy.

Hatchling calls this when it makes a wheel, also an editable one. ``python build_kernels.py`` does it by hand, and fails if it cannot.
"""

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand
    BuildHookInterface = object

FOLDER = Path("src", "feddp_kmeans", "statistics", "compiled")
LIBRARY = "kernels.so"

FLAGS = (
    *("-std=c11", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"),
)
"""The compiler may fuse a product with a sum, and do nothing else that changes how a number is rounded."""

LEVELS = {
    1: [],
    3: ["-mavx2", "-mfma"],
    4: ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"],
}
"""The sets of instructions on x86-64; elsewhere there is only the first, whatever every processor has."""


def build(root: Path) -> Path:
    """Compile the kernels for every set of instructions, and link them into one library next to their sources."""
    compiler, folder = os.environ.get("CC", "cc"), root / FOLDER
    digest = sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.[ch]")))).hexdigest()
    levels = LEVELS if platform.machine().lower() in {"x86_64", "amd64"} else {1: []}
    with tempfile.TemporaryDirectory() as place:
        objects = {level: str(Path(place, f"{level}.o")) for level in levels}
        for level, compiled in objects.items():
            names = (f"-DLEVEL={level}", f'-DBUILT_FROM="{digest}"')
            _run(compiler, *FLAGS, *levels[level], *names, "-c", str(folder / "kernels.c"), "-o", compiled)
        linked = Path(place, LIBRARY)
        _run(compiler, "-shared", *objects.values(), "-o", str(linked), "-lm")
        # Renamed into its place: a process that has the old library open keeps it.
        beside = folder / f"{LIBRARY}.{os.getpid()}"
        beside.write_bytes(linked.read_bytes())
        beside.replace(folder / LIBRARY)
    return folder / LIBRARY


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- the user's own compiler
    if done.returncode:
        raise OSError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")


class CompiledKernels(BuildHookInterface):
    """What Hatchling calls."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the library, and name the wheel after the kind of machine that it is for."""
        try:
            build(Path(self.root))
        except OSError as problem:
            self.app.display_warning(f"The kernels could not be compiled; the package will compute with numpy. {problem}")
            (Path(self.root) / FOLDER / LIBRARY).unlink(missing_ok=True)
        else:
            kind = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data |= {"pure_python": False, "tag": f"py3-none-{kind}"}


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(__file__).parent)}\n")
