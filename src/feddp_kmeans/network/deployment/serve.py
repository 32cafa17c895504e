"""The server's half of a federation: a SuperLink that knows the sites, one run on it, and its progress in our log."""

import json
import logging
import time
from pathlib import Path

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.kit import FederationFolder, Kit
from feddp_kmeans.network.deployment.run_request import DONE, PROGRESS, REQUEST, RunRequest, opened, tidy
from feddp_kmeans.network.deployment.superlink import Listening, SuperLink, superlink

logger = logging.getLogger(__name__)

_LOOK = 0.25
_STATUS_EVERY = 20
"""Looks at the run folder between two questions to the SuperLink."""


def listening_of(federation: FederationFolder) -> Listening:
    """Return where a federation's SuperLink listens."""
    kit = federation.kit
    return Listening(kit.host, kit.port, kit.authority, federation.certificate, federation.key)


def serve(request: RunRequest, listening: Listening, kit: Kit | None) -> None:
    """Make a run on a SuperLink of our own, from start to end; the result is in its folder afterwards.

    Whoever has a key in the kit may take part; without a kit everybody may.
    """
    out = Path(request.out)
    opened(request)
    with superlink(listening) as link:
        for name, key in ({} if kit is None else kit.sites()).items():
            link.control.register(name, key)
        logger.info("listening on port %d.", listening.port)
        run = link.control.submit(APP_FOLDER, {"job": str(out / REQUEST)})
        _follow(link, run, out)
    tidy(out)


def _follow(link: SuperLink, run: int, out: Path) -> None:
    """Log what the server's half logs until its run is over; raise where it failed."""
    logged = looks = 0
    while True:
        done = _done(out)
        lines = (out / PROGRESS).read_text(encoding="utf-8").splitlines() if (out / PROGRESS).exists() else []
        for line in lines[logged:]:
            level, _, text = line.partition(" ")
            logger.log(logging.getLevelNamesMapping().get(level, logging.INFO), "%s", text)
        logged = len(lines)
        if done is not None:
            if done:
                raise InputError(done)
            return
        looks += 1
        if (not link.running or (looks % _STATUS_EVERY == 0 and link.control.finished(run))) and _done(out) is None:
            raise InputError("the run must end with a result, but the server's program stopped before.")
        time.sleep(_LOOK)


def _done(out: Path) -> str | None:
    """Return how the run ended: its error, "" for none; None while it runs."""
    path = out / DONE
    return str(json.loads(path.read_text(encoding="utf-8"))["error"]) if path.exists() else None
