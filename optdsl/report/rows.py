"""Each constraint of a problem at a point, row by row: violation, slack, dual, and the label people know the row by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.tables import Table
from optdsl.report.model import ConstraintRow, Family

#: Families up to this many rows are listed in full, larger ones by their worst and tightest rows.
LISTED_IN_FULL = 200
LISTED_OF_LARGE = 20

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """One constraint: arrays of shape (rows,). `slack` is NaN for equations, `dual` absent where none is known; `label(k)` names row k."""

    name: str
    relation: str
    violation: Rows
    slack: Rows
    dual: Rows | None
    label: Callable[[int], str]


def measure(problem: Problem, values: Mapping[str, Any], duals: Mapping[str, Any]) -> list[MeasuredRows]:
    """Every constraint at the point `values`; `duals` by constraint key, one a row (or none)."""
    at = Evaluator(problem, values, strict=False)
    names = constraint_names(problem)
    return [_measure(at, c, names[c.key], duals.get(c.key)) for c in problem.constraints]


def constraint_names(problem: Problem) -> dict[str, str]:
    """What each constraint is called, by key: its name, or its key where the name is shared (`0 <= x <= 1` is two rows)."""
    named = [c.label for c in problem.constraints]
    return {c.key: c.label if named.count(c.label) == 1 else c.key for c in problem.constraints}


def _measure(at: Evaluator, c: Constraint, name: str, dual: Any) -> MeasuredRows:
    table = at.open(c.scope)
    if c.relation in (">>", "<<"):
        violation, slack = _semidefinite(_difference(at, c.left, c.right, table, c.relation == "<<"))
    else:
        violation, slack = _sides(c.relation, _difference(at, c.left, c.right, table, False))
    if c.complements is not None:
        relation, left, right = c.complements
        other, gap = _sides(relation, _difference(at, left, right, table, False))
        violation = np.maximum(np.maximum(violation, other), np.minimum(np.abs(slack), np.abs(gap)))
    if c.when is not None:
        rows = len(violation) // max(table.size, 1)
        on = np.broadcast_to(np.asarray(at(c.when, table), dtype=float).ravel(), (table.size,)).repeat(rows) > 0.5
        violation = np.where(on, violation, 0.0)
        slack = np.where(on, slack, np.inf)
    count = len(violation)
    known = None if dual is None or np.size(dual) != count else np.asarray(dual, dtype=float).ravel()
    return MeasuredRows(name, c.relation, violation, slack, known, _labels(at, table, count))


def _difference(at: Evaluator, left: Any, right: Any, table: Table, turned: bool) -> NDArray[np.float64]:
    """left − right with the table's rows as first axis where either side has indices."""
    sides = []
    shape = max(left.shape, right.shape, key=len)
    for node in (left, right):
        value = at(node, table)
        value = np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float)
        if not node.indices:
            value = value[None]
        sides.append(value.reshape(value.shape[0], *((1,) * (len(shape) - len(node.shape))), *value.shape[1:]))
    difference = sides[1] - sides[0] if turned else sides[0] - sides[1]
    return np.broadcast_to(difference, (table.size, *difference.shape[1:]))


def _sides(relation: str, d: NDArray[np.float64]) -> tuple[Rows, Rows]:
    flat = d.ravel()
    if relation == "==":
        return np.abs(flat), np.full(len(flat), np.nan)
    slack = flat if relation in (">=", ">") else -flat
    if relation in ("<", ">"):  # between whole numbers
        slack = slack - 1.0
    return np.where(np.isnan(slack), np.nan, np.maximum(-slack, 0.0)), slack


def _semidefinite(d: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """The smallest eigenvalue of each matrix is the slack."""
    least = np.array([np.linalg.eigvalsh((m + m.T) / 2)[0] if np.isfinite(m).all() else np.nan for m in d])
    return np.where(np.isnan(least), np.nan, np.maximum(-least, 0.0)), least


def _labels(at: Evaluator, table: Table, count: int) -> Callable[[int], str]:
    inner = count // max(table.size, 1)

    def label(k: int) -> str:
        outside = at.binding(table, k // inner) if table.columns else ""
        inside = f"[{k % inner}]" if inner > 1 else ""
        return f"{outside} {inside}".strip()

    return label


def summarise(measured: Iterable[MeasuredRows], tolerance: float) -> tuple[list[Family], list[ConstraintRow]]:
    """Counts of each family, and the rows to list: all of a small family; of a large one the most violated, the tightest
    and those with the largest duals."""
    families, rows = [], []
    for m in measured:
        size = len(m.violation)
        listed = np.arange(size) if size <= LISTED_IN_FULL else _worth_listing(m)
        families.append(
            Family(
                name=m.name,
                relation=m.relation,
                rows=size,
                shown=len(listed),
                violated=int(np.sum(~(m.violation <= tolerance))),
                tight=int(np.sum(np.abs(m.slack) <= tolerance)) if m.relation != "==" else size,
                worst=float(m.violation.max()) if size else 0.0,
            )
        )
        for k in map(int, listed):
            rows.append(
                ConstraintRow(
                    name=m.name,
                    label=m.label(k),
                    violation=float(m.violation[k]),
                    slack=None if m.relation == "==" else float(m.slack[k]),
                    dual=None if m.dual is None else float(m.dual[k]),
                )
            )
    return families, rows


def _worth_listing(m: MeasuredRows) -> NDArray[np.int64]:
    """Positions, in file order."""
    orders = [np.argsort(-np.nan_to_num(m.violation, nan=np.inf), kind="stable")]
    if m.relation != "==":
        orders.append(np.argsort(np.abs(m.slack), kind="stable"))
    if m.dual is not None:
        orders.append(np.argsort(-np.abs(m.dual), kind="stable"))
    share = LISTED_OF_LARGE // len(orders)
    return np.unique(np.concatenate([order[:share] for order in orders]))
