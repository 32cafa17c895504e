"""Machines with addresses of their own: network namespaces on a bridge that is in a namespace too, so nothing outside can be reached."""

import os
import secrets
import shutil
import subprocess

from tests.cli.command import COMMAND
from tests.end_to_end.processes import Machines

NETWORK = "10.77.0"
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def why_not():
    """Return why there can be no namespaces here, or an empty string."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return "network namespaces need root and iproute2"
    name = f"feddp-{secrets.token_hex(3)}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        _ip("netns", "del", name)
    return tried.stderr.strip()


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)


class Network(Machines):
    """Machines that see each other over a bridge, each under its own address."""

    def __init__(self, folder, names):
        super().__init__(folder)
        self.tag = f"f{secrets.token_hex(3)}"
        self.addresses = {name: f"{NETWORK}.{number}" for number, name in enumerate(names, 1)}
        self.namespaces = {name: f"{self.tag}-{name}" for name in names}
        self.bridge = f"{self.tag}-bridge"

    def __enter__(self):
        _ip("netns", "add", self.bridge)
        _ip("-n", self.bridge, "link", "add", "br0", "type", "bridge")
        _ip("-n", self.bridge, "link", "set", "br0", "up")
        for number, (name, address) in enumerate(self.addresses.items(), 1):
            space = self.namespaces[name]
            _ip("netns", "add", space)
            _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}", "netns", self.bridge)
            _ip("-n", self.bridge, "link", "set", f"port{number}", "master", "br0", "up")
            _ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", space, "link", "set", device, "up")
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        for space in (*self.namespaces.values(), self.bridge):
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True, timeout=60)

    def cable(self, name, state):
        """Pull a machine's cable, or plug it in again."""
        _ip("-n", self.namespaces[name], "link", "set", "eth0", state)

    def on(self, machine, *command):
        """Return a command line that is run on a machine."""
        return ["ip", "netns", "exec", self.namespaces[machine], *map(str, command)]

    def start_on(self, machine, name, *arguments, clock=None):
        """Start ``feddp`` on a machine, with a clock that is this many seconds ahead."""
        shift = [] if clock is None else ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME={clock:+d}"]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                self.on(machine, *shift, *COMMAND, *arguments), cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def feddp_on(self, machine, name, *arguments, clock=None):
        """Run ``feddp`` on a machine to its end; return its exit status and what it said."""
        self.start_on(machine, name, *arguments, clock=clock)
        return self.running.pop(name).wait(600), " ".join(self.log(name).split())
