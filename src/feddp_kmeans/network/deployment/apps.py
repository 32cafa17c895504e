"""The two halves as a Flower app: what the app folder names, for ``feddp serve`` and for anyone's ``flwr run``."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.run_request import PROGRESS, RunRequest, read_request, run_and_report
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.network.flower.body import Handler, answer
from feddp_kmeans.network.flower.flower_federation import GridTransport

APP_FOLDER = Path(__file__).parent / "app"
"""The folder that ``flwr run`` takes."""


def server_app(request: RunRequest | None = None) -> ServerApp:
    """Return the ServerApp of a run: the one given, or the one in the file that the run's configuration names.

    The latter has a process of its own, whose log goes to the progress file: ``feddp serve`` reads it.
    """
    app = ServerApp()

    @app.main()
    def _main(grid: Grid, context: Context) -> None:
        asked = request
        if asked is None:
            asked = read_request(_named_file(context.run_config, "job"))
            _log_to(logging.FileHandler(Path(asked.out) / PROGRESS, encoding="utf-8"))
        run_and_report(GridTransport(grid), asked)

    return app


def client_app() -> ClientApp:
    """Return the ClientApp of a SuperNode whose own configuration names a site file; what the site logs goes to the node's terminal."""
    _log_to(logging.StreamHandler())
    return make_client_app(lambda configuration: site_handler(read_site(_named_file(configuration, "site"))))


def make_client_app(handler_of: Callable[[Mapping[str, object]], Handler]) -> ClientApp:
    """Return the app whose handler is made from the node's own configuration; the server's run configuration is never read."""
    app = ClientApp()

    @app.query()
    def _query(message: Message, context: Context) -> Message:
        return answer(message, handler_of(context.node_config))

    return app


@cache
def site_handler(site: Site) -> Handler:
    """Return what answers for a site, the same one as long as this process lives."""
    return site.participant().handle


def _named_file(configuration: Mapping[str, object], name: str) -> Path:
    path = configuration.get(name)
    if not isinstance(path, str) or not path:
        raise InputError(f'{name} must name a file in the configuration of the run or the node, as in {name}="/path/{name}.json".')
    return Path(path)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname} {' '.join(record.getMessage().split())}"


def _log_to(handler: logging.Handler) -> None:
    """Log this package there from now on, one line per record: its level and its message."""
    handler.setFormatter(_OneLine())
    package = logging.getLogger("feddp_kmeans")
    package.addHandler(handler)
    package.setLevel(logging.INFO)
