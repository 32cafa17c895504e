"""Workers of one state as a CSV file with words, from the American Community Survey (U.S. Census Bureau, public domain).

    python examples/tables/census_workers.py psam_p53.csv workers.csv

The first file is the person file of a 1-year PUMS, here Washington's (csv_pwa.zip from census.gov). Codes are replaced by words; people who
do not work are left out.
"""

import csv
import sys
from pathlib import Path

MARITAL = {1: "married", 2: "widowed", 3: "divorced", 4: "separated", 5: "never married"}
SEX = {1: "male", 2: "female"}
EMPLOYER = {1: "company", 2: "non-profit", 3: "local government", 4: "state government", 5: "federal government"}
EMPLOYER |= {6: "self-employed", 7: "own company", 8: "family business"}
COLUMNS = ["age", "hours per week", "schooling", "marital status", "sex", "employer", "area"]


def schooling(code):
    """Return the highest school in one of five words."""
    return next(
        word for least, word in ((22, "master"), (21, "bachelor"), (18, "college"), (16, "high school"), (0, "less")) if code >= least
    )


def write_workers(source, path):
    """Write those who work, one row per person."""
    with Path(source).open(newline="") as file, Path(path).open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(COLUMNS)
        for row in csv.DictReader(file):
            age, hours, school, work = (int(row[name] or 0) for name in ("AGEP", "WKHP", "SCHL", "COW"))
            if age > 16 and hours > 0 and work in EMPLOYER:
                words = [schooling(school), MARITAL[int(row["MAR"])], SEX[int(row["SEX"])], EMPLOYER[work]]
                table.writerow([age, hours, *words, row["PUMA"]])


if __name__ == "__main__":
    write_workers(*sys.argv[1:3])
