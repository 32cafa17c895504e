"""Build both distributions and try them in an empty environment: ``python -m tests.package [FOLDER]``.

Wheels are built from the source archives, as an index would hold them, and tried as a user has them: outside of the repository, the
product first without the studies. What was built and tried is left in FOLDER (``dist/`` by default).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = {"feddp-kmeans": (ROOT, ROOT / "src"), "feddp-studies": (ROOT / "studies", ROOT / "studies")}
"""Each distribution: where its pyproject.toml is, and the folder of its package."""

NEEDED = (
    "feddp_kmeans/py.typed",
    "feddp_kmeans/report/page.html",
    "feddp_kmeans/report/roc.svg",
    "feddp_kmeans/report/style.css",
    "feddp_kmeans/statistics/compiled/kernels.c",
    "feddp_kmeans/silos/gpu/halves.cu",
    "feddp_kmeans/silos/gpu/lloyd.cu",
    "feddp_kmeans/silos/gpu/rows.cu",
    "feddp_kmeans/network/deployment/app/pyproject.toml",
    "feddp_kmeans/network/deployment/app/feddp_app/server.py",
    "feddp_studies/py.typed",
)
"""Files that are not found by an import; each must be in a wheel."""

EXTRAS = ("Crypto", "dask", "distributed", "flwr", "httpx", "pyspark", "python_calamine", "ray", "torch", "uvicorn")
"""What only extras install. A module may fail to import if one of these is missing, or with a line that names the extra."""

KERNELS = "feddp_kmeans/statistics/compiled/kernels.so"
"""What the wheel of a machine with a C compiler has, in addition to what the source archive has."""

ENGINE = "from feddp_kmeans.statistics.engine import available; print(available())"

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda _: None):
    if ".app." in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except Exception as error:
        missing = (getattr(error, "name", None) or "").split(".")[0]
        if missing not in sys.argv[2].split(",") and "pip install 'feddp-kmeans[" not in str(error):
            raise
for name in getattr(package, "__all__", ()):
    getattr(package, name)
assert "site-packages" in package.__file__, package.__file__
"""

TABLE = """
import numpy as np, pathlib
rng = np.random.default_rng(0)
pathlib.Path("clients").mkdir()
for file, n in {"clients/a.csv": 5000, "clients/b.csv": 5000, "public.csv": 100}.items():
    points = rng.standard_normal((n, 2)) + 6 * rng.integers(2, size=(n, 1))
    np.savetxt(file, points, delimiter=",", header="x,y", comments="")
"""

RIVAL = """
import numpy as np
from feddp_kmeans import FedDPKMeans
points = np.random.default_rng(0).standard_normal((50, 2))
print(FedDPKMeans(2, init="server-lloyds").fit([points], server_data=points[:9]).privacy_)
"""


def run(*command, cwd, fails=False):
    """Return what a command prints; it must succeed, or fail if that is expected."""
    # The repository is not on the path, and pip keeps to the pinned versions.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    if (done.returncode != 0) != fails:
        raise SystemExit(f"{' '.join(map(str, command))[:200]} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def build(name, folder):
    """Return the wheel of a distribution, built from its source archive, after a look at what is in it."""
    project, packages = SOURCES[name]
    version = tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
    run(sys.executable, "-m", "build", "--outdir", folder, project, cwd=folder)
    stem = f"{name.replace('-', '_')}-{version}"
    package = packages / stem.split("-", maxsplit=1)[0]
    assert (folder / f"{stem}.tar.gz").exists()
    (wheel,) = folder.glob(f"{stem}-py3-none-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {file for file in archive.namelist() if ".dist-info/" not in file}
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to(packages).as_posix() for path in files if path.suffix != ".so"}
    if not wheel.stem.endswith("-any"):
        expected.add(KERNELS)
    assert held == expected, f"{wheel.name} differs from the source: {sorted(held ^ expected)}"
    return wheel


def main(folder):
    """Build, install and try; the first thing that is wrong ends it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    product, studies = (build(name, folder) for name in SOURCES)
    held = {file for wheel in (product, studies) for file in zipfile.ZipFile(wheel).namelist()}
    assert set(NEEDED) <= held, f"Not in a wheel: {sorted(set(NEEDED) - held)}"

    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        run(sys.executable, "-m", "venv", here / "empty", cwd=here)
        python, feddp = here / "empty" / "bin" / "python", here / "empty" / "bin" / "feddp"
        install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        run(*install, product, cwd=here)
        version = product.name.split("-")[1]
        assert run(feddp, "--version", cwd=here).strip() == f"feddp {version}"
        assert "pip install feddp-studies" in run(feddp, "reproduce", cwd=here, fails=True)
        run(python, "-c", IMPORT_ALL, "feddp_kmeans", ",".join(EXTRAS), cwd=here)
        assert run(python, "-c", ENGINE, cwd=here).strip() == str(shutil.which(os.environ.get("CC", "cc")) is not None)
        run(python, "-c", TABLE, cwd=here)
        run(feddp, "fit", "clients", "--server", "public.csv", "-k", 2, "--epsilon", 5, "--lloyd-steps", 1, "--out", "run", cwd=here)
        assert (here / "run" / "report.html").exists()

        run(*install, studies, cwd=here)
        run(python, "-m", "pip", "check", cwd=here)
        assert "mixture-point" in run(feddp, "reproduce", cwd=here)
        run(python, "-c", IMPORT_ALL, "feddp_studies", ",".join(EXTRAS), cwd=here)
        assert "lloyd sums" in run(python, "-c", RIVAL, cwd=here)
    sys.stdout.write(f"Built and tried in an empty environment: {', '.join(sorted(path.name for path in folder.iterdir()))}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else ROOT / "dist")
