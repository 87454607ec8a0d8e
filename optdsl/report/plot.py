"""A convergence plot as inline SVG: the objective, and the residuals on a logarithmic axis, over the iterations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from optdsl.report.model import Report, TraceEvent
from optdsl.report.view import number, visible

WIDTH, HEIGHT = 400, 230
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 40, 34
SERIES = 5

#: Where the objective falls by more than this, relative to its end, its distance to the best is drawn instead.
WIDE_FALL = 100.0


@dataclass(frozen=True)
class Series:
    """Points (iteration, value), all finite."""

    name: str
    points: Sequence[tuple[float, float]]


def convergence(report: Report) -> list[str]:
    """The panels as SVG elements; none where the trace has fewer than two iterates."""
    out = []
    objective = _objective(report.trace)
    if len(objective.points) > 1:
        best = (max if report.problem.sense == "maximize" else min)(y for _, y in objective.points)
        fall = max(abs(y - best) for _, y in objective.points)
        if fall > WIDE_FALL * max(1.0, abs(best)):
            above = Series("distance", [(x, abs(y - best)) for x, y in objective.points if y != best])
            out.append(panel("objective, distance to the best", [above], log=True))
        else:
            out.append(panel("objective", [objective], log=False))
    residuals = [s for s in _residuals(report.trace) if len(s.points) > 1]
    if residuals:
        out.append(panel("residuals", residuals[:SERIES], log=True))
    return out


def _objective(trace: Sequence[TraceEvent]) -> Series:
    points = [(e.iteration, e.objective) for e in trace if e.objective is not None and math.isfinite(e.objective)]
    return Series("objective", points)


def _residuals(trace: Sequence[TraceEvent]) -> list[Series]:
    """Positive values only: a logarithmic axis has no place for others."""
    names = list(dict.fromkeys(name for e in trace for name in e.residuals))
    return [
        Series(name, [(e.iteration, v) for e in trace if math.isfinite(v := e.residuals.get(name, math.nan)) and v > 0])
        for name in names
    ]


def panel(title: str, series: Sequence[Series], log: bool) -> str:
    """One plot with axes, ticks and a legend where there is more than one line."""
    xs = [x for s in series for x, _ in s.points]
    ys = [y for s in series for _, y in s.points]
    x_ticks = _linear_ticks(min(xs), max(xs), 4, whole=True)
    y_ticks = _decades(min(ys), max(ys)) if log else _linear_ticks(min(ys), max(ys), 4)
    x_at = _scale(min(xs), max(xs), LEFT, WIDTH - RIGHT, False)
    low, high = min(*ys, *y_ticks), max(*ys, *y_ticks)
    y_at = _scale(low, high, HEIGHT - BOTTOM, TOP, log)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)} over the iterations">',
        f'<text class="head" x="{LEFT}" y="16">{escape(title)}</text>',
    ]
    for y in y_ticks:
        at = y_at(y)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{LEFT - 6}" y="{at + 4:.1f}">{_shown(y, log)}</text>')
    for x in x_ticks:
        anchor = "end" if x_at(x) > WIDTH - RIGHT - 12 else "middle"
        parts.append(
            f'<text class="tick" text-anchor="{anchor}" x="{x_at(x):.1f}" y="{HEIGHT - BOTTOM + 15}">{x:,.0f}</text>'
        )
    parts.append(f'<text class="tick" text-anchor="end" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}">iteration</text>')
    for k, s in enumerate(series):
        path = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in s.points)
        parts.append(f'<polyline class="s{k}" points="{path}"/>')
    if len(series) > 1:
        parts += _legend(series)
    return "".join([*parts, "</svg>"])


def _legend(series: Sequence[Series]) -> list[str]:
    parts, x = [], LEFT
    for k, s in enumerate(series):
        name = visible(s.name)
        parts.append(f'<line class="s{k}" x1="{x}" x2="{x + 14}" y1="28" y2="28"/>')
        parts.append(f'<text class="tick" x="{x + 18}" y="32">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    return parts


def _scale(low: float, high: float, start: float, end: float, log: bool) -> Callable[[float], float]:
    measure = math.log10 if log else float
    a, b = measure(low), measure(high)
    return lambda v: start + (end - start) * ((measure(v) - a) / (b - a) if b > a else 0.5)


def _linear_ticks(low: float, high: float, about: int, whole: bool = False) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside [low, high]; the ends where these are too few."""
    span = high - low
    if span <= 0 or not math.isfinite(span) or span < 1e-12 * max(abs(low), abs(high)):
        return [low]
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    if whole:
        step = max(1.0, round(step))
    first = math.ceil(low / step - 1e-9)
    ticks = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return ticks if len(ticks) > 1 else [low, high]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    first, last = max(first, -300), max(last, first + 1)
    every = max(1, math.ceil((last - first) / 5))
    return [10.0**k for k in range(first, last + every, every)]


def _shown(y: float, log: bool) -> str:
    return f"1e{round(math.log10(y))}" if log else number(y, 4)
