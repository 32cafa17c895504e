# ruff: noqa: E501 - HTML and CSS
"""report.html: one self-contained page that says what was asked, what was guaranteed and what came out."""

from html import escape
from typing import Any

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--page:#fff;--bar:#0969da;--warn:#9a3412;--box:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--page:#0d1117;--bar:#58a6ff;--warn:#ffa657;--box:#161b22}}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
.guarantee{background:var(--box);border-left:4px solid var(--bar);padding:.8rem 1rem}.guarantee.not{border-color:var(--warn);color:var(--warn);font-weight:600}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}
th{color:var(--soft);font-weight:600}.soft{color:var(--soft)}.bar{display:inline-block;height:.7em;background:var(--bar);border-radius:2px}
code{background:var(--box);padding:.1em .3em;border-radius:3px}@media print{body{max-width:none;margin:0}}
"""


def render_page(result: dict[str, Any]) -> str:
    """Return the page for a result; it loads nothing from anywhere."""
    private = result["secure"] and result["epsilon"] != "inf"
    unit = {"point": "one data point", "client": "one whole client"}[result["privacy_unit"]]
    facts = result["plan"]["facts"]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>feddp-kmeans report</title><style>{_STYLE}</style></head><body><main>
<h1>Private clustering report</h1>
<p class="soft">feddp-kmeans {escape(result["version"])}, method {escape(result["method"])}, {result["n_clusters"]} clusters in
{facts["dimension"]} dimensions, {facts["n_clients"]} clients, {facts["n_server_points"]} public server points</p>
<h2>Guarantee</h2>
<p class="guarantee{"" if private else " not"}">{escape(result["guarantee"])}</p>
<p>Protected: {unit}. Neighbouring data sets: {escape(result["relation"])}. Epsilon {_number(result["epsilon"])}, delta {_number(result["delta"])}.
Trust: {escape(result["trust"])}. Noise: {"cryptographic" if result["secure"] else "seeded simulation"}.</p>
<h2>Where the budget went</h2>
<div class="scroll"><table><thead><tr><th>release</th><th>mechanism</th><th>sensitivity</th><th>noise scale</th><th>multiplier</th>
<th>times</th><th>share of the cost</th></tr></thead><tbody>{_ledger_rows(result["ledger"])}</tbody></table></div>
<p class="soft">A release is a sum over all clients with noise. The multiplier is the noise scale over the sensitivity: the most that {unit} can change the
sum. The share is that of times / multiplier².</p>
<h2>Clusters</h2>
<div class="scroll"><table><thead><tr><th>cluster</th><th>noisy size</th><th></th><th>noise in a coordinate (std)</th></tr></thead>
<tbody>{_cluster_rows(result)}</tbody></table></div>
{"".join(f"<p class='guarantee not'>{escape(remark)}</p>" for remark in result["remarks"])}
<h2>Plan</h2><ul>{"".join(f"<li>{escape(reason)}</li>" for reason in result["plan"]["reasons"])}</ul>
<p class="soft">Everything on this page is either public or was released with noise. Full numbers: <code>result.json</code>,
<code>centers.parquet</code>.</p>
</main></body></html>
"""


def _ledger_rows(ledger: list[dict[str, Any]]) -> str:
    costs = [row["times"] / row["noise_multiplier"] ** 2 if row["noise_multiplier"] else 0.0 for row in ledger]
    total = sum(costs) or 1.0
    return "".join(
        f"<tr><td>{escape(row['release'])}</td><td>{row['mechanism']}</td>"
        f"<td>{_number(row.get('l2_sensitivity', row.get('l1_sensitivity')))} {'L2' if 'l2_sensitivity' in row else 'L1'}</td>"
        f"<td>{_number(row['scale'])}</td><td>{_number(row['noise_multiplier'])}</td><td>{row['times']}</td>"
        f"<td>{_bar(cost / total)} {cost / total:.0%}</td></tr>"
        for row, cost in zip(ledger, costs, strict=True)
    )


def _cluster_rows(result: dict[str, Any]) -> str:
    counts = result["noisy_counts"]
    largest = max(*counts, 1e-9)
    return "".join(
        f"<tr><td>{index}</td><td>{count:,.0f}</td><td style='text-align:left'>{_bar(max(0.0, count) / largest)}</td><td>{_number(stddev)}</td></tr>"
        for index, (count, stddev) in enumerate(zip(counts, result["center_stddev"], strict=True))
    )


def _bar(share: float) -> str:
    return f"<span class='bar' style='width:{8 * share:.2f}em'></span>"


def _number(value: Any) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.4g}"
