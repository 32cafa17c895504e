"""Facts of the machine that a time was measured on, and what a process has used of it. No name of a host."""

import os
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from feddp_kmeans.silos.threads import n_threads


def machine_facts() -> dict[str, Any]:
    """Return what is needed to read a time: processor, cores, threads, BLAS and versions."""
    blas = [
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture')})" for pool in threadpool_info() if pool["user_api"] == "blas"
    ]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": n_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "blas": sorted(set(blas)),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("feddp-kmeans", "numpy", "scipy", "scikit-learn", "cryptography")},
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has had resident."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        found = None
    if found:
        return int(found[1]) / 1e3
    import resource

    # Linux counts in kilobytes, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
