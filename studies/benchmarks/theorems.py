"""The paper's theory, measured: every theorem and lemma that says something about numbers. Prints the tables of docs/theory.md.

    python studies/benchmarks/theorems.py [--seeds 10]

Run i has data seed i and noise seed i. Errors are distances to planted means: a NON-PRIVATE check on made-up data. About half an hour.
"""

import argparse
from dataclasses import replace

import numpy as np

from feddp_studies.theory.cluster import LloydSpace
from feddp_studies.theory.lemma_checks import CHECKS, Axis
from feddp_studies.theory.lemma_scene import LemmaScene
from feddp_studies.theory.stated_bounds import corollary_steps, recovery_steps
from feddp_studies.theory.theorem_runs import Theorem, TheoremCase, run_case
from feddp_studies.theory.verdicts import Needed, growth, spread, verdict

PRACTICE = TheoremCase(Theorem.PRACTICE, n=100_000)
THEORY = TheoremCase(Theorem.THEORY, n=100_000, epsilon=8.0, dimension=16, lloyd_steps=3)
WIDE, SHARP = replace(PRACTICE, epsilon=4.0), replace(PRACTICE, epsilon=64.0, lloyd_steps=16)
PARTS = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4)
SWEEPS = (
    ("mainPractice over n", "n", [PRACTICE.at(part) for part in PARTS]),
    ("mainPractice over epsilon", "epsilon", [replace(PRACTICE, epsilon=epsilon) for epsilon in (2.0, 4.0, 8.0, 16.0)]),
    ("mainPractice over d", "d", [replace(WIDE, dimension=d) for d in (4, 16, 64, 256)]),
    ("mainPractice over T", "T", [replace(PRACTICE, lloyd_steps=steps) for steps in (1, 4, 16, 64)]),
    ("mainPractice over n, little noise and many steps", "n", [replace(SHARP, n=n) for n in (10_000, 40_000, 160_000, 640_000)]),
    ("mainTheory over n", "n", [THEORY.at(part) for part in PARTS[2:]]),
    ("mainTheory over n, few dimensions", "n", [replace(THEORY, epsilon=4.0, dimension=5).at(part) for part in (*PARTS[2:], 16)]),
    (
        "mainTheory over n, groups that reduceDiam moves",
        "n",
        [replace(THEORY, dimension=5, separation=3.0).at(4 * part) for part in (*PARTS[3:], 16)],
    ),
    ("mainTheory over d", "d", [replace(THEORY, dimension=d).at(1) for d in (8, 16, 32)]),
)
MOST_POINTS = 2_000_000
NUMBERS = ("error", "sample_error", "bound", "constant", "sample_constant")
LEMMA_PLACES = {Axis.N: (4_000, 16_000, 64_000), Axis.D: (8, 32, 128)}
SPACES = [replace(THEORY, separation=c, lloyd_space=space) for c in (1.0, 0.2, 0.1) for space in LloydSpace]


def place(case, axis):
    return {"n": case.n, "epsilon": case.epsilon, "d": case.dimension, "T": case.lloyd_steps}[axis]


