"""The server's half of a federation: a SuperLink that knows the sites, one run on it, and its progress told line by line."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.job import DONE, JOB, PROGRESS, Job, opened, tidy
from feddp_kmeans.network.deployment.kit import FederationFolder, Kit
from feddp_kmeans.network.deployment.superlink import Listening, SuperLink, superlink

_LOOK = 0.25
_STATUS_EVERY = 20
"""Looks at the run folder between two questions to the SuperLink."""

Tell = Callable[[str], None]


def listening_of(federation: FederationFolder) -> Listening:
    """Return where a federation's SuperLink listens."""
    kit = federation.kit
    return Listening(kit.host, kit.port, kit.authority, federation.certificate, federation.key)


def serve(job: Job, listening: Listening, kit: Kit | None, tell: Tell) -> None:
    """Run a job on a SuperLink of our own, from start to end; the result is in the job's folder afterwards.

    Whoever has a key in the kit may take part; without a kit everybody may.
    """
    out = Path(job.out)
    opened(job)
    with superlink(listening) as link:
        for name, key in ({} if kit is None else kit.sites()).items():
            link.register(name, key)
        tell(f"listening on port {listening.port}.")
        run = link.submit(APP_FOLDER, {"job": str(out / JOB)})
        _follow(link, run, out, tell)
    tidy(out)


def _follow(link: SuperLink, run: int, out: Path, tell: Tell) -> None:
    """Tell the lines of a run until it is over; raise where it failed."""
    told = looks = 0
    while True:
        done = _done(out)
        lines = (out / PROGRESS).read_text(encoding="utf-8").splitlines() if (out / PROGRESS).exists() else []
        for line in lines[told:]:
            tell(line)
        told = len(lines)
        if done is not None:
            if done:
                raise FedDPError(done)
            return
        looks += 1
        if (not link.running or (looks % _STATUS_EVERY == 0 and link.finished(run))) and _done(out) is None:
            raise FedDPError("the run must end with a result, but the server's program stopped before.")
        time.sleep(_LOOK)


def _done(out: Path) -> str | None:
    """Return how the run ended: its error, "" for none; None while it runs."""
    path = out / DONE
    return str(json.loads(path.read_text(encoding="utf-8"))["error"]) if path.exists() else None
