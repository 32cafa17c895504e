"""The health check of the image: a server must answer on its port; a site is healthy while its process runs.

A site that waits for a server is well, since a server ends with its run. ``health.py FILE`` takes the command line from a file.
"""

import http.client
import json
import ssl
import sys
from pathlib import Path

ANSWER = 5.0


def main(command_line: Path) -> int:
    """Return 0 if the main process is well, 1 if not."""
    arguments = command_line.read_bytes().decode(errors="replace").split("\0")
    if "serve" not in arguments:
        return 0
    connection: http.client.HTTPConnection
    if "--insecure" in arguments:
        port = arguments[arguments.index("--port") + 1] if "--port" in arguments else "9443"
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=ANSWER)
    else:
        public = next(path for path in (Path(argument, "public") for argument in arguments if argument) if path.is_dir())
        port = json.loads((public / "federation.json").read_bytes())["port"]
        context = ssl.create_default_context(cafile=public / "ca.crt")
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=ANSWER, context=context)
    try:
        connection.request("GET", "/health")
        return int(connection.getresponse().status != http.client.OK)
    except (OSError, http.client.HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "/proc/1/cmdline")))
