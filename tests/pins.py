"""Whether constraints.txt pins all that is installed: ``python -m tests.pins`` says what it does not, and fails."""

import re
import sys
from importlib import metadata
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
OURS = {"feddp-kmeans", "feddp-studies", "pip", "setuptools", "wheel"}
"""What is not fetched by name, and what comes with Python."""


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins():
    """Return the version of each pinned package; anything but an exact pin is an error."""
    found = {}
    for line in CONSTRAINTS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line.strip())
            if match is None:
                raise ValueError(f"constraints.txt must pin exactly, got {line!r}.")
            if canonical(match[1]) in found:
                raise ValueError(f"constraints.txt must pin once, got {match[1]} twice.")
            found[canonical(match[1])] = match[2]
    return found


def strays():
    """Return the installed packages that are not pinned, or are there in another version."""
    pinned = pins()
    installed = {canonical(found.metadata["Name"]): found.version for found in metadata.distributions()}
    return sorted(f"{name}=={version}" for name, version in installed.items() if name not in OURS and pinned.get(name) != version)


if __name__ == "__main__":
    left = strays()
    sys.stdout.write("constraints.txt pins all that is installed.\n" if not left else f"Not pinned: {', '.join(left)}\n")
    sys.exit(bool(left))
