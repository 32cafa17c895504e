"""Pictures as hand-written SVG. Bars are drawn in percent of the width, so that text keeps its size on any screen."""

from collections.abc import Callable, Sequence
from typing import Any

from feddp_kmeans.report.text import finite, name, percent, words

_ROW = 46
_MAP_WIDTH, _MAP_HEIGHT, _MARGIN = 640, 480, 28
_ELBOW_HEIGHT = 260
_ALONE = (
    "svg{background:#fff}.curve{stroke:#0969da;stroke-width:2.5}.tick{font:12px sans-serif;text-anchor:middle;fill:#333}"
    ".center{fill:none;stroke:#b3400a;stroke-width:2.5}"
)
_ERROR_WIDTH = 2.0
"""An error bar reaches this many standard deviations of the noise to either side."""


def budget_chart(names: Sequence[str], shares: Sequence[float]) -> str:
    """Return bars of the budget's shares, a release each, with the release's name above its bar."""
    rows = "".join(
        f'<text x="0" y="{_ROW * i + 16}">{name(label)}: {percent(share)}</text>'
        f'<rect class="track" x="0" y="{_ROW * i + 22}" width="100%" height="16" rx="3"/>'
        f'<rect class="bar" x="0" y="{_ROW * i + 22}" width="{100 * share:.2f}%" height="16" rx="3"/>'
        for i, (label, share) in enumerate(zip(names, shares, strict=True))
    )
    spoken = "; ".join(f"{name(label)} {percent(share)}" for label, share in zip(names, shares, strict=True))
    return (
        f'<svg role="img" aria-labelledby="budget-title budget-desc" width="100%" height="{_ROW * len(names)}">'
        f'<title id="budget-title">Share of the privacy budget of each release</title><desc id="budget-desc">{spoken}.</desc>{rows}</svg>'
    )


def size_bar(value: float, stddev: float | None, limit: float) -> str:
    """Return a bar from zero with its error bar. The numbers stand beside it, so that it is hidden from screen readers."""
    return _row(_bar(0.0, _part(value, limit)) + _error(value, stddev, limit, 0.0, 100.0))


def difference_bar(value: float, stddev: float | None, limit: float, *, trusted: bool) -> str:
    """Return a bar to the left or right of the middle, with its error bar; grey where noise is all that may be seen."""
    reach = _part(value, limit) / 2
    bar = _bar(min(50.0, 50.0 + reach), abs(reach), "bar" if trusted else "bar faint")
    return _row(f'{bar}<line class="zero" x1="50%" x2="50%" y1="0" y2="20"/>' + _error(value, stddev, limit, 50.0, 50.0))


