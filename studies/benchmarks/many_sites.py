"""A federation of many sites on this machine: as processes with TLS and keys, or simulated in one process, where some drop out.

    python studies/benchmarks/many_sites.py processes 50
    python studies/benchmarks/many_sites.py simulated 100
    python studies/benchmarks/many_sites.py simulated 1000 --trust aggregator

Each site holds 1,000 points of a made-up mixture. Sums are secure, unless the server is trusted with them: the keys of a secure sum take
all sites together a time that grows like the third power of their number. Printed: seconds until all sites are connected and until the
result is written, memory of a site (PSS) and its CPU seconds, what is left running ten seconds after the end; the load of the machine
says whether it was quiet.
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.network.participant import Participant
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.terms import Policy, Trust
from feddp_kmeans.network.transport import Lost
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.memory import ArraySilo
from feddp_kmeans.statistics import REGISTRY

COMMAND = [sys.executable, "-c", "from feddp_kmeans.cli.main import main; main()"]
EPSILON, LIMIT, POINTS, DIMENSION, K = "8", "10", 1_000, 4, 3
LEFT = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


class Mixture:
    """Draws points around three means."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.means = 6 * self.rng.standard_normal((K, DIMENSION))

    def draw(self, n):
        return self.means[self.rng.integers(K, size=n)] + 0.3 * self.rng.standard_normal((n, DIMENSION))

    def off(self, centers):
        return float(np.linalg.norm(np.asarray(centers)[:, None] - self.means[None], axis=2).min(axis=0).max())


def processes(n_sites, folder):
    """Run a server and this many sites as an operator would, and end the sites by SIGTERM."""
    from feddp_kmeans.network.deployment.children import free_port
    from feddp_kmeans.network.deployment.keys import write_site_key
    from feddp_kmeans.network.deployment.kit import make_federation

    mixture = Mixture()
    np.save(folder / "public.npy", mixture.draw(60))
    kit = make_federation(folder / "federation", ["127.0.0.1"], free_port()).kit.folder
    names = [f"site{number:03}" for number in range(n_sites)]
    for name in names:
        (folder / name).mkdir()
        np.save(folder / name / "points.npy", mixture.draw(POINTS))
        shutil.copy(write_site_key(folder / name, name)[1], kit / "sites")
    mark = {"TMPDIR": str(folder)}
    began = time.monotonic()
    what = ["--server", "public.npy", "-k", str(K), "--epsilon", EPSILON, "--wait", "3600", "--out", "run"]
    server = start(folder, "serve", mark, "serve", "federation", *what)
    sites = []
    for name in names:
        own = ["--key", f"{name}/{name}.key", "--data", f"{name}/points.npy", "--limit", LIMIT]
        sites.append(start(folder, name, mark, "join", kit, *own))
    log = folder / "serve.log"
    while " sites: " not in log.read_text() and server.poll() is None:
        time.sleep(0.5)
    connected = time.monotonic() - began
    memory = 0.0
    while server.poll() is None:
        memory = max(memory, *(pss(site.pid) for site in sites))
        time.sleep(2)
    ended = time.monotonic() - began
    cpu = max(cpu_seconds(site.pid) for site in sites)
    for site in sites:
        site.terminate()
    time.sleep(LEFT)
    left = [site.pid for site in sites if site.poll() is None]
    for site in sites:
        site.kill()
    if server.returncode:
        print(log.read_text()[-2000:])
        raise SystemExit(server.returncode)
    print(f"{n_sites} sites: connected after {connected:.0f} s, result after {ended:.0f} s")
    print(f"largest site: {memory:.0f} MB (PSS), {cpu:.1f} s of CPU; {len(left)} sites left {LEFT:g} s after SIGTERM")


def start(folder, name, mark, *arguments):
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen([*COMMAND, *map(str, arguments)], cwd=folder, env=os.environ | mark, stdout=log, stderr=subprocess.STDOUT)


def pss(pid):
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def cpu_seconds(pid):
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / TICKS
    except OSError:
        return math.nan


class Lossy:
    """A transport inside this process that loses a part of the messages, before or after they are answered."""

    def __init__(self, participants, lost):
        self.participants, self.lost, self.chance, self.n_lost = dict(enumerate(participants, 1)), lost, random.Random(0), 0

    def nodes(self):
        return list(self.participants)

    def exchange(self, requests, timeout, patient):  # noqa: ARG002 - as every transport
        return {node: self._reply(node, request) for node, request in requests.items()}

    def _reply(self, node, request):
        loses = self.chance.random() < self.lost
        self.n_lost += loses
        if loses and self.chance.random() < 1 / 2:
            return Lost("lost on its way")
        reply = self.participants[node].handle(request)
        return Lost("its reply was lost") if loses else reply


def simulated(n_sites, folder, lost, trust):
    """Run the same protocol with all sites in this process."""
    mixture = Mixture()
    columns = tuple(f"x{number}" for number in range(DIMENSION))
    policy = Policy(PrivacyUnit.POINT, float(LIMIT), allow_aggregator=trust is Trust.AGGREGATOR)

    def site(number):
        name, silo = f"site{number:04}", ArraySilo([mixture.draw(POINTS)], columns)
        books = Odometer(folder / f"{name}.jsonl")
        return Participant(name, lambda: silo, registry=REGISTRY, policy=policy, odometer=books, state=folder / name)

    transport = Lossy([site(number) for number in range(n_sites)], lost=0.0)
    began = time.monotonic()
    federation = RemoteFederation(transport, trust=trust).connect()
    transport.lost = lost
    model = FedDPKMeans(K, epsilon=float(EPSILON), method="paper", lloyd_steps=1, noise="gaussian").fit(
        federation, server_data=mixture.draw(60)
    )
    print(f"{n_sites} simulated sites, {trust.value}: {time.monotonic() - began:.0f} s, {transport.n_lost} messages lost")
    print(f"largest distance of a mean from the nearest center: {mixture.off(model.cluster_centers_):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=["processes", "simulated"])
    parser.add_argument("sites", type=int)
    parser.add_argument("--lost", type=float, default=0.02, help="part of the messages of a simulation that are lost")
    parser.add_argument("--trust", type=Trust, default=Trust.SECURE_SUM, help="secure-sum or aggregator, for a simulation")
    given = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}")
    with tempfile.TemporaryDirectory() as folder:
        if given.how == "processes":
            processes(given.sites, Path(folder))
        else:
            simulated(given.sites, Path(folder), given.lost, given.trust)


if __name__ == "__main__":
    main()
