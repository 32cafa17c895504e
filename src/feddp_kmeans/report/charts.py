"""Pictures as hand-written SVG. Bars are drawn in percent of the width, so that text keeps its size on any screen."""

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import escape

from feddp_kmeans._text import finite

COLOURS = 8
"""Colours of clusters; with more clusters they come again."""

_WIDTH, _MARGIN = 640, 28
_SMALLEST = 16  # least radius of a center
_MAP_HEIGHT, _LINE_HEIGHT, _ELBOW_HEIGHT = 480, 120, 260
_ALONE = (
    "svg{background:#fff}.curve{stroke:#0969da;stroke-width:2.5}.tick{font:12px sans-serif;text-anchor:middle;fill:#333}"
    ".center{fill:none;stroke:#b3400a;stroke-width:2.5}"
)


def bar(value: float, stddev: float | None, limit: float, origin: float, kind: str = "bar") -> str:
    """Return a bar from the origin, in percent of the width; ``limit`` reaches the right end. Screen readers skip it.

    A thin line extends two standard deviations of the noise to either side.
    """

    def place(x: float) -> float:
        return min(100.0, max(0.0, origin + (100.0 - origin) * x / limit)) if limit > 0 else origin

    end = place(value)
    drawn = f'<rect class="{kind}" x="{min(origin, end):.2f}%" y="4" width="{abs(end - origin):.2f}%" height="12" rx="2"/>'
    lines = [(origin, origin, 0, 20, "zero")] if origin else []
    if stddev:
        low, high = place(value - 2 * stddev), place(value + 2 * stddev)
        lines += [(low, high, 10, 10, "error"), (low, low, 6, 14, "error"), (high, high, 6, 14, "error")]
    drawn += "".join(f'<line class="{of}" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1}" y2="{y2}"/>' for x1, x2, y1, y2, of in lines)
    return f'<svg aria-hidden="true" focusable="false" width="100%" height="20">{drawn}</svg>'


_STRIP_HEIGHT, _NUMBERED = 24, 12


def strip(marks: Sequence[tuple[int, float, float | None]], overall: float, low: float, high: float, words: str) -> str:
    """Return where the clusters lie on one axis: a numbered dot and an error line for each, and a line for the mean over all."""

    def place(x: float) -> float:
        return 5 + 90 * min(1.0, max(0.0, (x - low) / (high - low))) if high > low else 50.0

    middle, dots, lines = _STRIP_HEIGHT / 2, "", ""
    for index, value, stddev in marks:
        at, kind = place(value), f"k{index % COLOURS}"
        if stddev:
            ends = f'x1="{place(value - 2 * stddev):.2f}%" x2="{place(value + 2 * stddev):.2f}%"'
            lines += f'<line class="reach {kind}" {ends} y1="{middle:g}" y2="{middle:g}"/>'
        dots += f'<circle class="dot {kind}" cx="{at:.2f}%" cy="{middle:g}" r="{8 if len(marks) <= _NUMBERED else 5}"/>'
        if len(marks) <= _NUMBERED:
            dots += f'<text class="dot-label" x="{at:.2f}%" y="{middle + 4:g}">{index}</text>'
    axis = f'<line class="axis" x1="0" x2="100%" y1="{middle:g}" y2="{middle:g}"/>'
    mean = f'<line class="mean" x1="{place(overall):.2f}%" x2="{place(overall):.2f}%" y1="1" y2="{_STRIP_HEIGHT - 1}"/>'
    said = f"{len(marks)} clusters {words}"
    return f'<svg role="img" aria-label="{escape(said)}" width="100%" height="{_STRIP_HEIGHT}">{axis}{mean}{lines}{dots}</svg>'


_MINI_WIDTH, _MINI_HEIGHT = 150, 40


def mini_bars(
    shares: Sequence[float | None], errors: Sequence[float | None], overall: Sequence[float] | None, index: int, words: str
) -> str:
    """Return upright bars of shares from 0 up to the largest, with thin lines of noise; those of all as outlines."""
    known = [max(share or 0.0, 0.0) for share in shares]
    top = max(*known, *(overall or [0.0]), 1e-9) * 1.1
    step = _MINI_WIDTH / len(known)

    def high(share: float) -> float:
        return _MINI_HEIGHT * min(max(share, 0.0) / top, 1.0)

    drawn = ""
    for place, (share, error) in enumerate(zip(known, errors, strict=True)):
        left, middle = step * place + 1, step * (place + 0.5)
        kind = "bar faint" if overall is None else f"bar k{index % COLOURS}"
        drawn += (
            f'<rect class="{kind}" x="{left:.1f}" y="{_MINI_HEIGHT - high(share):.1f}" width="{step - 2:.1f}" height="{high(share):.1f}"/>'
        )
        if overall is not None:
            whole = high(overall[place])
            drawn += f'<rect class="frame" x="{left:.1f}" y="{_MINI_HEIGHT - whole:.1f}" width="{step - 2:.1f}" height="{whole:.1f}"/>'
        if error:
            ends = (_MINI_HEIGHT - high(share + 2 * error), _MINI_HEIGHT - high(share - 2 * error))
            drawn += f'<line class="error thin" x1="{middle:.1f}" x2="{middle:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>'
    size = f'width="{_MINI_WIDTH}" height="{_MINI_HEIGHT}" viewBox="0 0 {_MINI_WIDTH} {_MINI_HEIGHT}"'
    return f'<svg role="img" aria-label="{escape(words)}" {size}>{drawn}</svg>'


