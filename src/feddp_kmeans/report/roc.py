"""The picture of an audit: what an attacker achieved, and what the claim allows. Hand-written SVG, a panel for each attack."""

import math
from html import escape
from typing import Any

from feddp_kmeans.report.text import number

_PANEL, _GAP, _HEAD, _FOOT = 250, 44, 62, 40
_PER_ROW = 3
_STYLE = (
    "svg{background:#fff}text{font:13px sans-serif;fill:#333}.name{font-weight:700}.small{font-size:11px;fill:#57606a}"
    ".frame{fill:none;stroke:#d0d7de}.guess{stroke:#8c959f;stroke-dasharray:2 4}.pair{fill:none;stroke:#b3400a;stroke-dasharray:6 4}"
    ".allowed{fill:#0969da;fill-opacity:.08;stroke:#0969da;stroke-width:1.5}.measured{fill:none;stroke:#1b1f24;stroke-width:2}"
    ".sure{fill:none;stroke:#1b1f24;stroke-width:1;stroke-dasharray:1 2}.bad{fill:#a40e26;font-weight:700}"
)
_KEY = (
    ("measured", "an attacker's rates, measured"),
    ("sure", "the same, with the error of measuring against the attacker"),
    ("allowed", "what the noise in the ledger allows"),
    ("pair", "what the claimed epsilon and delta allow"),
)


def roc_chart(audit: dict[str, Any]) -> str:
    """Return the picture of all attacks of an audit, given as plain data."""
    verdicts = audit["verdicts"]
    rows = max(1, math.ceil(len(verdicts) / _PER_ROW))
    width = _GAP + min(max(len(verdicts), 2), _PER_ROW) * (_PANEL + _GAP)
    height = rows * (_PANEL + _HEAD + _FOOT) + 22 * len(_KEY) + 16
    panels = "".join(
        f'<g transform="translate({_GAP + (i % _PER_ROW) * (_PANEL + _GAP)} {_HEAD + (i // _PER_ROW) * (_PANEL + _HEAD + _FOOT)})">'
        f"{_panel(name, verdict)}</g>"
        for i, (name, verdict) in enumerate(verdicts.items())
    )
    key = "".join(
        f'<line class="{kind}" x1="{_GAP}" x2="{_GAP + 34}" y1="{height - 22 * (len(_KEY) - i)}" y2="{height - 22 * (len(_KEY) - i)}"/>'
        f'<text x="{_GAP + 44}" y="{height - 22 * (len(_KEY) - i) + 4}">{escape(said)}</text>'
        for i, (kind, said) in enumerate(_KEY)
    )
    said = "; ".join(
        f"{escape(name)}: epsilon at least {number(v['epsilon_if_gaussian'])}, claimed {number(v['epsilon_claimed'])}"
        for name, v in verdicts.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="roc-title roc-desc" viewBox="0 0 {width} {height}" '
        f'width="{width}"><style>{_STYLE}</style><title id="roc-title">What attackers achieved and what the claim allows</title>'
        f'<desc id="roc-desc">{said}.</desc>{panels}{key}</svg>'
    )


def _panel(name: str, verdict: dict[str, Any]) -> str:
    epsilon, delta = verdict["epsilon_claimed"], verdict["delta"]
    allowed = " ".join(_place(x, y) for x, y in (*verdict["allowed"], (1.0, 0.0), (0.0, 0.0)))
    pair = " ".join(_place(x, y) for x, y in ((0.0, delta), _corner(epsilon, delta), (1.0, 1.0)))
    measured = [(0.0, 0.0), *sorted((p["fpr"], p["tpr"]) for p in verdict["roc"]), (1.0, 1.0)]
    sure = sorted((p["fpr_high"], p["tpr_low"]) for p in verdict["roc"])
    told = f"epsilon at least {verdict['epsilon_if_gaussian']:.2f}, claimed {epsilon:.2f}; {verdict['runs']} runs of each kind"
    word = '<tspan class="bad">refuted</tspan>' if verdict["refuted"] else "not refuted"
    return (
        f'<text class="name" y="-28">{escape(name)}: {word}</text><text class="small" y="-10">{told}</text>'
        f'<rect class="frame" width="{_PANEL}" height="{_PANEL}"/><polygon class="allowed" points="{allowed}"/>'
        f'<line class="guess" x1="0" y1="{_PANEL}" x2="{_PANEL}" y2="0"/><polyline class="pair" points="{pair}"/>'
        f'<polyline class="measured" points="{" ".join(_place(x, y) for x, y in measured)}"/>'
        f'<polyline class="sure" points="{" ".join(_place(x, y) for x, y in sure)}"/>'
        f'<text class="small" x="0" y="{_PANEL + 16}">false positives: accused, not there</text>'
        f'<text class="small" transform="translate(-8 {_PANEL}) rotate(-90)">true positives: accused and there</text>'
    )


def _corner(epsilon: float, delta: float) -> tuple[float, float]:
    """Return where the two lines of one pair meet: ``tpr = e^eps fpr + delta`` and its mirror."""
    fpr = (1 - delta) / (1 + math.exp(epsilon))
    return fpr, 1 - fpr


def _place(fpr: float, tpr: float) -> str:
    return f"{_PANEL * fpr:.1f},{_PANEL * (1 - tpr):.1f}"
