"""What a report shows to people, before it is known where: a title, sentences, and tables of a bounded size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.report.model import ConstraintRow, Report
from optdsl.report.values import shown_label
from optdsl.run.progress import elapsed


@dataclass(frozen=True)
class Bounds:
    """What fits: rows of one table, rows of all tables of the solution together, of the constraints, characters of a
    matrix's row, tables of the solution."""

    rows: int = 12
    solution: int = 24
    constraints: int = 9
    width: int = 79
    tables: int = 6


ONE_SCREEN = Bounds()

#: Entries of a vector that are shown in a line.
IN_LINE = 8


@dataclass(frozen=True)
class Table:
    """`header` may be empty; the first column names its row; `more` says what was left out."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""


@dataclass(frozen=True)
class View:
    title: str
    subtitle: str
    objective: str
    solution: list[Table] = field(default_factory=list)
    constraints: Table | None = None
    checks: Table | None = None
    parts: Table | None = None
    notes: list[str] = field(default_factory=list)
    footer: str = ""


def view(report: Report, fits: Bounds = ONE_SCREEN) -> View:
    """The report within these bounds."""
    return View(
        title=visible(report.problem.title),
        subtitle=visible(_subtitle(report)),
        objective=_objective(report),
        solution=_solution(report, fits),
        constraints=_constraints(report, fits.constraints),
        checks=_checks(report),
        parts=_parts(report, fits.rows),
        notes=[visible(n) for n in report.notes],
        footer=_footer(report),
    )


def visible(text: str) -> str:
    """Text of a file as it may be shown: no character moves the cursor or changes a colour."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def number(value: float | None, digits: int = 6) -> str:
    """A number to so many digits; a dash where there is none; −0 is 0."""
    if value is None:
        return "–"
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    if value == 0:
        return "0"
    if isinstance(value, int | np.integer) or (math.isfinite(value) and value == int(value) and abs(value) < 1e9):
        return str(int(value))
    return f"{value:.{digits}g}"


def _subtitle(report: Report) -> str:
    sizes = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in report.problem.sizes.items())
    by = report.backend.name + (f" {report.backend.version}" if report.backend.version else "")
    item = f"{report.problem.item} · " if report.problem.item is not None else ""
    return f"{item}{report.dispatch.form}{': ' + sizes if sizes else ''} · solved by {by}"


def _objective(report: Report) -> str:
    if report.objective is None or report.problem.sense is None:
        return ""
    words = {"minimize": "minimum", "maximize": "maximum"}[report.problem.sense]
    name = words if report.verdict.kind == "optimal" else "objective"
    shown = f"{name} {number(report.objective, 10)}"
    if report.bound is not None and report.verdict.kind != "optimal" and math.isfinite(report.bound):
        shown += f"   proven bound {number(report.bound, 10)}"
    return shown


