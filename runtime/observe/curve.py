"""Curves as inline SVG: a few lines over a common axis, with their values readable without a script."""

import html
import math
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 26, 30
# Distinguishable without red against green (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")

Points = Sequence[tuple[float, float]]


def curve(title: str, lines: Mapping[str, Points], *, unit: str = "", low: float | None = None) -> str:
    """Return one figure.

    Args:
        title: Above it.
        lines: By name; points in order of x.
        unit: Of the values.
        low: Lower end of the axis; that of the values where None.
    """
    points = [point for line in lines.values() for point in line if math.isfinite(point[1])]
    heading = f'<text x="{_LEFT}" y="16" class="title">{html.escape(title)}</text>'
    if not points:
        nothing = f'<text x="{_LEFT}" y="{_HEIGHT // 2}" class="tick">nothing yet</text>'
        return _svg(title, heading + nothing)
    x0, x1 = _ends([x for x, _ in points])
    y0, y1 = _ends([y for _, y in points])
    if low is not None:
        y0 = min(low, y0)
    parts = [heading]
    for tick in _ticks(y0, y1):
        y = _scale(tick, y0, y1, _HEIGHT - _BOTTOM, _TOP)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="tick" text-anchor="end">{tick:g}{unit}</text>')
    for tick in _ticks(x0, x1):
        x = _scale(tick, x0, x1, _LEFT, _WIDTH - _RIGHT)
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 10}" class="tick" text-anchor="middle">{tick:g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        if not line:
            continue
        place = " ".join(
            f"{_scale(x, x0, x1, _LEFT, _WIDTH - _RIGHT):.1f},{_scale(y, y0, y1, _HEIGHT - _BOTTOM, _TOP):.1f}"
            for x, y in line
            if math.isfinite(y)
        )
        colour = COLOURS[number % len(COLOURS)]
        label = f"<title>{html.escape(name)}</title>"
        parts.append(f'<polyline points="{place}" fill="none" stroke="{colour}" stroke-width="1.6">{label}</polyline>')
    return _svg(title, "".join(parts)) + _legend(lines)


def smooth(points: Points, half_width: int) -> list[tuple[float, float]]:
    """Return means over up to `2 * half_width + 1` neighbours, so that a noisy line can be read."""
    values = [y for _, y in points]
    smoothed = []
    for index, (x, _) in enumerate(points):
        window = values[max(0, index - half_width) : index + half_width + 1]
        smoothed.append((x, sum(window) / len(window)))
    return smoothed


def _svg(title: str, content: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def _legend(lines: Mapping[str, Points]) -> str:
    items = [
        f'<span><i style="background:{COLOURS[number % len(COLOURS)]}"></i>{html.escape(name)}</span>'
        for number, (name, line) in enumerate(lines.items())
        if line and len(lines) > 1
    ]
    return f'<p class="legend">{"".join(items)}</p>' if items else ""


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _scale(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (value - low) / (high - low) * (end - start)


def _ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round numbers between two ends, about as many as wanted."""
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]
