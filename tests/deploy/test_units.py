"""The systemd units are valid, and leave their services little to do harm with."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = sorted((Path(__file__).parents[2] / "deploy").glob("*.service"))
MOST_EXPOSED = 2.0
"""Of systemd's scale from 0 to 10."""

installed = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def test_there_is_a_unit_for_each_side():
    assert [unit.name for unit in UNITS] == ["feddp-join@.service", "feddp-serve.service"]


@pytest.fixture(params=UNITS, ids=lambda unit: unit.name)
def unit(request, tmp_path):
    """A unit as it would be installed: its program is there, and a template has a name."""
    path = tmp_path / request.param.name.replace("@", "@berlin")
    path.write_text(request.param.read_text().replace("/opt/feddp/bin/feddp", "/bin/true"))
    return path


@installed
def test_a_unit_is_valid(unit):
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@installed
def test_what_is_wrong_with_a_unit_would_be_found(unit):
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=moon"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "moon" in done.stderr


@installed
def test_a_unit_is_little_exposed(unit):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True, check=False
    )
    assert float(re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)[1]) <= MOST_EXPOSED


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_keeps_its_key_and_its_state_to_itself(path):
    lines = set(path.read_text().splitlines())
    assert {"User=feddp", "ProtectSystem=strict", "NoNewPrivileges=yes", "StateDirectoryMode=0700", "Restart=on-failure"} <= lines
    assert any(line.startswith("TimeoutStopSec=") for line in lines)
    if "join" in path.name:
        assert "LoadCredential=site.key:/etc/feddp/%i/site.key" in lines
        (command,) = (line for line in lines if line.startswith("ExecStart="))
        assert "--key %d/site.key" in command
        assert "--odometer %S/feddp/%i/" in command
