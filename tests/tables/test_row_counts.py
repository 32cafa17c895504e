from pathlib import Path

from feddp_kmeans.tables.row_counts import FILLED, RowCounts, log_counts
from tests.logs import logged


def counts(total, *, lost=0, gaps=0, may_fill=True, often="age", strange=""):
    return RowCounts(total, lost, gaps, total - lost - gaps, may_fill, often, strange)


def told(*files):
    with logged() as lines:
        log_counts({Path(f"clients/{index}.csv"): each for index, each in enumerate(files)})
    return lines


def test_whole_rows_are_not_told():
    assert told(counts(9), counts(0)) == []


def test_a_hundred_files_take_one_line_for_each_reason():
    files = [counts(200, gaps=index % 7, lost=index == 3, strange="UTF-8" if index < 2 else "") for index in range(100)]
    n_gaps, n_files = sum(each.gaps for each in files), sum(each.gaps > 0 for each in files)
    gaps = f"{n_gaps} of {200 * n_files:,} rows have a cell that is missing or not a number (most in 6.csv, 6 of 200)"
    assert told(*files) == [
        "3.csv: 1 of 200 rows do not parse; they are left out.",
        f"{n_files} of 100 files: {gaps}; {FILLED}.",
        "2 of 100 files: some cells hold bytes that are not UTF-8 text; --encoding names another, such as cp1252.",
    ]


def test_rows_with_gaps_are_left_out_where_nothing_can_be_filled_in():
    assert told(counts(5, gaps=1, may_fill=False)) == ["0.csv: 1 of 5 rows have a cell that is missing or not a number; they are left out."]


def test_a_column_that_empties_most_rows_is_named():
    [line] = told(counts(5, gaps=3, often="income"), counts(5))
    assert line.endswith("Cells are missing most often in 'income': --ignore keeps rows by leaving out a column.")
