"""What was released about the clusters of a run afterwards, as parts of its page: profiles of columns, and words."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from feddp_kmeans import _text as text
from feddp_kmeans._json import finite_json, parse_json
from feddp_kmeans._text import finite
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report import charts

PROFILE, WORDS = "profile.json", "words.json"
"""What feddp profile and feddp words write into the folder of a run."""
_SHOWN = 8
"""Words of a cluster."""


def centers_digest(result: dict[str, Any]) -> str:
    """Return a digest of the centers of a result: what was asked about other centers says nothing about these."""
    return hashlib.sha256(json.dumps(result["centers"]).encode()).hexdigest()


def about_text(result: dict[str, Any], told: dict[str, Any]) -> str:
    """Return the content of a file of what was told about the clusters of a result."""
    whole = finite_json({"format": 1, "centers": centers_digest(result)} | told)
    return json.dumps(whole, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def read_told(path: Path, result: dict[str, Any]) -> dict[str, Any] | None:
    """Return what such a file tells; None if it is not there, is damaged, or is about another result."""
    with suppress(OSError, FedDPError, KeyError, TypeError):
        told: dict[str, Any] = parse_json(path.read_bytes())
        return told if told["centers"] == centers_digest(result) else None
    return None


def read_about(folder: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page of a result shows of these files; nothing of one that is not there, is damaged, or is about another result."""
    found: dict[str, Any] = {}
    for name, told in ((PROFILE, _columns), (WORDS, _words)):
        if (data := read_told(folder / name, result)) is None:
            continue
        with suppress(KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError):
            found[name.removesuffix(".json")] = {"rows": told(data), "guarantee": str(data["guarantee"]), "spent": data.get("spent") or {}}
    return found


def _columns(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of a profile: a picture, and what is said, for each cluster and for all."""
    shown = [bool(one) for one in data["shown"]]
    return [
        {
            "name": str(column["column"]),
            "classes": [str(one) for one in column["classes"]],
            "is_number": "means" in column,
            "clusters": [_cells(column, row) if there else None for row, there in enumerate(shown)],
            "all": _cells(column, len(shown)),
        }
        for column in data["columns"]
    ]


def _cells(column: dict[str, Any], row: int) -> dict[str, Any] | None:
    shares, errors = ([finite(x) for x in column[name][row]] for name in ("shares", "errors"))
    if None in shares or None in errors:
        return None
    overall, last = column["shares"][-1], len(column["shares"]) - 1
    mean = None if "means" not in column else text.uncertain(finite(column["means"][row]) or 0.0, finite(column["mean_errors"][row]))
    words = ", ".join(f"{name} {text.percent(min(max(x or 0.0, 0.0), 1.0))}" for name, x in zip(column["classes"], shares, strict=True))
    return {
        "picture": charts.mini_bars(shares, errors, [finite(x) or 0.0 for x in overall] if row < last else None, row, words),
        "mean": mean,
        "shares": [
            {
                "said": text.share(x or 0.0, error),
                "sure": row < last and bool(column["differs"][row][place]),
                "noisy": row < last and bool(column["too_noisy"][row][place]),
            }
            for place, (x, error) in enumerate(zip(shares, errors, strict=True))
        ],
    }


def _words(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the name of each cluster, and its words with their lift."""
    return [
        {
            "name": str(cluster["name"]),
            "words": [{"word": str(one["word"]), "lift": f"{float(one['lift']):.2g}"} for one in cluster["words"][:_SHOWN]],
        }
        for cluster in data["clusters"]
    ]
