"""report.html: one self-contained page that says what was asked, what was guaranteed and what came out.

Hand-written, without a template engine: for the budget section, tables and all, one took 61 lines in two files where this takes 68 in one,
before its set-up and a dependency more.
"""

from typing import Any

from feddp_kmeans.report.budget_section import budget_section
from feddp_kmeans.report.charts import elbow_chart
from feddp_kmeans.report.cluster_section import clusters_section
from feddp_kmeans.report.guarantee import asked_section, banner, guarantee_section, is_private
from feddp_kmeans.report.rerun import rerun_section
from feddp_kmeans.report.server_map import map_section
from feddp_kmeans.report.style import STYLE
from feddp_kmeans.report.text import words

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the browser may load: nothing. No script runs, should a name ever slip through the escaping."""

_PRIVATE = "Everything on this page is either public or was released with noise."
_NOT_PRIVATE = "This result is not private: treat this page like the data themselves."


def render_page(result: dict[str, Any]) -> str:
    """Return the page for a result; it loads nothing from anywhere, and needs no script."""
    sections = {
        "asked": ("Asked", asked_section(result)),
        "guaranteed": ("Guaranteed", guarantee_section(result)),
        "budget": ("Budget", budget_section(result)),
        "elbow": ("Choosing k", _elbow_section(result)),
        "clusters": ("Clusters", clusters_section(result)),
        "map": ("Map", map_section(result)),
        "remarks": ("Remarks", _remarks_section(result)),
        "again": ("Run it again", rerun_section(result)),
    }
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, (title, content) in sections.items() if content)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="referrer" content="no-referrer">
<title>Private clustering report</title><style>{STYLE}</style></head><body>
<a class="skip" href="#content">Skip to the report</a>
<header>{banner(result)}<h1>Private clustering report</h1>
<p class="soft">{_PRIVATE if is_private(result) else _NOT_PRIVATE}</p>
<nav aria-label="Sections"><ol>{links}</ol></nav></header>
<main id="content" tabindex="-1">
{"".join(content for _, content in sections.values())}
</main>
<footer><p class="soft">All numbers: <code>result.json</code>; the centers as a table: <code>centers.parquet</code>.</p></footer>
</body></html>
"""


def _elbow_section(result: dict[str, Any]) -> str:
    elbow = result.get("elbow")
    if not elbow:
        return ""
    told = (
        f"The number of clusters was not given. {elbow['picked']} is where the cost of the weighted points that stand for the client data "
        "bends most: up to there one cluster more cuts the cost, from there on hardly. The curve costs no privacy of its own."
    )
    return (
        f'<section aria-labelledby="elbow"><h2 id="elbow">How the number of clusters was chosen</h2><p>{words(told)}</p>'
        f'<div class="figure">{elbow_chart(elbow)}</div></section>'
    )


def _remarks_section(result: dict[str, Any]) -> str:
    remarks = "".join(f'<li class="warning">{words(remark)}</li>' for remark in result.get("remarks") or [])
    reasons = "".join(f"<li>{words(reason)}</li>" for reason in result["plan"].get("reasons") or [])
    told = f'<ul class="warnings">{remarks}</ul>' if remarks else "<p>No warnings.</p>"
    why = f"<h3>Why the plan is as it is</h3><ul>{reasons}</ul>" if reasons else ""
    return f'<section aria-labelledby="remarks"><h2 id="remarks">Warnings and remarks</h2>{told}{why}</section>'
