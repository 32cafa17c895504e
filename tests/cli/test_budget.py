"""Which odometer is that of a data set: one, whatever the data are called; and what its runs add up to."""

import json

import numpy as np
import pytest

from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.cli.budget import ODOMETER, odometer_of
from feddp_kmeans.cli.show import USELESS
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.receipts import Receipts
from feddp_kmeans.network.run_state import AskedSum, RunState
from feddp_kmeans.network.secure_sum.identity import load_identity
from feddp_kmeans.network.terms import Terms, Trust
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Odometer, new_run
from feddp_kmeans.privacy.plan import calibrated_plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.cli.command import feddp

PLAN = prepare(Settings(2, 1.0, lloyd_steps=0), np.eye(3), 1).plan


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "x[1]" / "data"
    folder.mkdir(parents=True)
    (folder / "table.csv").write_text("a\n1\n")
    return folder


def test_a_table_has_one_odometer_under_all_its_names(data, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.csv").symlink_to(data / "table.csv")
    for name in (data / "table.csv", tmp_path / "elsewhere" / "other.csv"):
        assert odometer_of(str(name)).path.resolve() == (data / ODOMETER).resolve()


def test_a_folder_has_one_odometer_from_wherever_it_is_named(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    for name in ("data", "./data/", "data/*.csv", str(data)):
        assert odometer_of(name).path.resolve() == (data / ODOMETER).resolve()


def test_several_files_have_the_odometer_of_their_folder_or_one_that_is_named(data, tmp_path):
    (data / "other.csv").symlink_to(data / "table.csv")
    files = (str(data / "table.csv"), str(data / "other.csv"))
    assert odometer_of(files).path == (data / ODOMETER).resolve()
    (tmp_path / "far.csv").write_text("a\n1\n")
    with pytest.raises(FedDPError, match="--odometer must be given if clients are in several folders, got 2 folders"):
        odometer_of((*files, str(tmp_path / "far.csv")))
    assert odometer_of((*files, str(tmp_path / "far.csv")), tmp_path / "books.jsonl").path == tmp_path / "books.jsonl"


def booked(folder, *runs):
    """Book one run for each pair of a table and whether its noise was secret."""
    for table, secure in runs:
        Books(Odometer(folder / ODOMETER), what=f"feddp fit [{table}]", table=table).book(PLAN, new_run(), secure=secure)


def epsilons(folder, *more):
    made = json.loads(feddp("budget", folder, "--json", *more).stdout)
    tables = {name: totals[0]["epsilon"] for name, totals in made["tables"].items()}
    return tables, made["totals"][0]["epsilon"]


def test_totals_by_table_add_up_unless_the_user_states_that_the_people_differ(data):
    booked(data, ("a.csv", True), ("b.csv", True), ("a.csv", True))
    tables, total = epsilons(data)
    assert 0 < tables["b.csv"] < tables["a.csv"] < total
    assert epsilons(data, "--different-people") == (tables, tables["a.csv"])
    shown = feddp("budget", data).stdout
    assert "[a.csv]" in shown.split("a.csv:")[0]
    assert shown.index("a.csv:") < shown.index("b.csv:") < shown.index("All runs together:")
    assert "If nobody is, say so: --different-people" in shown
    assert "as you state:" in feddp("budget", data, "--different-people").stdout


def test_a_run_on_several_tables_counts_for_each_and_an_open_one_for_its_own(data):
    booked(data, ("a.csv", True), ("b.csv", True))
    before, _ = epsilons(data)
    booked(data, ("", True))
    after, total = epsilons(data, "--different-people")
    assert all(after[name] > before[name] for name in before)
    assert total == max(after.values())
    booked(data, ("b.csv", False))
    assert epsilons(data) == ({"a.csv": after["a.csv"], "b.csv": None}, None)
    assert epsilons(data, "--different-people")[1] is None
    assert "with which anyone can take the noise off" in feddp("budget", data).stdout
    assert "feddp fit --rehearse" in feddp("budget", data).stdout


def test_a_fit_books_the_name_of_its_table(data, tmp_path):
    (data / "table.csv").write_text("a\n" + "1\n5\n" * 50)
    (tmp_path / "other.csv").symlink_to(data / "table.csv")
    for clients in (data / "table.csv", tmp_path / "other.csv", data):
        done = feddp("fit", clients, "-k", 2, "--epsilon", 1, "--box", "0,9", "-q")
        assert done.returncode in {0, USELESS}, done.stderr
    assert [entry.table for entry in Odometer(data / ODOMETER).entries()] == ["table.csv", "table.csv", ""]


@pytest.fixture
def receipt(tmp_path):
    """A site's receipt of a run that it agreed to, and its public key."""
    plan = calibrated_plan(PrivacyUnit.POINT, 1.0, 1e-6, [Release("sums", Mechanism.GAUSSIAN, 1.0, 1e6, 1.0, values=2, times=2)])
    terms = Terms("run1", plan, Trust.SECURE_SUM, True, 3, 1, True)
    state = RunState(terms.to_dict(), terms.digest, "2026-01-02 03:04:05 UTC", sums=[AskedSum("sums", 0, 2, "cluster-sums", "ab" * 32)])
    key, public = write_site_key(tmp_path, "berlin")
    identity = load_identity(key)
    Receipts(tmp_path, "berlin", identity, lambda: {"server": "aa", "roster": "bb"}).write(terms, state)
    return tmp_path / "receipts" / "run1.json", public


def test_a_receipt_is_shown_and_its_signature_checked(receipt, tmp_path):
    path, key = receipt
    done = feddp("budget", "--receipt", path, "--key", key)
    assert done.returncode == 0, done.stderr
    assert "Receipt of site berlin for run run1, agreed to 2026-01-02 03:04:05 UTC" in done.stdout
    assert "sums 1 to 2: cluster-sums, arguments abababababababab..., masked, not opened by this site" in done.stdout
    assert "The signature is valid" in done.stdout
    assert "The signature was not checked" in feddp("budget", "--receipt", path).stdout
    assert json.loads(feddp("budget", "--receipt", path, "--json").stdout)["run"] == "run1"
    _, other = write_site_key(tmp_path, "other")
    wrong = feddp("budget", "--receipt", path, "--key", other)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("feddp: the receipt of 'berlin' must be signed with this key, got another key or a receipt")
    path.write_text(path.read_text().replace('"epsilon": 1.0', '"epsilon": 0.1', 1))
    assert feddp("budget", "--receipt", path, "--key", key).returncode == 1


def test_a_budget_of_nothing_is_wrong_usage():
    done = feddp("budget")
    assert done.returncode == 2
    assert "Missing argument 'PLACES...'" in done.stderr
