"""The services of the compose file, and what its first lines ask for."""

import shutil
from pathlib import Path

import numpy as np
import yaml

from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation

FILE = Path(__file__).parents[2] / "deploy" / "compose.yaml"
SERVICES = yaml.safe_load(FILE.read_text())["services"]
SITES = sorted(set(SERVICES) - {"server"})


def prepared(folder):
    """Make what the comment at the top of the file asks for, with a server on the loopback interface."""
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])

    def write(path, rows):
        path.parent.mkdir(parents=True)
        np.savetxt(path, means[rng.integers(3, size=rows)] + rng.standard_normal((rows, 2)), delimiter=",", header="x,y", comments="")

    make_federation(folder / "federation", ["127.0.0.1"], free_port())
    write(folder / "public" / "public.csv", 60)
    (folder / "run").mkdir()
    for name in SITES:
        write(folder / name / "data" / "patients.csv", 3000)
        shutil.copy(write_site_key(folder / name, name)[1], folder / "federation" / "public" / "sites")
    return means
