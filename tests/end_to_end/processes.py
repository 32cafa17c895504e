"""Processes of a test on this machine, found by a variable of their environment: children and grandchildren have it too."""

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.command import COMMAND


def marked(name, value):
    """Return the numbers of all live processes but this one in whose environment a variable has this value."""
    mark = f"{name}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def are_gone(name, value, seconds=120):
    """Return whether none of these processes is left; on a busy machine the last ones take a moment to end."""
    end = time.monotonic() + seconds
    while marked(name, value) and time.monotonic() < end:
        time.sleep(0.2)
    return not marked(name, value)


def kill(name, value):
    """Kill what is left of these processes."""
    for pid in marked(name, value):
        os.kill(pid, signal.SIGKILL)


class Machines:
    """The commands of all machines, each with its own log, and a TMPDIR by which what is left of them is found."""

    def __init__(self, folder):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary)}
        self.running = {}

    def start(self, name, *arguments):
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [*COMMAND, *map(str, arguments)], cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def wait_for(self, name, words, seconds=300):
        end = time.monotonic() + seconds
        while words not in self.log(name):
            assert time.monotonic() < end, self.logs()
            assert self.running[name].poll() is None or words in self.log(name), self.logs()
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"== {path.stem}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    def processes(self):
        """Return the numbers of all live processes of these machines, children and grandchildren included."""
        return marked("TMPDIR", self.temporary)

    def gone(self):
        return are_gone("TMPDIR", self.temporary)

    def stop(self):
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kill what is left."""
        kill("TMPDIR", self.temporary)
        for process in self.running.values():
            process.wait()
