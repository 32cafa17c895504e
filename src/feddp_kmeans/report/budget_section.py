"""The ledger on the page: where the budget went, as a picture and as a table."""

from typing import Any

from feddp_kmeans.privacy.meaning import BudgetShares, ShareKind, budget_shares
from feddp_kmeans.report.charts import budget_chart
from feddp_kmeans.report.guarantee import unit_name
from feddp_kmeans.report.text import NOTHING, finite, name, number, percent, whole, words

_KINDS = {
    ShareKind.SQUARED_MU: (
        "All noise is Gaussian, so the costs add up exactly: a release costs times / multiplier², and the bar is its part of the sum."
    ),
    ShareKind.SINGLE_EPSILON: (
        "The releases use different kinds of noise, whose costs do not simply add up. The bar is the epsilon of each release "
        "alone, as a part of the sum of these; the guarantee above counts them together."
    ),
    ShareKind.NONE: "No share can be stated: nothing was released, or a release had no noise.",
}


def budget_section(result: dict[str, Any]) -> str:
    """Return the section on the ledger."""
    rows = result["ledger"]
    shares = budget_shares(rows, finite(result["delta"]) or 1e-6, finite(result["plan"].get("sampling_rate")) or 1.0)
    picture = ""
    if shares.kind is not ShareKind.NONE:
        picture = budget_chart([row["release"] for row in rows], shares.shares)
    return f"""<section aria-labelledby="budget"><h2 id="budget">Where the budget went</h2>
<p>A release is a sum over all clients, published with noise. {_spent(result)}</p>
<figure>{picture}<figcaption>{_KINDS[shares.kind]}</figcaption></figure>
{_table(result, shares) if rows else "<p>Nothing was released.</p>"}</section>"""


def _spent(result: dict[str, Any]) -> str:
    spent = finite(result["plan"].get("epsilon_spent"))
    if spent is None or not result["ledger"]:
        return ""
    return f"All together they cost epsilon {number(spent)} of the {number(result['epsilon'])} that was allowed."


def _table(result: dict[str, Any], shares: BudgetShares) -> str:
    heads = ("release", "noise", "sensitivity", "noise scale", "multiplier", "numbers", "times", "share")
    body = "".join(_row(row, share, shares.kind) for row, share in zip(result["ledger"], shares.shares, strict=True))
    told = (
        f"The sensitivity is the most that {unit_name(result)} can change the sum; the multiplier is the noise scale over the sensitivity."
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="The ledger"><table class="ledger">'
        "<caption>The ledger: every release of this run</caption><thead><tr>"
        + "".join(f'<th scope="col">{head}</th>' for head in heads)
        + f'</tr></thead><tbody>{body}</tbody></table></div><p class="soft">{told}</p>'
    )


def _row(row: dict[str, Any], share: float, kind: ShareKind) -> str:
    norm = "L2" if "l2_sensitivity" in row else "L1"
    sensitivity = row.get("l2_sensitivity", row.get("l1_sensitivity"))
    cells = (
        words(row["mechanism"]),
        f"{number(sensitivity)} {norm}",
        number(row["scale"]),
        number(row["noise_multiplier"]),
        whole(row.get("values")),
        whole(row["times"]),
        NOTHING if kind is ShareKind.NONE else percent(share),
    )
    return f'<tr><th scope="row">{name(row["release"])}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
