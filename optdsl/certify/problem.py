"""A point against the problem as the user wrote it: objective, every row, every set, by NumPy from the IR alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.ir.nodes import Expr
from optdsl.ir.problem import Constraint, Problem
from optdsl.ir.sets.table import violation as set_violation
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.tables import Table
from optdsl.rewrite.sets import bounds, integral

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class RowReport:
    """`violation` (scaled) and `slack` (signed distance to the side, ≥ 0 inside; 0 for equations) of each row."""

    constraint: Constraint
    table: Table | None
    violation: Array
    slack: Array


@dataclass(frozen=True)
class PointReport:
    """`unit` is what counts as 1 in the objective: 1, or less where the objective moves by less over a step of the size
    of the point, so that a problem in small units is held to as many digits as one in large units."""

    objective: float | None
    violation: float
    rows: list[RowReport] = field(default_factory=list)
    sets: dict[str, float] = field(default_factory=dict)
    finite: bool = True
    unit: float = 1.0


def examine(problem: Problem, values: Mapping[str, Array]) -> PointReport:
    """Recomputes everything at a point. A row `l ≤ r` may be off by tolerance · (1 + max(|l|, |r|))."""
    if any(not np.isfinite(np.asarray(v, dtype=float)).all() for v in values.values()):
        return PointReport(None, float("nan"), finite=False)
    evaluator = Evaluator(problem, values, strict=False)
    with np.errstate(all="ignore"):
        objective = None if problem.objective is None else float(np.asarray(evaluator(problem.objective.expr)))
        rows = [_row(evaluator, c) for c in problem.constraints]
        unit = _unit(problem, values, objective)
        sets = {
            v.name: _membership(problem, evaluator, v.name, np.asarray(values[v.name]))
            for v in problem.variables.values()
        }
    worst = [float(np.max(r.violation, initial=0.0)) for r in rows] + list(sets.values())
    return PointReport(
        objective, max((w if w == w else float("inf") for w in worst), default=0.0), rows, sets, unit=unit
    )


def _unit(problem: Problem, values: Mapping[str, Array], objective: float | None) -> float:
    """min(1, the largest change of the objective over three seeded steps of the size of the point)."""
    if problem.objective is None or objective is None or not np.isfinite(objective):
        return 1.0
    rng = np.random.default_rng(0)
    largest = 0.0
    for length in (1.0, 0.3, 0.1):
        moved = {}
        for name in problem.objective.expr.variables:
            x = np.asarray(values[name], dtype=float)
            moved[name] = x + length * (1.0 + np.abs(x)) * rng.standard_normal(x.shape)
        there = float(np.asarray(Evaluator(problem, {**values, **moved}, strict=False)(problem.objective.expr)))
        if np.isfinite(there):
            largest = max(largest, abs(there - objective))
    return min(1.0, largest) if largest > 0 else 1.0


def _side(evaluator: Evaluator, node: Expr, table: Table, rows: int, shape: tuple[int, ...]) -> Array:
    value = np.asarray(evaluator.dense(v, node) if hasattr(v := evaluator(node, table), "toarray") else v, dtype=float)
    if node.indices and not node.shape and shape:
        value = value.reshape(value.shape[:1] + (1,) * len(shape))
    return np.broadcast_to(value, (rows, *shape))


def _row(evaluator: Evaluator, c: Constraint) -> RowReport:
    table = evaluator.open(c.scope)
    varies = bool(c.left.indices or c.right.indices or (c.when is not None and c.when.indices))
    rows = table.size if varies else 1
    shape = c.left.shape or c.right.shape
    left, right = (_side(evaluator, e, table, rows, shape) for e in (c.left, c.right))
    if c.relation in (">>", "<<"):
        return _semidefinite(c, left, right)
    gap = right - left if c.relation == "<=" else left - right
    scale = 1.0 + np.maximum(np.abs(left), np.abs(right))
    violation = np.abs(gap) / scale if c.relation == "==" else np.maximum(-gap, 0.0) / scale
    slack = np.zeros_like(gap) if c.relation == "==" else gap
    if c.when is not None:
        active = np.broadcast_to(np.asarray(evaluator(c.when, table), dtype=float), (rows,)) > 0.5
        keep = active.reshape((-1,) + (1,) * len(shape))
        violation, slack = np.where(keep, violation, 0.0), np.where(keep, slack, np.inf)
    if c.complements is not None:
        other = _side(evaluator, c.complements[1], table, rows, shape)
        violation = np.maximum(
            violation, np.minimum(np.abs(gap), np.abs(other)) / (1.0 + np.maximum(np.abs(gap), np.abs(other)))
        )
    violation = np.where(np.isnan(violation), np.inf, violation)
    return RowReport(c, table if varies else None, violation.ravel(), slack.ravel())


def _semidefinite(c: Constraint, left: Array, right: Array) -> RowReport:
    D = left - right if c.relation == ">>" else right - left
    S = 0.5 * (D + D.swapaxes(-1, -2))
    least = np.linalg.eigvalsh(S)[..., 0]
    scale = 1.0 + np.linalg.norm(S, axis=(-2, -1))
    asymmetry = np.abs(D - D.swapaxes(-1, -2)).max(axis=(-2, -1))
    return RowReport(c, None, np.maximum(np.maximum(-least, asymmetry), 0.0) / scale, least)


def _membership(problem: Problem, evaluator: Evaluator, name: str, x: Array) -> float:
    """The worst of bounds, whole numbers and the set after `in`."""
    v = problem.variables[name]
    low, high = bounds(problem, v)
    scale = 1.0 + np.abs(x)
    worst = float(np.max(np.maximum(low - x, x - high) / scale, initial=0.0))
    if integral(v):
        worst = max(worst, float(np.max(np.abs(x - np.round(x)), initial=0.0)))
    return max(worst, set_violation(v.within, x))
