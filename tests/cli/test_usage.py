"""Wrong usage: one line that says what to type instead."""

import pytest

from tests.cli.command import feddp


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("fit a.csv", "-k must be given, the number of clusters or auto. For example: feddp fit a.csv -k 5 --epsilon 1"),
        (
            "choose-k a.csv --out x",
            (
                "--epsilon must be given, the privacy budget: 1 is a strong promise, 4 a weak one. "
                "For example: feddp choose-k a.csv --out x --epsilon 1"
            ),
        ),
        (
            "fit -k 3 --epsilon 1",
            "CLIENTS must be given: a table, a folder of tables, or a pattern in quotes such as 'clients/*.csv'. Try: feddp fit --help",
        ),
        (
            "join --limit 1 --data a.csv b.csv c.csv",
            (
                "Got unexpected extra argument (c.csv): several files are given as a pattern in quotes, such as 'clients/*.csv', "
                "or as their folder. Try: feddp join --help"
            ),
        ),
        (
            "plan b.csv -k 3 --epsilon 1",
            "Got unexpected extra argument (b.csv): feddp plan takes options only, and reads no data. Try: feddp plan --help",
        ),
        ("fit a.csv -k 3 --epsilon one", "Invalid value for '--epsilon': 'one' is not a valid float. Try: feddp fit --help"),
        ("fit a.csv -k 3 --epsilom 1", "No such option: --epsilom (Possible options: --epsilon, --silo). Try: feddp fit --help"),
        ("nonsense", "No such command 'nonsense'. Try: feddp --help"),
        ("report", "Missing argument 'RUN'. Try: feddp report --help"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path, arguments, told):
    (tmp_path / "b.csv").write_text("x\n1\n")
    done = feddp(*arguments.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"feddp: {told}\n")


def test_without_a_command_help_is_shown_once():
    done = feddp()
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count("Private federated k-means") == 1
