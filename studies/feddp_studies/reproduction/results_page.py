"""The page that compares our figures and numbers with the paper's words: one self-contained HTML file, and the claims as Markdown."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from feddp_studies.reproduction.curves import Row, best_points, pareto_points, share_table, step_table
from feddp_studies.reproduction.figures import LABELS
from feddp_studies.reproduction.paper_claims import FAILS, HOLDS, DecidedClaim, Runs, findings
from feddp_studies.reproduction.spec import Experiment

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
figure { background: white; margin: 1rem 0; } figure svg { width: 100%; height: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .8rem; text-align: left; vertical-align: top; font-variant-numeric: tabular-nums; }
.holds { color: #00795a; } .fails { color: #c0392b; } .warn { font-weight: bold; }
@media (prefers-color-scheme: dark) { .holds { color: #4fc99f; } .fails { color: #ff8a75; } }
"""


def render_page(experiments: Sequence[Experiment], runs: Runs, out: Path) -> str:
    """Return the page over all experiments that have been run into the folder."""
    from feddp_kmeans import __version__

    head = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>FedDP-KMeans: the paper's evaluation</title><style>{_STYLE}</style></head><body>"
    )
    note = (
        f"<p>feddp-kmeans {html.escape(__version__)}. <span class='warn'>Costs are computed from all client points: NON-PRIVATE checks of "
        "private results.</span> Every epsilon is the real one of the whole run, at delta = 1e-6, except for the marked curve.</p>"
    )
    parts = [
        head,
        "<h1>The paper's evaluation, made by this code</h1>",
        note,
        "<h2>The paper's words, and our numbers</h2>",
        _claims_table(findings(runs)),
        "<h2>Tables</h2>",
        _front_tables(experiments, runs),
    ]
    for experiment in experiments:
        if experiment.name in runs:
            parts += [f"<h2>{html.escape(experiment.title)}</h2><p>{html.escape(experiment.paper)}</p>", _figure(experiment, out)]
            if experiment.kind == "pareto":
                parts.append(_cost_table(runs[experiment.name]))
            if experiment.kind == "assumptions":
                parts.append(_assumption_table(runs[experiment.name]))
    return "\n".join([*parts, "</body></html>\n"])


def claims_markdown(runs: Runs) -> str:
    """Return the findings as a Markdown table."""
    lines = ["| the paper says | we measure | verdict |", "|---|---|---|"]
    lines += [f"| {f.words} | {f.number} | **{f.verdict}** |" for f in findings(runs)]
    return "\n".join(lines) + "\n"


def _claims_table(found: Sequence[DecidedClaim]) -> str:
    rows = []
    for f in found:
        kind = {HOLDS: "holds", FAILS: "fails"}.get(f.verdict, "warn")
        rows.append([html.escape(f.words), html.escape(f.number), f"<span class='{kind}'>{html.escape(f.verdict)}</span>"])
    return _table(["the paper says", "we measure", "verdict"], rows)


def _front_tables(experiments: Sequence[Experiment], runs: Runs) -> str:
    rows = []
    for experiment in experiments:
        shares = share_table(runs.get(experiment.name, ())) if experiment.kind == "pareto" else None
        if shares:
            steps = step_table(runs[experiment.name])
            on_front = len(pareto_points(runs[experiment.name], "paper"))
            rows.append([html.escape(experiment.name), *map(str, shares), *(f"{steps[s]:.2f}" for s in (0, 1, 2)), str(on_front)])
    head = [
        "on the front of method paper",
        "epsilon_1",
        "epsilon_2",
        "epsilon_3G",
        "epsilon_3L",
        "0 steps",
        "1 step",
        "2 steps",
        "runs on it",
    ]
    return _table(head, rows)


def _cost_table(rows: Sequence[Row]) -> str:
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"] != float("inf")})
    body = []
    for method, label in LABELS.items():
        points = {p.epsilon: p for p in best_points(rows, method)}
        if points:
            always = points.get(float("inf"))
            cells = [points.get(e, always) for e in epsilons]
            body.append([html.escape(label), *("" if p is None else f"{p.excess:.3f}" for p in cells)])
    seeds = len({row["seed"] for row in rows})
    optimal = sum(row["optimal_cost"] for row in rows) / len(rows)
    caption = (
        f"<p>Cost above optimal in per cent, best setting of each method, mean of {seeds} seeds; optimal costs {optimal:.4f} a point.</p>"
    )
    return caption + _table(["epsilon", *(f"{e:g}" for e in epsilons)], body)


def _assumption_table(rows: Sequence[Row]) -> str:
    body = [[r["dataset"], f"{r['radius']:.2f}", html.escape(r["assumption_1"]), html.escape(r["assumption_2"])] for r in rows]
    return _table(["data set", "radius of the server data", "assumption (1) at epsilon 1", "assumption (2) at epsilon 1"], body)


def _figure(experiment: Experiment, out: Path) -> str:
    path = out / experiment.name / f"{experiment.name}.svg"
    if not path.exists():
        return ""
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    # Ids must be unique in one page.
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{experiment.name}-", svg)
    return f"<figure role='img' aria-label='{html.escape(experiment.title)}'>{svg}</figure>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