def _solution(report: Report, fits: Bounds) -> list[Table]:
    scalars = [(name, report[name].item()) for name, kept in report.solution.items() if not kept.shape]
    out = []
    count = min(len(report.solution) - len(scalars) + bool(scalars), fits.tables)
    rows = max(3, min(fits.rows, fits.solution // max(count, 1)))
    if scalars:
        shown = [(visible(name), number(value, 8)) for name, value in scalars[:rows]]
        out.append(Table("", (), shown, _left_out(len(scalars) - rows, "variable")))
    arrays = [name for name, kept in report.solution.items() if kept.shape]
    together, arrays = _together(report, arrays, fits)
    out += together
    out += [_array(report, name, rows, fits.width) for name in arrays[: fits.tables - len(out)]]
    hidden = arrays[fits.tables - bool(scalars) :]
    if hidden:
        out.append(Table("", (), (), "also found: " + ", ".join(visible(n) for n in hidden)))
    return out


def _together(report: Report, arrays: list[str], fits: Bounds) -> tuple[list[Table], list[str]]:
    """Vectors over the same labels side by side in one table, and the arrays that are left."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in arrays:
        if len(report.solution[name].shape) == 1:
            (one,) = report.labels(name)
            if one is not None and len(one) <= fits.solution:
                groups.setdefault(tuple(visible(shown_label(x)) for x in one), []).append(name)
    out, taken = [], set()
    for labels, names in groups.items():
        columns = [[visible(name), *(number(x) for x in report[name])] for name in names]
        widths = sum(max(map(len, c)) + 3 for c in columns) + max(map(len, labels), default=0)
        if len(names) > 1 and widths <= fits.width:
            header, *body = zip(*columns, strict=True)
            out.append(Table("", ("", *header), [(label, *row) for label, row in zip(labels, body, strict=True)]))
            taken.update(names)
    return out, [name for name in arrays if name not in taken]


def _array(report: Report, name: str, rows: int, width: int) -> Table:
    a = report[name]
    labels = [None if one is None else [visible(shown_label(x)) for x in one] for one in report.labels(name)]
    named = any(one is not None for one in labels)
    title = visible(name)
    if a.size == 0:
        return Table(f"{title} [{' × '.join(map(str, a.shape))}]", (), (), "empty")
    if a.ndim == 2 and a.shape[0] <= rows and a.shape[1] * 2 <= width:
        header = [title, *(_axis(labels[1], j) for j in range(a.shape[1]))]
        body = [[_axis(labels[0], i), *(number(x) for x in a[i])] for i in range(a.shape[0])]
        if sum(max(map(len, column)) + 3 for column in zip(header, *body, strict=True)) <= width:
            return Table(title, header, body)
    if a.ndim == 1 and not named:
        return Table(f"{title} [{a.size}]", (), [_line(a)], _statistics(a) if a.size > IN_LINE else "")
    if a.ndim == 1 and a.size <= rows:
        return Table(title, (), [[_axis(labels[0], i), number(a[i])] for i in range(a.size)])
    if named:
        return _entries(title, a, labels, rows)
    return Table(f"{title} [{' × '.join(map(str, a.shape))}]", (), (), _statistics(a))


def _axis(labels: list[str] | None, position: int) -> str:
    return str(position) if labels is None else labels[position]


def _line(a: NDArray[Any]) -> list[str]:
    if a.size <= IN_LINE:
        return [number(x) for x in a]
    return [*(number(x) for x in a[: IN_LINE - 2]), "…", number(a[-1])]


def _entries(title: str, a: NDArray[Any], labels: list[list[str] | None], rows: int) -> Table:
    """The entries that are not zero, by label, in order; the first of them where there are many."""
    flat = a.ravel()
    places = np.flatnonzero(np.abs(flat) > 1e-9 * max(1.0, float(np.nanmax(np.abs(flat), initial=0.0))))
    sparse = len(places) < flat.size
    shown = []
    for k in places[:rows]:
        at = np.unravel_index(k, a.shape)
        shown.append([", ".join(_axis(labels[d], int(i)) for d, i in enumerate(at)), number(flat[k])])
    more = _left_out(len(places) - rows, "entry", "entries")
    if sparse:
        more = "; ".join(x for x in (more, f"{flat.size - len(places):,} are zero") if x)
    return Table(f"{title} [{' × '.join(map(str, a.shape))}]", (), shown, more)


def _statistics(a: NDArray[Any]) -> str:
    if a.dtype == bool:
        return f"{int(a.sum()):,} of {a.size:,} are 1"
    zero = int(np.sum(a == 0))
    zeros = f", {zero:,} of {a.size:,} are zero" if zero else ""
    return f"from {number(a.min())} to {number(a.max())}, mean {number(a.mean())}{zeros}"


def _left_out(count: int, one: str, many: str | None = None) -> str:
    return "" if count <= 0 else f"and {count:,} more {one if count == 1 else many or one + 's'}"


def _constraints(report: Report, rows: int) -> Table | None:
    """Violated rows first, then those that the optimum leans on, then the rest in file order."""
    if not report.constraints:
        return None
    tolerance = report.tolerances.feasibility

    def weight(row: ConstraintRow) -> tuple[int, float]:
        if not row.violation <= tolerance:
            return 0, -row.violation
        if row.dual is not None and abs(row.dual) > 1e-9:
            return 1, 0.0
        return (2, 0.0) if row.slack is not None and abs(row.slack) <= tolerance else (3, 0.0)

    chosen = sorted(report.constraints, key=weight)[:rows]
    with_dual = any(row.dual is not None for row in chosen)
    header = ["", "violation", "slack", *(["dual"] if with_dual else [])]
    shown = []
    for row in chosen:
        name = visible(f"{row.name} {row.label}".strip())
        cells = [name, number(row.violation, 3), number(_quiet(row.slack, tolerance), 6)]
        shown.append([*cells, number(row.dual)] if with_dual else cells)
    total = sum(f.rows for f in report.families)
    violated = sum(f.violated for f in report.families)
    more = "; ".join(
        x for x in (_left_out(total - len(chosen), "row"), f"{violated:,} violated" if violated else "") if x
    )
    return Table("constraints", header, shown, more)


def _quiet(slack: float | None, tolerance: float) -> float | None:
    """Rounding is not shown as a slack."""
    return 0.0 if slack is not None and abs(slack) <= 1e-3 * tolerance else slack


def _checks(report: Report) -> Table | None:
    if not report.checks:
        return None
    rows = [
        ["✓" if c.holds else "✗", visible(c.name), f"{number(c.value, 3)} ≤ {number(c.tolerance, 3)}" if c.holds
         else f"{number(c.value, 3)} > {number(c.tolerance, 3)}", visible(c.meaning)]
        for c in report.checks
    ]  # fmt: skip
    return Table("checks", (), rows)


def _parts(report: Report, rows: int) -> Table | None:
    if not report.parts:
        return None
    shown = [
        [visible(p.problem.item or p.problem.title), p.verdict.kind, number(p.objective, 8)]
        for p in report.parts[:rows]
    ]
    return Table("items", ["", "verdict", "objective"], shown, _left_out(len(report.parts) - rows, "item"))


def _footer(report: Report) -> str:
    s = report.seconds
    parts = [(name, getattr(s, name)) for name in ("parse", "compile", "solve", "certify")]
    iterations = f"{report.iterations:,} iterations · " if report.iterations is not None else ""
    steps = ", ".join(f"{name} {elapsed(t)}" for name, t in parts)
    return f"{iterations}{elapsed(s.total)} ({steps}) · seed {report.seed}"
