"""What was asked and what was guaranteed, in words for a data-protection officer."""

import math
from typing import Any

from feddp_kmeans.privacy.meaning import attack_accuracy, attack_advantage, ledger_accuracy
from feddp_kmeans.report.text import UNKNOWN, at_most_percent, chance, finite, number, one_in, whole, words

_UNITS = {"point": "one data point", "client": "all the data of one client"}
_TRUST = {
    "aggregator": (
        "One computer, the aggregator, adds up what the clients send and adds the noise. While it works it holds exact sums in its memory, "
        "so whoever runs it must be trusted. Everybody who sees only what was released is covered by the guarantee."
    ),
    "secure-sum": (
        "Every client added its own share of the noise and masked what it sent, so that the server learned the noisy sums and nothing "
        "else. The server is covered by the guarantee too, as long as it does not work together with more clients than the run allowed for."
    ),
}

_SEVERAL_ROWS = "The guarantee is for one row. For someone with m rows epsilon is up to m times as large, and delta grows too."


def is_private(result: dict[str, Any]) -> bool:
    """Return whether the run's guarantee holds: secret noise, a finite epsilon, and no caveat in place of the guarantee."""
    stated = "NOT PRIVATE" not in str(result.get("guarantee", "")) and not result.get("caveat")
    return bool(result.get("secure")) and finite(result.get("epsilon")) is not None and stated


def unit_name(result: dict[str, Any]) -> str:
    """Return what is protected, in words."""
    unit = str(result.get("privacy_unit"))
    return words(_UNITS.get(unit, unit))


def banner(result: dict[str, Any]) -> str:
    """Return the red box at the top of a page whose run is not private; nothing for one that is."""
    if is_private(result):
        return ""
    simulated = result.get("seed") is not None and finite(result.get("epsilon")) is not None and not result.get("caveat")
    title = "Simulation: not private" if simulated else "Not private"
    return f'<div class="not-private" role="note"><strong>{title}</strong><p>{words(result["guarantee"])}</p></div>'


def asked_section(result: dict[str, Any]) -> str:
    """Return the section on what was asked."""
    facts = result["plan"].get("facts", {})
    rows = {
        "clusters (k)": whole(result["n_clusters"]),
        "method": words(result["method"]),
        "protected": unit_name(result),
        "epsilon": number(result["epsilon"]),
        "delta": chance(result["delta"]),
        "clients": whole(facts.get("n_clients")),
        "columns (dimension)": whole(facts.get("dimension")),
        "public server points": whole(facts.get("n_server_points")),
        "Lloyd steps": whole(facts.get("lloyd_steps")),
        "made": words(result.get("written") or "time not recorded"),
        "program": f"feddp-kmeans {words(result['version'])}",
        "noise": _noise(result),
    }
    items = "".join(f"<div><dt>{key}</dt><dd>{value}</dd></div>" for key, value in rows.items() if value != UNKNOWN)
    return f'<section aria-labelledby="asked"><h2 id="asked">What was asked</h2><dl class="facts">{items}</dl></section>'


def _noise(result: dict[str, Any]) -> str:
    if result["secure"]:
        return "secret, cryptographic"
    return "not secret" if result.get("seed") is None else f"seeded simulation (seed {words(result['seed'])})"


def guarantee_section(result: dict[str, Any]) -> str:
    """Return the section on what was guaranteed, what that means and what it does not cover."""
    if not is_private(result):
        return f"""<section aria-labelledby="guaranteed"><h2 id="guaranteed">What was guaranteed: nothing</h2>
<p class="guarantee not">{words(result["guarantee"])}</p>{_no_attack(result)}</section>"""
    trust = str(result.get("trust", UNKNOWN))
    told = _TRUST.get(trust, f"This run says of itself: {trust}. Whoever sees more than the released numbers is not covered.")
    return f"""<section aria-labelledby="guaranteed"><h2 id="guaranteed">What was guaranteed</h2>
<p class="guarantee">{words(result["guarantee"])}</p>
{_protected(result)}
{_attack(result)}
<h3>Who must be trusted</h3><p>{words(told)}</p>
<h3>What the guarantee does not cover</h3><ul>{"".join(f"<li>{line}</li>" for line in _not_covered(result))}</ul></section>"""


