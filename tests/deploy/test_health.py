"""The health check of the image: a server must answer, and anything else is well while it runs."""

import runpy
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

main = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "health.py"))["main"]


@pytest.fixture
def health(tmp_path):
    """What the check says of a main process with this command line."""

    def check(*arguments):
        path = tmp_path / "cmdline"
        path.write_bytes("\0".join(["/opt/feddp/bin/python", "/opt/feddp/bin/feddp", *map(str, arguments), ""]).encode())
        return main(path)

    return check


@pytest.fixture(params=[200, 403])
def answering(request):
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(request.param if self.path == "/health" else 500)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], request.param
        server.shutdown()


def test_a_server_must_answer_on_its_port(health, answering):
    port, status = answering
    assert health("serve", "--insecure", "--port", port) == (0 if status == 200 else 1)


def test_a_server_that_does_not_answer_is_not_well(health):
    assert health("serve", "--insecure", "--port", 1) == 1


def test_a_site_that_waits_is_well(health):
    assert health("join", "/kit", "--key", "/keys/berlin.key") == 0
