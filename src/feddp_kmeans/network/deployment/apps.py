"""The two halves as a Flower app: what the app folder names, for ``feddp serve`` and for anyone's ``flwr run``."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.run_request import PROGRESS, RunRequest, read_request, run_and_report
from feddp_kmeans.network.deployment.site import Site, site_of_node
from feddp_kmeans.network.flower.client_app import Handler, make_client_app
from feddp_kmeans.network.flower.flower_federation import GridTransport

_PACKAGE = logging.getLogger("feddp_kmeans")

APP_FOLDER = Path(__file__).parent / "app"
"""The folder that ``flwr run`` takes."""


def server_app(request: RunRequest | None = None) -> ServerApp:
    """Return the ServerApp of a run: the one given, or the one in the file that the run's configuration names.

    What the latter logs goes to its progress file: it is a process of its own, and ``feddp serve`` reads the file.
    """
    app = ServerApp()

    @app.main()
    def _main(grid: Grid, context: Context) -> None:
        asked = request or _named_request(context)
        with nullcontext() if request else _logged_to(Path(asked.out) / PROGRESS):
            run_and_report(GridTransport(grid), asked)

    return app


def client_app() -> ClientApp:
    """Return the ClientApp of a SuperNode whose own configuration names a site file; what the site logs goes to the node's terminal."""
    _PACKAGE.addHandler(logging.StreamHandler())
    _PACKAGE.setLevel(logging.INFO)
    return make_client_app(lambda configuration: site_handler(site_of_node(configuration)))


@cache
def site_handler(site: Site) -> Handler:
    """Return what answers for a site, the same one as long as this process lives."""
    return site.participant().handle


def _named_request(context: Context) -> RunRequest:
    path = context.run_config.get("job")
    if not isinstance(path, str) or not path:
        raise InputError("the run's configuration must name the run's file, as in -c 'job=\"/path/run/job.json\"'.")
    return read_request(Path(path))


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname} {' '.join(record.getMessage().split())}"


@contextmanager
def _logged_to(path: Path) -> Iterator[None]:
    """Append this package's log to a file while the block runs, one line per record: its level and its message."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(_OneLine())
    before = _PACKAGE.level
    _PACKAGE.addHandler(handler)
    _PACKAGE.setLevel(logging.INFO)
    try:
        yield
    finally:
        _PACKAGE.removeHandler(handler)
        _PACKAGE.setLevel(before)
        handler.close()
