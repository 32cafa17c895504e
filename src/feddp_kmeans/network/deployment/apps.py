"""The two halves as a Flower app, for anyone's ``flwr run``. ``feddp serve`` submits the same app, but never runs it."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.run_request import carry_out, read_request
from feddp_kmeans.network.deployment.site import Site, read_site
from feddp_kmeans.network.flower.body import Handler, answer
from feddp_kmeans.network.flower.flower_federation import GridTransport

APP_FOLDER = Path(__file__).parent / "app"
"""The folder that ``flwr run`` takes."""


def server_app() -> ServerApp:
    """Return the ServerApp of the run in the file that the run's configuration names."""
    app = ServerApp()

    @app.main()
    def _main(grid: Grid, context: Context) -> None:
        _show_log()
        carry_out(GridTransport(grid), read_request(_named_file(context.run_config, "job")))

    return app


def client_app() -> ClientApp:
    """Return the ClientApp of a SuperNode whose own configuration names a site file; its log is shown there."""
    _show_log()
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
    """Return the handler of a site, the same one for the life of this process."""
    return site.participant().handle


def _named_file(configuration: Mapping[str, object], name: str) -> Path:
    path = configuration.get(name)
    if not isinstance(path, str) or not path:
        raise InputError(f'{name} must name a file in the configuration of the run or the node, as in {name}="/path/{name}.json".')
    return Path(path)


def _show_log() -> None:
    """Show the log of this package on the terminal of this process."""
    package = logging.getLogger("feddp_kmeans")
    package.addHandler(logging.StreamHandler())
    package.setLevel(logging.INFO)
