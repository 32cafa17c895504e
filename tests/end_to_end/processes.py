"""Processes of a test on this machine, found by a variable of their environment: children and grandchildren have it too."""

import os
import signal
import time
from pathlib import Path


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
