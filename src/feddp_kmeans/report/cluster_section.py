"""The clusters on the page: sizes with their errors, and what sets each apart."""

from typing import Any

from feddp_kmeans.report.charts import difference_bar, size_bar
from feddp_kmeans.report.profiles import SHOWN, Trait, cluster_traits, size_weights
from feddp_kmeans.report.text import NOTHING, UNKNOWN, finite, name, percent, rounded, whole, with_error


def clusters_section(result: dict[str, Any]) -> str:
    """Return the section on sizes and profiles."""
    traits = [row[:SHOWN] for row in cluster_traits(result)]
    limits: dict[str, float] = {}
    for trait in (trait for row in traits for trait in row):
        limits[trait.scale] = max(limits.get(trait.scale, 0.0), abs(trait.difference) + 2 * (trait.error or 0.0))
    alone = len(traits) == 1
    cards = "".join(_card(result, index, row, limits, alone) for index, row in enumerate(traits))
    return f"""<section aria-labelledby="clusters"><h2 id="clusters">Clusters</h2>
{_sizes(result)}
<h3>What sets each cluster apart</h3>
<p>{_explained(alone)}</p>
<div class="clusters">{cards}</div></section>"""


def _explained(alone: bool) -> str:
    if alone:
        return "There is one cluster only, so there is nothing to set it apart from: these are its values, with the noise in them."
    return (
        f"For each cluster, the columns (at most {SHOWN}) whose difference from the mean of all clusters, weighted by noisy size, stands "
        "out most from the noise. The bar is the difference, the thin line the noise: two standard deviations either way. "
        '<span class="noisy">Too noisy to trust</span> stands where one standard deviation of the noise is larger than the difference.'
    )


def _sizes(result: dict[str, Any]) -> str:
    counts = [finite(count) for count in result["noisy_counts"]]
    error = finite(result.get("count_stddev"))
    limit = max([0.0] + [count + 2 * (error or 0.0) for count in counts if count is not None])
    weights = size_weights(result["noisy_counts"], len(counts))
    total = sum(weights) if any(count is not None for count in counts) else 0.0
    rows = "".join(
        f'<tr><th scope="row">Cluster {index}</th><td class="value">{_size(count, error)}</td>'
        f"<td>{percent(weights[index] / total) if total and count is not None else NOTHING}</td>"
        f'<td class="draw">{size_bar(count, error, limit) if count is not None else ""}</td></tr>'
        for index, count in enumerate(counts)
    )
    of_clients = result.get("method") == "paper" and result.get("privacy_unit") == "client"
    counted = "clients that have a point in the cluster" if of_clients else "points"
    said = "the error was not recorded with this result" if error is None else "no noise was added"
    if error:
        said = "± and the thin lines are two standard deviations of the noise; true sizes were never released"
    return (
        f'<table class="sizes"><caption>Noisy sizes: number of {counted}; {said}.</caption>'
        '<thead><tr><th scope="col">cluster</th><th scope="col">noisy size</th><th scope="col">share</th>'
        f'<th scope="col" class="draw">drawn</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _size(count: float | None, error: float | None) -> str:
    if count is None:
        return UNKNOWN
    tag = '<span class="tag">may be empty</span>' if error and count < 2 * error else ""
    return f"{with_error(count, max(error, 0.5)) if error else whole(count)}{tag}"


def _card(result: dict[str, Any], index: int, traits: list[Trait], limits: dict[str, float], alone: bool) -> str:
    count = finite(result["noisy_counts"][index]) if index < len(result["noisy_counts"]) else None
    size = "size not released" if count is None else f"noisy size {whole(count)}"
    rows = "".join(_trait_row(trait, limits[trait.scale], alone) for trait in traits)
    head = '<th scope="col">column</th><th scope="col" class="here">here</th>'
    head += "" if alone else '<th scope="col">all</th><th scope="col" class="draw">difference</th>'
    body = f"<table><caption>{'Values' if alone else 'Largest differences'} of cluster {index}</caption><thead><tr>{head}</tr></thead>"
    body += f"<tbody>{rows}</tbody></table>"
    return f'<div class="cluster"><h3>Cluster {index}</h3><p class="soft">{size}</p>{body if traits else "<p>No values.</p>"}</div>'


def _trait_row(trait: Trait, limit: float, alone: bool) -> str:
    label = name(trait.column) if trait.category is None else f"{name(trait.column)} = {name(trait.category)}"
    shown = alone or trait.trusted
    tag = "" if shown else '<span class="tag">too noisy to trust</span>'
    value = with_error(trait.value, trait.error) if trait.category is None else _share(trait)
    row = f'<tr{"" if shown else " class=noisy"}><th scope="row">{label}{tag}</th><td>{value}</td>'
    if not alone:
        row += f"<td>{rounded(trait.overall, trait.error) if trait.category is None else percent(trait.overall)}</td>"
        row += f'<td class="draw">{difference_bar(trait.difference, trait.error, limit, trusted=trait.trusted)}</td>'
    return row + "</tr>"


def _share(trait: Trait) -> str:
    return with_error(100 * trait.value, 100 * trait.error, " %") if trait.error else percent(trait.value)
