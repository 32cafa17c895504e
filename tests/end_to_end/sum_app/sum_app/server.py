"""A ServerApp that sends a number to every node, adds up what comes back, and writes down what it saw."""

import json
import os
import time
from pathlib import Path

from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from feddp_kmeans.federation.flower.grid import GridTransport
from feddp_kmeans.federation.transport import Lost

app = ServerApp()
client = ClientApp()


@app.main()
def main(grid, context):
    config = context.run_config
    transport = GridTransport(grid)
    end = time.monotonic() + config["timeout"]
    while len(nodes := transport.nodes()) < config["nodes"] and time.monotonic() < end:
        time.sleep(0.25)
    seen = []
    for number in range(config["exchanges"]):
        begin = time.monotonic()
        replies = transport.exchange({node: str(number).encode() for node in nodes}, config["timeout"], nodes)
        lost = sorted(reply.reason for reply in replies.values() if isinstance(reply, Lost))
        total = sum(int(reply) for reply in replies.values() if isinstance(reply, bytes))
        seen.append({"total": total, "lost": lost, "seconds": time.monotonic() - begin, "nodes": len(nodes), "at": time.time()})
        Path(config["out"] + ".partial").write_text(json.dumps(seen))
    os.replace(config["out"] + ".partial", config["out"])
