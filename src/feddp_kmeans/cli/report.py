"""``feddp report``: the page of a result that was written before."""

from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans._json import RESULT_FORMAT, check_format, parse_json
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.report.page import render_page

_NEEDED = (
    "version",
    "method",
    "n_clusters",
    "centers",
    "noisy_counts",
    "epsilon",
    "delta",
    "privacy_unit",
    "guarantee",
    "secure",
    "ledger",
    "plan",
)


def write_report(run: Path, out: Path | None) -> Path:
    """Write the page for ``run``, a folder with a result.json or that file; return where it went."""
    source = run / "result.json" if run.is_dir() else run
    target = out if out is not None else source.parent / "report.html"
    if target.is_dir() or not target.parent.is_dir():
        raise FedDPError(f"--out must be a file in a folder that exists, got {str(target)!r}.")
    write_whole(target, _page(read_result(source), source.name).encode(errors="replace"))
    return target


def read_result(source: Path) -> dict[str, Any]:
    """Return the result in a file; refuse what is not one."""
    try:
        result = parse_json(source.read_bytes())
    except OSError:
        raise FedDPError(f"run must be a folder with a result.json, or that file, got {str(source)!r}.") from None
    except ValueError:
        raise FedDPError(f"{source.name} must be JSON, got something else in {str(source)!r}.") from None
    if not isinstance(result, dict):
        raise FedDPError(f"{source.name} must hold a result of feddp fit, got a {type(result).__name__}.")
    check_format(result, RESULT_FORMAT, source.name)
    if missing := [key for key in _NEEDED if key not in result]:
        raise FedDPError(f"{source.name} must hold a result of feddp fit, got one without {missing[0]!r}.")
    return result


def _page(result: dict[str, Any], name: str) -> str:
    """Return the page; a result with something else in it than feddp fit puts there is refused."""
    try:
        return render_page(result)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise FedDPError(f"{name} must hold a result as feddp fit writes it, got one that breaks with {type(error).__name__}.") from None
