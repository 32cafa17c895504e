"""The accuracy of private runs against an aim for each kind of data: also the numbers of docs/refined.md and docs/no_server_data.md.

    python studies/benchmarks/accuracy.py [ROW ...] [--seeds 10] [--tables FOLDER] [--jobs 2] [--quick]
    python studies/benchmarks/accuracy.py refined --sets mixture,travel --epsilons 0.1,8 --method paper

Without names all rows are printed. Everything is automatic: a run is given only what its data set says (feddp_studies/accuracy). Its
privacy is recomputed from its ledger. Costs, sizes and means are compared with the exact data: a NON-PRIVATE check.
Run i has data seed --data-seed + i and noise seed --noise-seed + i. Real tables are read from the folder --tables; docs/data.md says which.
"""

import argparse
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from threadpoolctl import threadpool_limits

from feddp_studies.accuracy.aims import ROWS
from feddp_studies.accuracy.checked_fit import checked_fits

PLAIN = (0.5, 1.0)  # epsilons of a set that is not the row's own


def numbers(text):
    return tuple(float(x) for x in text.split(","))


def arguments():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data-seed", type=int, default=1000)
    parser.add_argument("--noise-seed", type=int, default=0)
    parser.add_argument("--sets", type=lambda text: tuple(text.split(",")), help="other data sets than the row's")
    parser.add_argument("--epsilons", type=numbers, help="other epsilons than the row's")
    parser.add_argument("--method", default="refined")
    parser.add_argument("--client-size", type=int)
    parser.add_argument("--tables", default="tables")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="first set of each row, largest epsilon, two seeds")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"ROW must be one of {', '.join(ROWS)}, got {', '.join(sorted(unknown))}.")
    return given


class Bench:
    """Makes each run once, also where several rows need it."""

    def __init__(self, given, pool):
        self.given, self.pool, self.made = given, pool, {}

    def runs(self, name, epsilons, n_seeds):
        given = self.given
        settings = {"method": given.method, "client_size": given.client_size}
        jobs = {}
        for seed in range(n_seeds):
            if missing := [epsilon for epsilon in epsilons if (name, epsilon, seed) not in self.made]:
                seeds = given.data_seed + seed, given.noise_seed + seed
                jobs[seed] = self.pool.submit(checked_fits, name, missing, seeds, given.tables, settings)
        for seed, job in jobs.items():
            self.made |= {(name, fit.epsilon, seed): fit for fit in job.result()}
        return [self.made[name, epsilon, seed] for epsilon in epsilons for seed in range(n_seeds)]

    def print_row(self, title):
        row, given = ROWS[title], self.given
        cases = {name: given.epsilons or row.cases.get(name, PLAIN) for name in given.sets or row.cases}
        n_seeds = row.seeds_times * given.seeds
        if given.quick:
            name, epsilons = next(iter(cases.items()))
            cases, n_seeds = {name: epsilons if row.overall else epsilons[-1:]}, 2
        began = time.perf_counter()
        print(f"\n## {title} (method {given.method}, data seeds from {given.data_seed}, noise seeds from {given.noise_seed})\n", flush=True)
        heads, everything = None, []
        for name, epsilons in cases.items():
            runs = self.runs(name, epsilons, n_seeds)
            everything += runs
            for epsilon, group in groupby(runs, lambda run: run.epsilon if row.by_epsilon else None):
                heads = print_line(name, "all" if epsilon is None else f"{epsilon:g}", list(group), row.judge, heads)
        if row.overall:
            print_line("all", "all", everything, row.overall, heads)
        print(f"\n{time.perf_counter() - began:.0f} s in all, runs of earlier rows not counted.", flush=True)


def print_line(name, epsilon, runs, judge, heads):
    verdict = judge(name, runs)
    if heads is None:
        heads = list(verdict.cells)
        columns = ["set", "epsilon", "runs", *heads, "aim", "reached", "seconds"]
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    reached = {None: "-", True: "yes", False: "no"}[verdict.reached]
    cells = [verdict.cells.get(head, "-") for head in heads]
    seconds = sum(run.seconds for run in runs) / len(runs)
    print(f"| {' | '.join([name, epsilon, str(len(runs)), *cells, verdict.aim, reached, f'{seconds:.1f}'])} |", flush=True)
    return heads


def commit():
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "unknown"


def main():
    given = arguments()
    print(f"feddp-kmeans {version('feddp-kmeans')}, commit {commit()}", flush=True)
    with ProcessPoolExecutor(given.jobs, initializer=threadpool_limits, initargs=(1,)) as pool:
        bench = Bench(given, pool)
        for title in given.rows or ROWS:
            bench.print_row(title)


if __name__ == "__main__":
    main()
