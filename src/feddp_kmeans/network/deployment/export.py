"""What a stock ``flwr run`` needs, as files: the app with its run, and what a stock SuperNode is told of its site."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.apps import APP_FOLDER
from feddp_kmeans.network.deployment.run_request import REQUEST, RunRequest, opened
from feddp_kmeans.network.deployment.site import FORMAT, Site

_NO_JOB = '\njob = ""\n'


def export_app(folder: Path, request: RunRequest) -> Path:
    """Write the app into a folder, with the path of the run's request as its configuration; return the app's own folder."""
    request = opened(request)
    app = folder.resolve() / "app"
    shutil.rmtree(app, ignore_errors=True)
    shutil.copytree(APP_FOLDER, app, ignore=shutil.ignore_patterns("__pycache__"))
    described = (app / "pyproject.toml").read_text(encoding="utf-8")
    named = described.replace(_NO_JOB, f"\njob = {json.dumps(str(Path(request.out) / REQUEST))}\n")
    if named == described:
        raise InputError("the app must leave a place for the path of its run; this package is damaged.")
    write_whole(app / "pyproject.toml", named.encode())
    return app


def export_site(folder: Path, site: Site) -> Path:
    """Write what a stock SuperNode needs to know of its site; return the file. The data are read once: what is wrong is said now."""
    _ = site.participant().columns
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / "site.json"
    write_whole(path, (json.dumps({"format": FORMAT} | asdict(site), indent=2) + "\n").encode())
    return path
