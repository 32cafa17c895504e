"""JSON that somebody else may have written, taken strictly: what it states is clear, or it is refused in one line."""

import json
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from feddp_kmeans.errors import FedDPError


def parse_json(content: bytes | str) -> Any:
    """Return what this JSON states; a key named twice, a NaN, digits or brackets without end and bytes that are no text are refused."""
    try:
        return json.loads(content, object_pairs_hook=_distinct, parse_constant=_constant)
    except FedDPError:
        raise
    except RecursionError:
        raise FedDPError("JSON must not be nested without end, got too many brackets.") from None
    except ValueError as error:
        raise FedDPError(f"JSON must be readable, got: {str(error).splitlines()[0]:.200}.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise FedDPError(f"JSON must name a key once, got {next(key for key in keys if keys.count(key) > 1)!r:.80} twice.")
    return found


def _constant(word: str) -> float:
    if word == "NaN":
        raise FedDPError("JSON must hold numbers that are one, got NaN.")
    return float(word)


def check_fields(made: Any, what: str) -> None:
    """Refuse a dataclass that was filled from plain data, where a field is not of the type that the class states."""
    for name, kind in get_type_hints(type(made)).items():
        if not _fits(value := getattr(made, name), kind):
            raise FedDPError(f"{name} of {what} must be of another type, got a {type(value).__name__}.")


def _fits(value: Any, kind: Any) -> bool:
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        return any(_fits(value, one) for one in inner)
    if kind is Any:
        return True
    if not inner:
        return isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if not isinstance(value, get_origin(kind)):
        return False
    if isinstance(value, dict):
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items())
    return all(_fits(item, inner[0]) for item in value)


def check_format(given: Any, known: int, what: str) -> None:
    """Refuse a file of a newer format than the one known here. What states no format was written by 0.1, and is of format 1."""
    stated = given.get("format", 1)
    if type(stated) is not int or not 1 <= stated <= known:
        raise FedDPError(f"format of {what} must be from 1 to {known}, got {stated!r:.80}: it was written by a newer feddp, or is none.")
