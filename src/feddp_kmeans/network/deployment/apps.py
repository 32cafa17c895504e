"""The two halves as a Flower app: what the app folder names, for ``feddp serve`` and for anyone's ``flwr run``."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.job import PROGRESS, Job, read_job, run_and_report
from feddp_kmeans.network.deployment.site import Site, site_of_node
from feddp_kmeans.network.flower.client_app import Handler, make_client_app
from feddp_kmeans.network.flower.grid_transport import GridTransport

APP_FOLDER = Path(__file__).parent / "app"
"""The folder that ``flwr run`` takes."""


def server_app(job: Job | None = None, tell: Callable[[str], None] | None = None) -> ServerApp:
    """Return the ServerApp of a job: the one given, or the one in the file that the run's configuration names."""
    app = ServerApp()

    @app.main()
    def _main(grid: Grid, context: Context) -> None:
        asked = job or _named_job(context)
        run_and_report(GridTransport(grid), asked, tell or _teller(asked))

    return app


def client_app() -> ClientApp:
    """Return the ClientApp of a SuperNode whose own configuration names a site file."""
    return make_client_app(lambda configuration: site_handler(site_of_node(configuration)))


@cache
def site_handler(site: Site) -> Handler:
    """Return what answers for a site, the same one as long as this process lives."""
    return site.participant(print).handle


def _named_job(context: Context) -> Job:
    path = context.run_config.get("job")
    if not isinstance(path, str) or not path:
        raise FedDPError("the run's configuration must name the job, as in -c 'job=\"/path/run/job.json\"'.")
    return read_job(Path(path))


def _teller(job: Job) -> Callable[[str], None]:
    """Return what appends lines to the progress file of a job's folder."""
    path = Path(job.out) / PROGRESS

    def tell(line: str) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(" ".join(line.split()) + "\n")

    return tell
