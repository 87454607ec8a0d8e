"""Warnings: what is legal and probably wrong."""

from __future__ import annotations

from optdsl.ir.nodes import Expr
from optdsl.ir.problem import Problem
from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.diagnostics.warnings import row_without_variables, unused_data, unused_variable


def warnings(problem: Problem) -> list[Diagnostic]:
    """Variables and data that nothing uses, and rows that no variable enters."""
    used: set[str] = set()
    for e in _expressions(problem):
        used |= e.variables
    out = [
        unused_variable(v.span, v.name)
        for v in problem.variables.values()
        if v.name not in used and not problem.features
    ]
    out += [
        row_without_variables(c.span, c.label)
        for c in problem.constraints
        if not (c.left.variables | c.right.variables)
    ]
    if not problem.features:
        out += [
            unused_data(d.span, d.name)
            for d in problem.data.values()
            if d.name not in problem.mentioned and not d.is_param and d.span
        ]
    return [w for w in out if w.place is not None]


def _expressions(problem: Problem) -> list[Expr]:
    out = [] if problem.objective is None else [problem.objective.expr]
    for c in problem.constraints:
        out += [c.left, c.right]
        if c.when is not None:
            out.append(c.when)
        if c.scope is not None and c.scope.condition is not None:
            out.append(c.scope.condition)
    for v in problem.variables.values():
        out += [e for e in (v.lower, v.upper, v.start) if e is not None]
    return out
