"""The paper's published code next to ours: the same data, the same machine, the same minute; and the epsilon that it really spends."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from feddp_kmeans.algorithm.server import kmeans_cost
from feddp_kmeans.algorithm.settings import MethodName, Settings
from feddp_kmeans.errors import FedDPError, InputError
from feddp_kmeans.privacy.accounting import composed_epsilon
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_studies.speed import published_hooks
from feddp_studies.speed.machine import machine_facts
from feddp_studies.speed.whole_runs_speed import METHODS, SpeedCase, alone, timed_run, warm_up

CONFIG = "configs/gaussians_data_privacy.yaml"
"""The published settings for the paper's mixture, a point protected."""

PUBLISHED = "the paper's code"


def compare(repository: Path, python: str, timeout: float, on_case: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Return a row for the published code and for each of our methods, at the epsilon that the published code states."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        on_case(PUBLISHED)
        facts = run_published(repository, python, timeout, folder)
        given, delta = facts["arguments"], facts["delta"]
        releases = releases_of(facts["draws"], given["dim"], given["K"], given["outer_product_clipping_bound"])
        with np.load(folder / published_hooks.DATA) as data:
            points, server_points = data["points"], data["server_points"]
        case = SpeedCase("published", given["num_train_clients"], len(points) // given["num_train_clients"], given["dim"], given["K"])
        row = {"who": PUBLISHED, "stated": facts["epsilon"], "spent": composed_epsilon(releases, delta)}
        rows = [row | {"cost": kmeans_cost(points, np.array(facts["centers"]))} | {key: facts[key] for key in ("cpu_seconds", "seconds")}]
        for method in METHODS:
            on_case(f"ours, {method}")
            settings = Settings(case.k, facts["epsilon"], delta, method=MethodName(method))
            rows.append(alone(_ours, case, settings, points, server_points))
    ledger = [
        release.to_dict() | {"sensitivity": release.sensitivity, "epsilon": composed_epsilon([release], delta)} for release in releases
    ]
    return {
        "machine": machine_facts(),
        "data": case.name,
        "delta": delta,
        "rows": rows,
        "releases": ledger,
        "same_noise": same_noise(facts["draws"], releases),
    }


def releases_of(draws: Sequence[dict[str, Any]], dimension: int, k: int, radius: float) -> list[Release]:
    """Return each draw of noise as a release: its scale is what was drawn, its sensitivity what one point of this radius really adds.

    A point x adds x x^T to the outer product, of norm radius^2; x to one sum; 1 to one weight or count. (Step 1 of the published code
    shortens the points to the radius in place, so the sums of later steps are bounded too.)
    """
    if not draws:
        raise FedDPError("the published code must draw its noise by numpy.random.normal and laplace, but drew none.")
    found = []
    for draw in draws:
        if draw["law"] == "laplace":
            name, mechanism, sensitivity = "counts" if draw["shape"] == [k] else "weights", Mechanism.LAPLACE, 1.0
        elif draw["shape"] == [dimension, dimension]:
            name, mechanism, sensitivity = "outer product", Mechanism.GAUSSIAN, radius**2
        else:
            name, mechanism, sensitivity = "sums", Mechanism.GAUSSIAN, radius
        values = int(np.prod(draw["shape"]))
        found.append(Release(name, mechanism, sensitivity, sensitivity, draw["scale"] / sensitivity, values))
    return found


def same_noise(draws: Sequence[dict[str, Any]], releases: Sequence[Release]) -> list[list[str]]:
    """Return the names of releases whose noise came from one state of the generator: the noise of one tells that of the other."""
    groups: dict[str, list[str]] = {}
    for draw, release in zip(draws, releases, strict=True):
        groups.setdefault(draw["state"], []).append(release.name)
    return [names for names in groups.values() if len(names) > 1]


def run_published(repository: Path, python: str, timeout: float, folder: Path) -> dict[str, Any]:
    """Run the published code in a process of its own and return the facts that the hooks wrote."""
    if not repository.is_dir():
        raise InputError(f"--published must be a folder, got {repository}.")
    for needed in ("run.py", CONFIG):
        if not (repository / needed).is_file():
            raise InputError(f"--published must be the authors' repository fed-dp-kmeans, but {repository} has no {needed}.")
    repository = repository.resolve()
    # Nothing is written into the repository (-B: no bytecode either). One validation client: its evaluations are no part of a run.
    command = [python, "-B", published_hooks.__file__, str(repository), str(folder), "--args_config", str(repository / CONFIG)]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    try:
        done = subprocess.run(  # noqa: S603 - the program that the user named
            [*command, "--num_val_clients", "1"],
            cwd=folder,
            env=environment,
            timeout=timeout,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FedDPError(f"the published code must end within --timeout {timeout:g} s, but did not.") from None
    except OSError as error:
        raise InputError(f"--python must be a Python program, got {python}: {error.strerror}.") from None
    written = folder / published_hooks.FACTS
    if written.is_file():
        facts: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
        return facts
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if last.startswith(("ModuleNotFoundError", "ImportError")):
        needs = f"install {repository / 'requirements.txt'} in an environment of its own and name its Python with --python"
        raise InputError(f"{python} must have what the published code imports ({last}): {needs}.")
    raise FedDPError(f"the published code failed: {last}")


def _ours(case: SpeedCase, settings: Settings, points: np.ndarray, server_points: np.ndarray) -> dict[str, Any]:
    warm_up(case, settings.method)
    found, seconds = timed_run(settings, np.split(points, case.n_clients), server_points)
    stated = {"stated": settings.epsilon, "spent": found.privacy.epsilon_spent}
    return {"who": f"ours, {settings.method}"} | stated | {"cost": kmeans_cost(points, found.centers)} | seconds
