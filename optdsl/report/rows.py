"""Each constraint of a problem at a point, row by row: violation, slack, dual, and the label people know the row by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.problem import PointReport
from optdsl.ir.problem import Problem
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.tables import Table
from optdsl.report.model import ConstraintRow, Family

#: Families up to this many rows are listed in full, larger ones by their worst and tightest rows.
LISTED_IN_FULL = 200
LISTED_OF_LARGE = 20

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """One constraint: arrays of shape (rows,). `violation` is scaled as the certificate does, `dual` absent where none
    is known; `label(k)` names row k."""

    name: str
    relation: str
    violation: Rows
    slack: Rows
    dual: Rows | None
    label: Callable[[int], str]


def measured(problem: Problem, point: PointReport, duals: Mapping[str, Any]) -> list[MeasuredRows]:
    """Every constraint as the certificate saw it at the point; `duals` by constraint key, one a row where known."""
    names = constraint_names(problem)
    at = Evaluator(problem, {}, strict=False)
    out = []
    for row in point.rows:
        c = row.constraint
        count = len(row.violation)
        dual = duals.get(c.key)
        known = None if dual is None or np.size(dual) != count else np.asarray(dual, dtype=float).ravel()
        out.append(
            MeasuredRows(names[c.key], c.relation, row.violation, row.slack, known, _labels(at, row.table, count))
        )
    return out


def constraint_names(problem: Problem) -> dict[str, str]:
    """What each constraint is called, by key: its name, or the key where several share it (`0 <= x <= 1` is two)."""
    uses = Counter(c.label for c in problem.constraints)
    return {c.key: c.label if uses[c.label] == 1 else c.key for c in problem.constraints}


def _labels(at: Evaluator, table: Table | None, count: int) -> Callable[[int], str]:
    """Row k as people name it: the members of its sets, then its place inside a vector row."""
    inner = count // table.size if table is not None and table.size else count

    def label(k: int) -> str:
        parts = []
        if table is not None and inner:
            parts = [str(at.member(index, int(column[k // inner]))) for index, column in table.columns.items()]
        if inner > 1:
            parts.append(str(k % inner))
        return f"[{', '.join(parts)}]" if parts else ""

    return label


def summarise(measured: Iterable[MeasuredRows], tolerance: float) -> tuple[list[Family], list[ConstraintRow]]:
    """Counts of each family, and the rows to list: all of a small family; of a large one the most violated, the
    tightest and those with the largest duals."""
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