def elbow_chart(elbow: dict[str, Any], *, alone: bool = False) -> str:
    """Return the curve of costs against the number of clusters, the number picked marked; ``alone`` as a file of its own."""
    numbers, costs, picked = elbow["numbers"], elbow["costs"], elbow["picked"]
    top = max(*costs, 1e-300)
    wide, high = _MAP_WIDTH - 2 * _MARGIN, _ELBOW_HEIGHT - 2 * _MARGIN

    def place(number: int, cost: float) -> tuple[float, float]:
        across = (number - numbers[0]) / max(1, numbers[-1] - numbers[0])
        return _MARGIN + across * wide, _MARGIN + (1 - cost / top) * high

    spots = [place(k, cost) for k, cost in zip(numbers, costs, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    ticks = "".join(f'<text class="tick" x="{x:.1f}" y="{_ELBOW_HEIGHT - 6}">{k}</text>' for k, (x, _) in zip(numbers, spots, strict=True))
    x, y = spots[numbers.index(picked)]
    style = f"<style>{_ALONE}</style>" if alone else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    said = f"Cost for {numbers[0]} to {numbers[-1]} clusters; the curve bends most at {picked}."
    return (
        f'<svg{space} role="img" aria-labelledby="elbow-title elbow-desc" viewBox="0 0 {_MAP_WIDTH} {_ELBOW_HEIGHT}">{style}'
        f'<title id="elbow-title">How the number of clusters was chosen</title><desc id="elbow-desc">{words(said)}</desc>'
        f'<polyline class="curve" fill="none" points="{line}"/>{ticks}<circle class="center" cx="{x:.1f}" cy="{y:.1f}" r="9"/></svg>'
    )


def map_chart(server_map: dict[str, Any]) -> str:
    """Return the map of server points (area: weight) and numbered centers; both axes have the same scale."""
    points = [row for row in server_map.get("points") or [] if _drawable(row[:2])]
    centers = [(i, row) for i, row in enumerate(server_map.get("centers") or []) if _drawable(row)]
    place, height = _scale([row[:2] for row in points] + [row for _, row in centers])
    largest = max((finite(row[2]) or 0.0 for row in points), default=0.0)
    dots = "".join(_dot(place(row), (finite(row[2]) or 0.0) / largest if largest > 0 else 0.0) for row in points)
    marks = "".join(_mark(place(row), i) for i, row in centers)
    said = f"{len(centers)} numbered cluster centers and {len(points)} public server points"
    return (
        f'<svg role="img" aria-labelledby="map-title map-desc" viewBox="0 0 {_MAP_WIDTH} {height}">'
        f'<title id="map-title">Map of the cluster centers</title><desc id="map-desc">{words(said)}, in two dimensions.</desc>'
        f'<rect class="frame" x=".5" y=".5" width="{_MAP_WIDTH - 1}" height="{height - 1}" rx="6"/>{dots}{marks}</svg>'
    )


def _row(content: str) -> str:
    return f'<svg aria-hidden="true" focusable="false" width="100%" height="20">{content}</svg>'


def _bar(start: float, width: float, kind: str = "bar") -> str:
    return f'<rect class="{kind}" x="{start:.2f}%" y="4" width="{max(0.0, width):.2f}%" height="12" rx="2"/>'


def _part(value: float, limit: float) -> float:
    """Return the value in percent of the limit, at most 100 either way."""
    return max(-100.0, min(100.0, 100.0 * value / limit)) if limit > 0 else 0.0


def _error(value: float, stddev: float | None, limit: float, origin: float, reach: float) -> str:
    if not stddev:
        return ""
    ends = [value - _ERROR_WIDTH * stddev, value + _ERROR_WIDTH * stddev]
    low, high = (max(0.0, min(100.0, origin + reach * _part(end, limit) / 100)) for end in ends)
    caps = "".join(f'<line class="error" x1="{x:.2f}%" x2="{x:.2f}%" y1="6" y2="14"/>' for x in (low, high))
    return f'<line class="error" x1="{low:.2f}%" x2="{high:.2f}%" y1="10" y2="10"/>{caps}'


def _drawable(row: Sequence[Any]) -> bool:
    return len(row) == 2 and all(finite(x) is not None for x in row)


def _scale(rows: Sequence[Sequence[float]]) -> tuple[Callable[[Sequence[float]], tuple[float, float]], int]:
    """Return the function from coordinates to places on the map, and the map's height: low where all lies on one line."""
    lows, highs = ([edge(row[axis] for row in rows) if rows else 0.0 for axis in (0, 1)] for edge in (min, max))
    spans = [high - low for low, high in zip(lows, highs, strict=True)]
    flat = spans[1] <= 1e-9 * max(spans[0], 1e-300)
    height = 120 if flat else _MAP_HEIGHT
    room = (_MAP_WIDTH - 2 * _MARGIN, height - 2 * _MARGIN)
    steps = [space / span for space, span in zip(room, spans, strict=True) if span > 0]
    step = min(steps[:1] if flat else steps, default=1.0)

    def place(row: Sequence[float]) -> tuple[float, float]:
        x, y = (step * (row[axis] - (lows[axis] + highs[axis]) / 2) for axis in (0, 1))
        return _MAP_WIDTH / 2 + x, height / 2 - y

    return place, height


def _dot(spot: tuple[float, float], weight: float) -> str:
    x, y = spot
    return f'<circle class="server" cx="{x:.1f}" cy="{y:.1f}" r="{1.6 + 6.4 * max(0.0, weight) ** 0.5:.1f}"/>'


def _mark(spot: tuple[float, float], index: int) -> str:
    x, y = spot
    return f'<circle class="center" cx="{x:.1f}" cy="{y:.1f}" r="18"/><text class="label" x="{x:.1f}" y="{y + 7:.1f}">{index}</text>'