def sweep(title, axis, cases, seeds):
    print(f"\n### {title}\n")
    print("| n | n / least n | epsilon | d | T | largest error | constant needed | with sample means | clustering found | not met |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    places, columns, met, lost = [place(case, axis) for case in cases], {name: [] for name in NUMBERS}, [], []
    for case in cases:
        runs = [run_case(case, seed) for seed in range(seeds)]
        for name, column in columns.items():
            column.append(np.array([getattr(run, name) for run in runs]))
        missed, found = sorted({name for run in runs for name in run.missed}), sum(run.recovered for run in runs)
        met.append(not missed)
        lost += [len(met) - 1] * (found < seeds)
        error, constant, of_samples = (spread(columns[name][-1]) for name in ("error", "constant", "sample_constant"))
        print(
            f"| {case.n} | {case.n / case.least_n:.2g} | {case.epsilon:g} | {case.dimension} | {case.lloyd_steps} | {error} "
            f"| {constant} | {of_samples} | {found} of {seeds} | {'; '.join(missed) or '-'} |",
            flush=True,
        )
    far = f"n would have to be {max(case.least_n for case in cases):.2g}"
    told = [
        verdict(axis, [Needed(*one) for one in zip(places, columns[name], met, strict=True)], out_of_reach=far)
        for name in ("constant", "sample_constant")
    ]
    print(f"\n- Verdict: {told[0]}.\n- With sample means: {told[1]}.")
    whole = [i for i in range(len(cases)) if i not in lost]
    rates = [growth([places[i] for i in whole], [columns[name][i] for i in whole]) for name in NUMBERS[:3]]
    print(f"- Where no clustering is lost, powers of {axis}: error {rates[0]}, with sample means {rates[1]}, bound {rates[2]}.")
    parts = ", ".join(f"{cases[i].n / cases[i].least_n:.2g}" for i in lost)
    print(f"- The clustering is lost in some runs at n / least n = {parts or 'none of these'}.")


def recoveries(seeds):
    """The planted clustering: after log n steps (mainPractice), and with the corollary's n and T."""
    print("\n### The planted clustering\n\n| theorem | k | d | epsilon | least n | n | T | clustering found | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    small = replace(PRACTICE, theorem=Theorem.COROLLARY, k=2, dimension=4, epsilon=8.0)
    for least in (
        PRACTICE.at(1),
        replace(PRACTICE, epsilon=8.0).at(1),
        small.at(1),
        replace(small, k=10, dimension=100, epsilon=1.0).at(1),
    ):
        for part in (1, 4, 16, 64):
            case, found, told = (
                replace(least, n=least.n * part),
                0,
                f"cannot be told: the condition is out of reach, n would have to be {least.n:.2g}",
            )
            steps = recovery_steps(case.n) if case.theorem is Theorem.PRACTICE else corollary_steps(case.k, case.facts)
            if case.n <= MOST_POINTS:
                found = sum(run_case(replace(case, lloyd_steps=steps), seed).recovered for seed in range(seeds))
                told = "does not hold with constant 1" if found < seeds else "holds" if part == 1 else f"holds with constant {part}"
            print(
                f"| {case.theorem} | {case.k} | {case.dimension} | {case.epsilon:g} | {least.n:.3g} | {case.n:.3g} | {steps} "
                f"| {f'{found} of {seeds}' if case.n <= MOST_POINTS else '-'} | {told} |",
                flush=True,
            )
            if found == seeds or case.n > MOST_POINTS:
                break


def lemmas(seeds):
    print("\n### Lemmas\n\n| statement | in the code | over | constant needed | verdict |\n|---|---|---|---|---|")
    for check in CHECKS:
        needed, far = [], ""
        for at in LEMMA_PLACES[check.axis]:
            scenes = [LemmaScene(seed, **({"n": at} if check.axis is Axis.N else {"dimension": at})) for seed in range(seeds)]
            if check.least_n is not None:
                far = f"n would have to be {check.least_n(scenes[0]):.2g}"
            met = check.least_n is None or all(check.least_n(scene) <= scene.n for scene in scenes)
            needed.append(Needed(at, np.array([check.constant(scene) for scene in scenes]), met))
        told = verdict(check.axis, needed, check.stated, out_of_reach=far)
        over = f"{check.axis} = {', '.join(f'{at:g}' for at in LEMMA_PLACES[check.axis])}"
        print(f"| {check.name} | {check.code} | {over} | {'; '.join(spread(some.constants) for some in needed)} | {told} |", flush=True)


def spaces(seeds):
    print("\n### Part 3 of Cluster in three spaces\n\n| separation | d | epsilon | distances between | largest error | clustering found |")
    print("|---|---|---|---|---|---|")
    for case in SPACES:
        runs = [run_case(case, seed) for seed in range(seeds)]
        print(
            f"| {case.separation:g} | {case.dimension} | {case.epsilon:g} | {case.lloyd_space} "
            f"| {spread(np.array([run.error for run in runs]))} | {sum(run.recovered for run in runs)} of {seeds} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    for title, axis, cases in SWEEPS:
        sweep(title, axis, cases, seeds)
    recoveries(seeds)
    spaces(seeds)
    lemmas(seeds)


if __name__ == "__main__":
    main()
