"""Which odometer is that of a data set: one, whatever the data are called."""

import pytest

from feddp_kmeans.cli.budget import ODOMETER, odometer_of


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
