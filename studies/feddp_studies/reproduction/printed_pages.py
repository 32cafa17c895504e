"""Pages of results: one with everything in the folder of runs, and blocks of the documentation that are replaced in place.

A block stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; the words around it are a person's.
"""

import datetime as dt
import html
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from feddp_kmeans._files import write_whole
from feddp_studies.reproduction.claim_verdicts import Runs, decided
from feddp_studies.reproduction.our_claims import OUR_CLAIMS
from feddp_studies.reproduction.paper_claims import PAPER_CLAIMS
from feddp_studies.reproduction.paper_items import item_rows
from feddp_studies.reproduction.results_page import claims_table, front_table, peers_table, section, set_table, table
from feddp_studies.reproduction.runner import TABLE, write_table
from feddp_studies.reproduction.spec import Experiment

ROWS = "rows"
"""Folder of the documentation with the rows behind its pages. A copy of it is a folder of runs that goes on from them."""

QUICK = "**A first look (`--quick`): few settings and seeds. Numbers and verdicts are not those of the whole evaluation.**"
INTRO = """# The paper's evaluation, made by this code

Costs are computed from all client points: **NON-PRIVATE checks of private results**. Epsilon is the real one of the whole run, at
delta = 1e-6, but for the curve that is marked as not private."""
_BLOCK = re.compile(r"(<!-- begin ([\w-]+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
figure { background: white; margin: 1rem 0; } figure svg { width: 100%; height: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .8rem; text-align: left; vertical-align: top; font-variant-numeric: tabular-nums; }
"""


def blocks(experiments: Sequence[Experiment], runs: Runs, *, quick: bool) -> dict[str, str]:
    """Return the text of every block that the runs give, by name."""
    shown = [experiment for experiment in experiments if experiment.name in runs]
    found = decided((*PAPER_CLAIMS, *OUR_CLAIMS), runs)
    if quick:
        found = [replace(one, verdict=f"{one.verdict} (--quick)") for one in found]
    head = ["where in the paper", "what", "made by", "verdicts"]
    made = {
        "printed": f"{printed_by(shown, runs)}{' ' + QUICK if quick else ''}\n",
        "items": table(head, item_rows(found, runs)),
        "claims": claims_table(found),
        "fronts": front_table(shown, runs),
        "experiments": "\n".join([*(section(experiment, runs[experiment.name]) for experiment in shown), _absent(experiments, runs)]),
    }
    tables = {"shapes": set_table, "no-server": set_table, "peers-central": peers_table}
    return made | {name: f"{make(runs[name])}\n{printed_by([], {name: runs[name]})}\n" for name, make in tables.items() if name in runs}


def _absent(experiments: Sequence[Experiment], runs: Runs) -> str:
    """Return a sentence on the experiments that nobody has run to their end with this code."""
    names = [f"`{experiment.name}`" for experiment in experiments if experiment.name not in runs]
    return f"Not run to the end with this code, and so not on this page: {', '.join(names)}.\n" if names else ""


def printed_by(shown: Sequence[Experiment], runs: Runs) -> str:
    """Return a sentence on what printed the page, and how long its runs took."""
    seconds = sum(row.get("seconds") or 0.0 for rows in runs.values() for row in rows)
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    day = dt.datetime.now(tz=dt.UTC).date()
    n_runs = sum(len(rows) for rows in runs.values())
    rest = f" in {len(shown)} experiments" if shown else ""
    told = f"{n_runs:,} runs{rest}, {seconds / 3600:.1f} hours of one core"
    return f"Printed by `feddp reproduce --page` at commit {commit()}, {day} ({machine}): {told}."


def commit() -> str:
    """Return the commit of this code, "unknown" where it is not in a repository."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True)  # noqa: S603 no outside text
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def filled(text: str, made: Mapping[str, str]) -> str:
    """Return a page with its blocks replaced; those that nothing was made for stay as they are."""
    return _BLOCK.sub(lambda found: found[1] + made[found[2]] + found[3] if found[2] in made else found[0], text)


def outdated(text: str, experiments: Mapping[str, Experiment]) -> list[str]:
    """Return the experiments on a page whose spec is another by now, or gone."""
    found = re.findall(r"`feddp reproduce ([\w-]+)`, spec (\w+)", text)
    return [name for name, digest in found if name not in experiments or experiments[name].digest != digest]


def write_docs(folder: Path, out: Path, experiments: Sequence[Experiment], made: Mapping[str, str], runs: Runs) -> list[Path]:
    """Replace the blocks of all pages of the documentation, its figures, and the rows behind them; return what was written."""
    written = []
    for path in sorted(folder.glob("*.md")):
        before = path.read_text()
        after = filled(before, made)
        if after != before:
            write_whole(path, after.encode())
            written.append(path)
    for experiment in experiments:
        if experiment.name in runs:
            written.append(folder / ROWS / experiment.name / TABLE)
            written[-1].parent.mkdir(parents=True, exist_ok=True)
            write_table(written[-1], list(runs[experiment.name]))
        figure = out / experiment.name / f"{experiment.name}.svg"
        if figure.exists():
            written.append(folder / "figures" / figure.name)
            write_whole(written[-1], figure.read_bytes())
    return written


def write_page(out: Path, made: Mapping[str, str]) -> list[Path]:
    """Write everything as one page beside the runs: Markdown, and HTML that needs nothing else."""
    order = {"items": "Every item of the paper", "claims": "The paper's words, and our numbers", "fronts": "The fronts of method paper"}
    parts = [INTRO, made["printed"], *(f"## {title}\n{made[name]}" for name, title in order.items()), made["experiments"]]
    text = "\n\n".join(parts)
    pages = {"reproduction.md": text, "index.html": as_html(text, out)}
    for name, content in pages.items():
        write_whole(out / name, content.encode())
    return [out / name for name in pages]


def as_html(text: str, out: Path) -> str:
    """Return a page of this module as HTML, with its figures inside: headings, tables, figures and paragraphs are all it has."""
    body = []
    for kind, group in groupby(text.splitlines(), key=lambda line: line[:1] if line[:1] in ("#", "|", "!") else "words" if line else ""):
        lines = list(group)
        if kind == "#":
            body += [f"<h{line.index(' ')}>{_inline(line.lstrip('# '))}</h{line.index(' ')}>" for line in lines]
        elif kind == "|":
            body.append(_html_table(lines))
        elif kind == "!":
            body += [_figure(Path(line.rstrip(")")).stem, out) for line in lines]
        elif kind:
            body.append(f"<p>{_inline(' '.join(lines))}</p>")
    head = "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    title = f"<title>FedDP-KMeans: the paper's evaluation</title><style>{_STYLE}</style></head><body>"
    return "\n".join([head, title, *body, "</body></html>\n"])


def _html_table(rows: Sequence[str]) -> str:
    cells = [[_inline(cell.strip()) for cell in row.strip("| ").split(" | ")] for row in rows if not set(row) <= set("|- ")]
    top = "".join(f"<th scope='col'>{cell}</th>" for cell in cells[0])
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[1:])
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _inline(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"\[([^\]]+)\]\([^)]+\.md\)", r"\1", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"\*([^*]+)\*", r"<i>\1</i>", text)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def _figure(name: str, out: Path) -> str:
    path = out / name / f"{name}.svg"
    if not path.exists():
        return ""
    svg = path.read_text()
    # Ids must be unique in one page.
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])
    return f"<figure role='img' aria-label='{name}'>{svg}</figure>"
