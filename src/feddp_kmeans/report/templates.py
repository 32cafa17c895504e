"""The templates of this folder, filled in. Every value is escaped; a value that is missing is empty."""

from typing import Any

from jinja2 import ChainableUndefined, Environment, PackageLoader

from feddp_kmeans import _text as text

_FILTERS = (
    *(text.finite, text.short, text.number, text.chance, text.rounded, text.uncertain, text.share, text.whole, text.counted),
    *(text.percent, text.at_most_percent, text.one_in, text.factor, text.capitalize_first),
)


def rendered(name: str, **values: Any) -> str:
    """Return the template of this name with these values."""
    loader = PackageLoader("feddp_kmeans.report", "")
    made = Environment(loader=loader, autoescape=True, undefined=ChainableUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {one.__name__: one for one in _FILTERS}
    return made.get_template(name).render(values).replace(" %", "\N{NO-BREAK SPACE}%")
