"""Rows of a problem lowered to a target: where each constraint starts, and the way of duals back to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.answer import Answer, Solution
from optdsl.ir import build
from optdsl.ir.nodes import Expr
from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.tables import Table
from optdsl.lower.vector import Walk


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one constraint: `start … start + count` of the form, over `table`."""

    constraint: Constraint
    table: Table
    start: int
    count: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Difference:
    """left − right of a constraint as one node, and the table it lives on."""

    constraint: Constraint
    node: Expr
    table: Table
    rows: int


def difference(walk: Walk, c: Constraint) -> Difference:
    """left − right; a zero right side adds nothing."""
    table = walk.constants.open(c.scope)
    node = build.op("sub", c.left, c.right, span=c.span)
    if c.right.constant and not c.right.shape and not c.right.indices and float(walk.constants(c.right)) == 0.0:
        node = c.left
    return Difference(c, node, table, walk.rows(node, table))


def variable_slices(problem: Problem) -> dict[str, slice]:
    out, at = {}, 0
    for v in problem.variables.values():
        out[v.name] = slice(at, at + v.size)
        at += v.size
    return out


def split_point(problem: Problem, original: Problem, x: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """A flat point as values by name, auxiliary variables left out."""
    slices = variable_slices(problem)
    return {name: np.array(x[slices[name]]).reshape(v.shape) for name, v in original.variables.items()}


def back_by_slices(
    problem: Problem, original: Problem, blocks: list[Block], maximise: bool, answer: Answer
) -> Solution:
    """Brings a flat answer back: values by name, duals by constraint key in the problem's own sense."""
    values = {} if answer.point is None else split_point(problem, original, np.asarray(answer.point))
    sign = -1.0 if maximise else 1.0
    duals = {}
    rows = answer.dual.get("rows")
    if rows is not None:
        known = {c.key for c in original.constraints}
        for b in blocks:
            if b.constraint.origin == "row" and b.constraint.key in known:
                duals[b.constraint.key] = sign * rows[b.start : b.start + b.count]
    bounds = answer.dual.get("bounds")
    if bounds is not None:
        slices = variable_slices(problem)
        for name, v in original.variables.items():
            duals[f"bounds of {name}"] = sign * bounds[slices[name]].reshape(v.shape)
    direction = None
    if "primal" in answer.ray:
        direction = split_point(problem, original, answer.ray["primal"])
    return Solution(values, duals, direction)


def row_name(evaluator: Evaluator, blocks: list[Block], row: int) -> str:
    """A row as people know it: its constraint's label with the bindings of its family."""
    for b in blocks:
        if b.start <= row < b.start + b.count:
            inner = int(np.prod(b.shape, dtype=int))
            at, inside = divmod(row - b.start, inner)
            where = evaluator.binding(b.table, at) if b.table.columns and b.count == b.table.size * inner else ""
            values = [part.split(" = ", 1)[1] for part in where.split(", ")] if where else []
            if inner > 1:
                values += [str(int(i)) for i in np.unravel_index(inside, b.shape)]
            return b.constraint.label + (f" [{', '.join(values)}]" if values else "")
    return f"row {row}"


def column_name(problem: Problem, column: int) -> str:
    """A variable's entry as people know it: its name with the labels along its axes."""
    for name, s in variable_slices(problem).items():
        if s.start <= column < s.stop:
            v = problem.variables[name]
            if not v.shape:
                return name
            at = np.unravel_index(column - s.start, v.shape)
            labels = problem.labels(v.axes, v.shape)
            shown = [str(int(i) if one is None else one[int(i)]) for i, one in zip(at, labels, strict=True)]
            return f"{name}[{', '.join(shown)}]"
    return f"variable {column}"
