"""A cluster in one line, made of its strongest differences, and what they are compared with."""

from feddp_kmeans.report.profiles import Trait, strongest

_MOST = 3
_MATTERS = 0.2
"""A difference that is less than this part of the strongest one is not mentioned."""
_POSITIVE = 0.5
_MOSTLY, _HARDLY = 0.5, 0.05
_COMPARATIVES = {"age": ("younger", "older")}
NOTHING = "nothing sets it apart beyond the noise"


def in_one_line(traits: dict[tuple[str, str | None], Trait]) -> str:
    """Return what sets a cluster apart, such as "older (61 against 44), low income (18,000 against 31,000)".

    Only differences of more than two standard deviations of the noise are named.
    """
    named: dict[str, Trait] = {}
    for trait in strongest(traits):
        first = named.setdefault(trait.column, trait) if trait.sure and (trait.column in named or len(named) < _MOST) else trait
        if first.difference < 0 < trait.difference and trait.category is not None and trait.strength >= _POSITIVE * first.strength:
            named[trait.column] = trait  # what there is more of says more than what there is less of
    most = max((trait.strength for trait in named.values()), default=0.0)
    return ", ".join(_phrase(trait) for trait in named.values() if trait.strength >= _MATTERS * most) or NOTHING


def _phrase(trait: Trait) -> str:
    higher, against = trait.difference > 0, f"({trait.roughly(trait.value)} against {trait.roughly(trait.overall)})"
    if trait.category is not None:
        return f"{trait.column} {_how_often(trait.value, higher=higher)} {trait.category} {against}"
    if trait.column.lower() in _COMPARATIVES:
        return f"{_COMPARATIVES[trait.column.lower()][higher]} {against}"
    if trait.kind == "date":
        return f"{trait.column} {'later' if higher else 'earlier'} {against}"
    return f"{'high' if higher else 'low'} {trait.column} {against}"


def _how_often(part: float, *, higher: bool) -> str:
    if higher:
        return "mostly" if part >= _MOSTLY else "more often"
    return "hardly ever" if part < _HARDLY else "less often"
