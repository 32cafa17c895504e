"""What to type about columns of words: every column at once, and nothing of a cell."""

from feddp_kmeans.tables.advice import id_advice, refused_columns, words_advice
from feddp_kmeans.tables.inputs import open_inputs
from feddp_kmeans.tables.stated_columns import StatedColumns
from tests.logs import logged


def test_all_columns_are_named_with_what_to_type():
    line = refused_columns({"sex": "hold numbers", "home town": "hold numbers", "when": "hold dates"}, "a.csv", "words in most cells")
    assert line.startswith("columns 'sex', 'home town' of a.csv must hold numbers, got words in most cells: leave them out with ")
    assert "--ignore sex --ignore 'home town', or say what each holds" in line
    assert "; column 'when' of a.csv must hold dates, got words in most cells: text needs the order" in line
    assert len(line.splitlines()) == 1
    assert "--categories sex=WORD,WORD for words" in words_advice(["sex"])
    assert words_advice([f"c{i}" for i in range(99)]).count("--ignore") == 20
    assert len(words_advice(["a\nb"]).splitlines()) == 1


def test_columns_that_are_named_like_ids_are_left_in_with_advice(tmp_path):
    assert id_advice(["age", "idea", "paid", "valid", "grid"]) == ""
    assert id_advice(["age", "customer id"]) == (
        "Column customer id is named like an id. Ids say nothing about clusters and cost budget; to leave out: --ignore 'customer id'"
    )
    (tmp_path / "a.csv").write_text("id,x,patientID\n1,2,3\n")
    with logged() as told:
        assert open_inputs(str(tmp_path), None).columns == ("id", "x", "patientID")
    assert told[0].startswith("Columns id, patientID are named like ids.")
    assert told[0].endswith("to leave out: --ignore id --ignore patientID")
    with logged() as told:
        open_inputs(str(tmp_path), None, StatedColumns(ignore=("id", "patientID")))
    assert told == []


def test_a_name_that_nobody_types_is_not_repeated():
    for name in (1000 * "9" + "_id", "a\nb_id"):
        assert "--ignore NAME" in words_advice([name])
        assert id_advice([name]).endswith("--ignore NAME")
        assert len(words_advice([name]) + id_advice([name])) < 600
