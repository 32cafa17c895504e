"""A made-up table of customers: nobody in it exists. Numbers on very different scales, a yes/no, words, dates and empty cells.

python examples/tables/made_up_people.py people.csv           20,000 rows
python examples/tables/made_up_people.py people.csv 5000      another number
"""

import csv
import datetime as dt
import random
import sys
from pathlib import Path

COLUMNS = ["name", "age", "income", "visits", "newsletter", "city", "joined"]
KINDS = [  # age, income, visits per year, share with the newsletter, cities, year of joining: mean and spread
    ((24, 3), (18_000, 1.25), (30, 6), 0.8, ["Berlin", "Leipzig"], (2024, 1)),
    ((46, 6), (62_000, 1.3), (12, 4), 0.3, ["Köln", "Hamburg", "Berlin"], (2018, 2)),
    ((71, 5), (31_000, 1.3), (4, 2), 0.1, ["Lübeck", "Celle"], (2012, 2)),
]


def write_people(path, rows, seed=0):
    """Write this many made-up people of three kinds."""
    draw = random.Random(seed)  # noqa: S311 - made-up people, no secrets
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for number in range(rows):
            age, income, visits, news, cities, (year, years) = draw.choice(KINDS)
            day = dt.date(max(2008, min(2025, round(draw.gauss(year, years)))), 1, 1) + dt.timedelta(days=draw.randrange(365))
            cells = [
                f"person {number}",
                max(18, min(99, round(draw.gauss(*age)))),
                round(income[0] * income[1] ** draw.gauss(0, 1)),
                max(0, round(draw.gauss(*visits))),
                int(draw.random() < news),
                draw.choice(cities),
                day.isoformat(),
            ]
            table.writerow(["" if draw.random() < 0.005 else cell for cell in cells])


if __name__ == "__main__":
    write_people(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
