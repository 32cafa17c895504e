"""The ordinary ClientApp."""

import subprocess
import sys

from flwr.app import Context, RecordDict

from feddp_kmeans.network.flower.body import body_of, request
from feddp_kmeans.network.flower.client_app import make_client_app


def test_the_app_answers_queries_by_the_nodes_own_configuration_and_not_by_the_runs():
    app = make_client_app(lambda node: lambda body: body + str(node["who"]).encode())
    context = Context(run_id=1, node_id=2, node_config={"who": "berlin"}, state=RecordDict(), run_config={"who": "paris"})
    assert body_of(app(request(2, b"hello ", 5.0), context)) == b"hello berlin"


def test_without_flower_one_line_names_the_extra():
    script = (
        "import sys; sys.modules['flwr'] = None\n"
        "from feddp_kmeans import FedDPError\n"
        "try:\n    import feddp_kmeans.network.flower.flower_federation\n"
        "except FedDPError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert said.stdout == "a federation between machines needs Flower: pip install 'feddp-kmeans[flower]'.\n"


def test_flower_is_imported_with_telemetry_off():
    script = "import feddp_kmeans.network.flower.compat\nfrom flwr.supercore import telemetry\nprint(telemetry.FLWR_TELEMETRY_ENABLED)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300).stdout == "0\n"