def elbow_chart(elbow: dict[str, Any], *, alone: bool = False) -> str:
    """Return the curve of costs against the number of clusters, the number picked marked; ``alone`` as a file of its own."""
    numbers, costs, picked = elbow["numbers"], elbow["costs"], elbow["picked"]
    top, steps = max(*costs, 1e-300), max(1, numbers[-1] - numbers[0])
    spots = [
        (
            _MARGIN + (number - numbers[0]) / steps * (_WIDTH - 2 * _MARGIN),
            _MARGIN + (1 - cost / top) * (_ELBOW_HEIGHT - 2 * _MARGIN),
        )
        for number, cost in zip(numbers, costs, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    ticks = "".join(f'<text class="tick" x="{x:.1f}" y="{_ELBOW_HEIGHT - 6}">{k}</text>' for k, (x, _) in zip(numbers, spots, strict=True))
    x, y = spots[numbers.index(picked)]
    space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    said = f"Cost for {numbers[0]} to {numbers[-1]} clusters; {picked} was picked."
    return (
        f'<svg{space} role="img" aria-labelledby="elbow-title elbow-desc" viewBox="0 0 {_WIDTH} {_ELBOW_HEIGHT}">'
        f"{f'<style>{_ALONE}</style>' if alone else ''}"
        f'<title id="elbow-title">How the number of clusters was chosen</title><desc id="elbow-desc">{said}</desc>'
        f'<polyline class="curve" fill="none" points="{line}"/>{ticks}<circle class="center" cx="{x:.1f}" cy="{y:.1f}" r="9"/></svg>'
    )


def map_chart(server_map: dict[str, Any], shares: Sequence[float] = ()) -> str:
    """Return the map of server points (area: weight) and numbered centers (larger: share); both axes have the same scale."""
    points = [row for row in server_map.get("points") or [] if _drawable(row[:2])]
    centers = [(i, row) for i, row in enumerate(server_map.get("centers") or []) if _drawable(row)]
    place, height = _scale([row[:2] for row in points] + [row for _, row in centers])
    weights = [max(0.0, finite(row[2]) or 0.0) for row in points]
    largest = max(weights, default=0.0) or 1.0
    drawn = f'<rect class="frame" x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="6"/>'
    for row, weight in zip(points, weights, strict=True):
        x, y = place(row)
        drawn += f'<circle class="server" cx="{x:.1f}" cy="{y:.1f}" r="{1.6 + 6.4 * (weight / largest) ** 0.5:.1f}"/>'
    most = max([*shares, 0.0]) or 1.0
    for i, row in centers:
        x, y = place(row)
        radius = _SMALLEST + (_MARGIN - _SMALLEST) * (shares[i] / most) ** 0.5 if i < len(shares) else _SMALLEST
        drawn += f'<circle class="dot k{i % COLOURS}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        drawn += f'<text class="label" x="{x:.1f}" y="{y + 7:.1f}">{i}</text>'
    return (
        f'<svg role="img" aria-labelledby="map-title map-desc" viewBox="0 0 {_WIDTH} {height}"><title id="map-title">'
        f'Map of the cluster centers</title><desc id="map-desc">{len(centers)} numbered cluster centers and {len(points)} public server '
        f"points, in two dimensions.</desc>{drawn}</svg>"
    )


def _drawable(row: Sequence[Any]) -> bool:
    return len(row) == 2 and all(finite(x) is not None for x in row)


def _scale(rows: Sequence[Sequence[float]]) -> tuple[Callable[[Sequence[float]], tuple[float, float]], int]:
    """Return the function from coordinates to places on the map, and the map's height: low where all lies on one line."""
    lows, highs = ([edge(row[axis] for row in rows) if rows else 0.0 for axis in (0, 1)] for edge in (min, max))
    spans = [high - low for low, high in zip(lows, highs, strict=True)]
    flat = spans[1] <= 1e-9 * max(spans[0], 1e-300)
    height = _LINE_HEIGHT if flat else _MAP_HEIGHT
    room = (_WIDTH - 2 * _MARGIN, height - 2 * _MARGIN)
    steps = [space / span for space, span in zip(room, spans, strict=True) if span > 0]
    step = min(steps[:1] if flat else steps, default=1.0)

    def place(row: Sequence[float]) -> tuple[float, float]:
        x, y = (step * (row[axis] - (lows[axis] + highs[axis]) / 2) for axis in (0, 1))
        return _WIDTH / 2 + x, height / 2 - y

    return place, height