def _protected(result: dict[str, Any]) -> str:
    epsilon = float(result["epsilon"])
    factor = f"e<sup>{number(epsilon)}</sup> = {_factor(epsilon)}"
    whom = {
        "point": "Every single data point (one row). Two data sets are compared that differ by one row, there or not.",
        "client": (
            "Every client as a whole. Two data sets are compared in which one client has all its data, or none. Without data it is still a "
            "client: it adds zero to every sum, and the number of clients is public."
        ),
    }.get(str(result["privacy_unit"]), unit_name(result))
    return (
        f"<p><b>What is protected.</b> {whom}</p>"
        f"<p><b>Epsilon {number(result['epsilon'])}.</b> Whether or not {unit_name(result)} takes part, the probability of any outcome "
        f"changes by a factor of at most {factor}. Smaller is safer.</p>"
        f"<p><b>Delta {chance(result['delta'])}.</b> Any probability may exceed that factor by at most delta, {one_in(result['delta'])}: "
        "read it as the chance that the factor fails.</p>"
    )


def _factor(epsilon: float) -> str:
    return number(math.ceil(math.exp(epsilon) * 100) / 100) if epsilon < 30 else "an astronomical number"


def _attack(result: dict[str, Any]) -> str:
    epsilon, delta = float(result["epsilon"]), finite(result["delta"]) or 0.0
    bound = at_most_percent(attack_accuracy(epsilon, delta))
    points = at_most_percent(attack_advantage(epsilon, delta), "percentage points")
    # Of the whole plan: that a release was not made follows from others, so it takes nothing off the guarantee.
    finer = ledger_accuracy(result["plan"].get("releases", result["ledger"]))
    unit = unit_name(result)
    sharper = ""
    if finer is not None and finer < attack_accuracy(epsilon, delta):
        sharper = (
            f"<p>The noise that this run really added, all of it Gaussian, allows even less: at most <b>{at_most_percent(finer)}</b>. The "
            "first figure follows from epsilon and delta alone.</p>"
        )
    return (
        f'<h3>What an attacker can gain</h3><div class="figure"><b>≤ {bound}</b><p>Someone sees everything that was released, knows all '
        f"other data, and must say whether {unit} took part. Blind guessing is right 50 % of the time. With this release no one can be "
        f"right more often than {bound} of the time, with whatever computer or method, now or later.</p></div>{sharper}"
        f'<p class="soft">Put differently: the chance to accuse a participant is at most {points} above the chance to accuse someone who '
        "took no part.</p>"
    )


def _no_attack(result: dict[str, Any]) -> str:
    epsilon = finite(result["epsilon"])
    told = "<p>Nothing limits what an attacker can learn from this result. Do not release it if the data are private.</p>"
    if epsilon is None or result.get("caveat"):
        return told
    bound = at_most_percent(attack_accuracy(epsilon, finite(result["delta"]) or 0.0))
    return (
        f"{told}<p>Run without a seed, these settings would limit the chance to guess right whether {unit_name(result)} took part "
        f"to {bound}, where blind guessing is right 50 % of the time.</p>"
    )


def _not_covered(result: dict[str, Any]) -> list[str]:
    lines = [
        "<b>What is true of many.</b> A pattern that holds in general can be learned and applied to anyone, participant or not.",
        (
            "<b>What is public.</b> The settings, the column names, the server data, which clients took part and their number (where rows "
            "were assigned to clients by a column, the number of its distinct values) are not hidden. "
            "Settings or server data that were read off private data void the guarantee."
        ),
        "<b>Several runs add up.</b> Each further run on the same data spends its own epsilon and delta on top of these.",
        "<b>Time.</b> How long a single step took is not hidden.",
        (
            "<b>The law.</b> Whether the result counts as anonymous is a judgment that this page cannot make. It states what can be "
            "inferred, and how surely."
        ),
    ]
    if result.get("privacy_unit") == "point":
        lines.insert(0, f"<b>People with several rows.</b> {_SEVERAL_ROWS}")
    if (finite(result["plan"].get("sampling_rate")) or 1.0) < 1:
        lines.insert(0, "<b>Sampled clients.</b> The guarantee holds against those who do not know which clients were drawn.")
    return lines
