"""JSON: strict reading of what somebody else may have written, refused in one line if it is not clear; and numbers that can be written."""

import json
import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from feddp_kmeans.errors import FedDPError, InputError, without_text

Made = TypeVar("Made")

RESULT_FORMAT = 1
"""Format of result.json, which several rooms read."""

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}
_LARGEST = 1 << 1023


def parse_json(content: bytes | str) -> Any:
    """Return what this JSON states; refuse a key named twice, a NaN, endless digits or brackets, and bytes that are no text."""
    try:
        return json.loads(content, object_pairs_hook=_distinct, parse_constant=_constant)
    except FedDPError:
        raise
    except RecursionError:
        raise InputError("JSON must not be nested without end, got too many brackets.") from None
    except ValueError as error:
        raise InputError(f"JSON must be readable, got: {str(error).splitlines()[0]:.200}.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f"JSON must name a key once, got {next(key for key in keys if keys.count(key) > 1)!r:.80} twice.")
    return found


def _constant(word: str) -> float:
    if word == "NaN":
        raise InputError("JSON must hold numbers, got NaN.")
    return float(word)


def check_fields(made: Any, what: str) -> None:
    """Refuse a dataclass, filled from plain data, in which a field does not have the type that the class states."""
    for name, kind in get_type_hints(type(made)).items():
        if not _fits(value := getattr(made, name), kind):
            raise InputError(f"{name} of {what} must be of type {getattr(kind, '__name__', kind)}, got a {type(value).__name__}.")


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


def field_of(given: Any, name: str, kind: type, what: str) -> Any:
    """Return a field of plain data that must be of this type, or name a member of this enum.

    A number may be the word "inf": JSON has no number for it.
    """
    if not isinstance(given, dict):
        raise InputError(f"{what} must be an object with named fields, got a {type(given).__name__}.")
    value = given.get(name)
    if type(value) is kind:
        return value
    if issubclass(kind, StrEnum):
        try:
            return kind(str(value))
        except ValueError:
            raise InputError(f"{name} of {what} must be one of {[*map(str, kind)]}, got {value!r:.80}.") from None
    if kind is float and value == "inf":
        return math.inf
    if not _fits(value, kind):
        raise InputError(f"{name} of {what} must be {_WORDS[kind]}, got {value!r:.80}.")
    if kind is float and isinstance(value, int):
        if abs(value) > _LARGEST:
            raise InputError(f"{name} of {what} must be a number that a computer can hold, got one of {len(str(value))} digits.")
        return float(value)
    return value


def check_format(given: Any, known: int, what: str, name: str = "format") -> None:
    """Refuse a file of a newer format than ours: the one rule for every file that this package writes and reads again.

    A file states its format, a whole number that grows whenever an older reader would misread it. Our own format and all older ones are
    read; a reader that cannot safely use an older one says so. A file that states no format was written by 0.1 and has format 1.
    """
    stated = given.get(name, 1)
    if type(stated) is not int or not 1 <= stated <= known:
        raise InputError(f"{name} of {what} must be from 1 to {known}, got {stated!r:.80}: it was written by a newer feddp, or is damaged.")


def read_object(path: Path, rule: str) -> dict[str, Any]:
    """Return the JSON object in a file. A refusal says what the file must do: ``rule``, as in "describe a site"."""
    try:
        given = parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path.name} must {rule}: {without_text(error)}.") from None
    except FedDPError as error:
        raise InputError(f"{path.name} must {rule}: {error}") from None
    if not isinstance(given, dict):
        raise InputError(f"{path.name} must {rule}, got a {type(given).__name__} and no object.")
    return given


def read_dataclass(path: Path, rule: str, known: int, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Return the dataclass that ``make`` fills with the fields of a JSON file, lists as tuples; refuse other types and newer formats."""
    given = read_object(path, rule)
    check_format(given, known, path.name)
    stated = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items() if name != "format"}
    try:
        made = make(stated)
        check_fields(made, path.name)
    except FedDPError as error:
        raise InputError(f"{path.name} must {rule}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{path.name} must {rule}, got {type(error).__name__}: {' '.join(str(error).split()):.200}.") from None
    return made


def finite_json(value: Any) -> Any:
    """Return the value with infinities as the word "inf" and NaN as null: JSON has no number for them."""
    if isinstance(value, dict):
        return {key: finite_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
