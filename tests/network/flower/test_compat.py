"""The door to Flower's internals: the supported versions, that every name behind it exists, and what each patch does."""

import ast
import asyncio
import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

import feddp_kmeans
from feddp_kmeans import FedDPError
from feddp_kmeans.network import flower
from feddp_kmeans.network.deployment.child import HEALTH, Gate
from feddp_kmeans.network.flower import bundles, compat, fleet, mailbox
from feddp_kmeans.network.flower.compat import knock

PACKAGE = Path(feddp_kmeans.__file__).parent
PROJECT = Path(__file__).parents[3] / "pyproject.toml"
DOORS = [Path(module.__file__) for module in (bundles, compat, fleet, mailbox)]
DOCUMENTED = {"flwr", "flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.simulation"}
SECRET = "5" * 64


def imports(path):
    """Yield the module and the name of each import of a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


def is_private(module):
    return module.split(".")[0] == "flwr" and module not in DOCUMENTED


@pytest.mark.parametrize("installed", ["1.41.0", "1.42.7"])
def test_a_version_of_the_range_is_taken(installed):
    flower.check_version(installed)


@pytest.mark.parametrize("installed", ["0.9", "1.40.9", "1.43.0", "2.0", "nonsense"])
def test_another_version_is_refused_in_one_line(installed):
    with pytest.raises(FedDPError) as refused:
        flower.check_version(installed)
    assert str(refused.value) == f"flwr must be at least 1.41 and below 1.43, got {installed}: pip install 'feddp-kmeans[flower]'."


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


def test_the_extra_asks_for_the_same_versions_and_for_all_that_is_imported():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    least, below = (".".join(map(str, bound)) for bound in (flower.LEAST, flower.BELOW))
    assert f"flwr>={least},<{below}" in extras["flower"]
    assert f"flwr[simulation]>={least},<{below}" in extras["simulation"]
    used = {module.split(".")[0] for path in (PACKAGE / "network").rglob("*.py") for module, _ in imports(path) if module}
    stated = {entry.partition(">")[0] for entry in extras["flower"]}
    assert used & {"httpx", "uvicorn", "starlette", "grpc", "fastapi"} <= stated


def test_every_name_behind_the_door_exists():
    names = [(module, name) for path in DOORS for module, name in imports(path) if is_private(module)]
    assert len(names) > 20
    for module, name in names:
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.import_module(f"{module}.{name}"), (module, name)


def test_nothing_else_of_the_package_imports_what_flower_does_not_document():
    files = [path for path in PACKAGE.rglob("*.py") if path not in DOORS]
    assert len(files) > 100
    assert [(path.name, module) for path in files for module, _ in imports(path) if module and is_private(module)] == []


def test_what_is_patched_is_there_to_be_patched():
    from flwr.superlink.grid import HttpGrid
    from flwr.superlink.routers.fleet import router
    from flwr.superlink.servicer.fleet import fleet_handlers

    grid = HttpGrid("127.0.0.1:1", insecure=True, token="t")
    assert grid._retry_invoker.max_time is None
    assert isinstance(grid._runtime_client, compat.RuntimeHttpClient)
    grid.close()
    assert router.fleet_handlers is fleet_handlers
    assert "fleet_handlers.activate_node(request=request, state=state)" in inspect.getsource(router)


def test_a_client_sends_the_secret_and_takes_no_proxy_and_no_detour(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://proxy.example.org:3128")
    client = compat.RuntimeHttpClient.from_server_address("127.0.0.1:1", True, None, [])
    http = client._client
    assert http._mounts
    knock(client, "abc")
    assert http._transport_for_url(http.build_request("GET", "http://127.0.0.1:1/").url) is http._transport
    assert http.build_request("POST", "http://127.0.0.1:1/").headers["authorization"] == "Bearer abc"
    assert not http.follow_redirects
    client.close()


def test_whatever_a_process_serves_is_behind_the_gate_and_believes_no_proxy(monkeypatch):
    import uvicorn

    monkeypatch.setattr(uvicorn.Config, "__init__", uvicorn.Config.__init__)
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    compat.serve_behind(lambda app: Gate(app, SECRET, HEALTH))
    config = uvicorn.Config(app=lambda *_: None, log_config=None, proxy_headers=True)
    config.load()
    assert isinstance(config.loaded_app, Gate)


class States:
    def get_node_id_by_public_key(self, key):
        return {b"known": 7}.get(key)


def test_what_is_wrapped_around_requests_is_known_and_left_off_where_it_does_nothing():
    script = (
        "from flwr.superlink import main\n"
        "from feddp_kmeans.network.flower import compat\n"
        "compat.lighten()\n"
        "for entry in main._get_middleware():\n"
        "    print(getattr(entry.kwargs.get('dispatch'), '__name__', entry.cls.__name__), entry.cls.__call__.__name__ == 'call')\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300).stdout
    lightened = dict(line.split() for line in said.splitlines())
    assert {name for name, changed in lightened.items() if changed == "False"} == {
        "http_error_translator",
        "ProtobufTranslationMiddleware",
        "NodeAuthMiddleware",
    }
    assert len(lightened) == 9


@pytest.mark.parametrize(("path", "wraps"), [("/v1/control/start-run", True), ("/v1/fleet/pull-object", False), ("/v1/control", False)])
def test_what_is_for_the_control_api_is_called_for_it_only(path, wraps):
    seen = []

    class Wrapper:
        async def app(self, scope, receive, send):
            seen.append(False)

        async def __call__(self, scope, receive, send):
            seen.append(True)

    asyncio.run(compat.around_control(Wrapper.__call__)(Wrapper(), {"type": "http", "path": path}, None, None))
    asyncio.run(compat.around_control(Wrapper.__call__)(Wrapper(), {"type": "lifespan"}, None, None))
    assert seen == [wraps, False]


@pytest.mark.parametrize(("key", "told"), [(b"known", None), (b"other", fleet.UNKNOWN_KEY)])
def test_a_superlink_says_whether_it_knows_the_key_that_it_refuses(key, told):
    from types import SimpleNamespace

    from flwr.supercore.error import FlowerError

    def refuse(request, state):
        raise FlowerError(fleet.NOT_ADMITTED, "no")

    with pytest.raises(FlowerError) as refused:
        compat.telling(refuse)(request=SimpleNamespace(public_key=key), state=States())
    assert refused.value.public_details == told
    assert compat.telling(lambda request, state: request)(request=1, state=2) == 1


@pytest.mark.parametrize(("text", "answer"), [("", "500"), ('{"code": 7, "public_message": "no such thing"}', "500: no such thing")])
def test_a_refusal_of_a_superlink_is_one_line_with_what_it_says(text, answer):
    response = httpx.Response(500, text=text, request=httpx.Request("POST", "http://127.0.0.1:1/"))
    with (
        pytest.raises(FedDPError, match=f"the SuperLink must start the run, but answered {answer}"),
        compat.named_refusals("start the run"),
    ):
        response.raise_for_status()
