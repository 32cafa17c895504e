"""The product without the studies: their commands and starts are not there, and whoever asks for one is told how to get it."""

import json
import subprocess
import sys

from feddp_kmeans import plugins
from tests.cli.command import feddp

ALONE = """
import importlib.metadata, runpy, sys

real = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **wanted: real(group="no such group") if "feddp" in wanted.get("group", "") else real(**wanted)


class NoStudies:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "feddp_studies":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoStudies())
"""
"""Hides the studies from a process: neither their entry points nor their modules are found."""

COMMAND = ALONE + "from feddp_kmeans.cli.main import main\nmain()\n"
FIT = """
import json
import numpy as np
from feddp_kmeans import FedDPKMeans

points = np.random.default_rng(0).standard_normal((60, 2))
said = {}
for init in ("server-lloyds", "moon"):
    try:
        FedDPKMeans(2, init=init).fit([points], server_data=points[:9])
    except ValueError as error:
        said[init] = str(error)
said["feddp"] = FedDPKMeans(2, lloyd_steps=0, random_state=0).fit([points], server_data=points[:9]).cluster_centers_.shape
print(json.dumps(said))
"""


def alone(program, *arguments):
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=300)


def test_without_the_studies_help_names_no_command_of_theirs():
    listed = alone(COMMAND, "--help")
    assert listed.returncode == 0, listed.stderr
    assert " fit " in listed.stdout
    assert " reproduce " not in listed.stdout
    assert " bench " not in listed.stdout


def test_without_the_studies_their_commands_say_in_one_line_how_to_get_them():
    for name in ("reproduce", "bench"):
        failed = alone(COMMAND, name, "--quick")
        assert failed.returncode == 1
        expected = (
            f"command must be an installed one, got '{name}'. '{name}' comes with the studies of the paper: pip install feddp-studies."
        )
        assert failed.stderr == f"feddp: {expected}\n"
    assert alone(COMMAND, "moon").returncode == 2


def test_without_the_studies_a_fit_runs_and_a_start_of_theirs_says_how_to_get_it():
    done = alone(ALONE + FIT)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["feddp"] == [2, 2]
    assert said["moon"] == "init must be one of ['feddp'], got 'moon'."
    assert said["server-lloyds"] == (
        "init must be one of ['feddp'], got 'server-lloyds'. "
        "'server-lloyds' comes with the studies of the paper: pip install feddp-studies."
    )


def test_with_the_studies_help_names_their_commands():
    listed = feddp("--help").stdout
    assert " reproduce " in listed
    assert " bench " in listed


def test_advice_is_given_for_all_that_the_studies_add_and_for_nothing_else():
    for group in (plugins.COMMANDS, plugins.STARTS):
        assert plugins.names(group)
        for name in plugins.names(group):
            assert plugins.advice(group, name)
            assert callable(plugins.load(group, name))
        assert not plugins.advice(group, "moon")
