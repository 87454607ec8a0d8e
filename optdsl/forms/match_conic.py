"""Recognising disciplined convex programs, and writing them for CVXPY: one constraint a family."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.forms.answer import Answer, Solution
from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.conic import Conic
from optdsl.forms.rows import difference
from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.cvxpy import CvxpyAlgebra
from optdsl.lower.vector import Unsupported, Walk
from optdsl.rewrite.sets import NotRows, as_rows, bounds, integral

FORMS = (Conic,)
PRIORITY = 50


def match(problem: Problem) -> list[Conic | Mismatch]:
    try:
        rows = as_rows(problem)
    except NotRows as why:
        return [Mismatch(Conic.title, [Reason(why.why, why.span)])]
    reasons = _reasons(rows)
    if reasons:
        return [Mismatch(Conic.title, reasons)]
    try:
        return [_form(problem, rows)]
    except Unsupported as why:
        return [Mismatch(Conic.title, [Reason(why.reason, why.node.span)])]


def _reasons(problem: Problem) -> list[Reason]:
    """Everything that keeps the problem from being disciplined and convex."""
    out = []
    for v in problem.variables.values():
        if integral(v):
            out.append(Reason(f"`{v.name}` is restricted to whole numbers", v.span))
        elif v.kind == "complex":
            out.append(Reason(f"`{v.name}` is complex", v.span))
    analysis = Analysis(problem)
    objective = analysis.objective()
    if objective is not None and problem.objective is not None:
        maximise = problem.objective.maximise
        if not (objective.concave if maximise else objective.convex):
            guilty = objective.guilty or problem.objective.expr
            wanted = "concave" if maximise else "convex"
            why = next((line.strip() for line in reversed(objective.chain()) if line.strip()), "")
            shown = f": {why}" if why else ""
            out.append(Reason(f"the objective is not {wanted} by the rules{shown}", guilty.span))
    for c in problem.constraints:
        if c.when is not None or c.complements is not None:
            out.append(Reason(f"{c.label} is an indicator or complementarity row", c.span))
            continue
        facts = analysis.convex_row(c)
        if not facts.convex:
            guilty = facts.guilty or c.left
            out.append(Reason(f"{c.label} is not a convex constraint: {facts.why}", guilty.span or c.span))
    return out


class _Writer:
    def __init__(self, problem: Problem) -> None:
        import cvxpy as cp

        self.cp, self.problem = cp, problem
        self.algebra = CvxpyAlgebra(problem)
        self.walk = Walk(problem, self.algebra)
        self.rows: dict[str, Any] = {}

    def constraint(self, c: Constraint) -> dict[str, Any]:
        """One CVXPY constraint a family, by its key; one a member in the semidefinite order."""
        d = difference(self.walk, c)
        v = self.walk.vector(d.node, d.table)
        if c.relation not in (">>", "<<"):
            return {c.key: v == 0 if c.relation == "==" else v <= 0 if c.relation == "<=" else v >= 0}
        n = d.node.shape[0]
        out = {}
        for r in range(d.rows):
            member = v if d.rows == 1 else v[r * n * n : (r + 1) * n * n]
            X = self.cp.reshape(member, (n, n), order="C")
            out[_member_key(c.key, r)] = X >> 0 if c.relation == ">>" else X << 0
        return out


def _member_key(key: str, row: int) -> str:
    return key if row == 0 else f"{key}#{row}"


def _form(original: Problem, problem: Problem) -> Conic:
    import cvxpy as cp

    w = _Writer(problem)
    objective = problem.objective
    maximise = objective is not None and objective.maximise
    expr = cp.Constant(0.0) if objective is None else cp.sum(w.walk.vector(objective.expr))
    rows = {key: row for c in problem.constraints for key, row in w.constraint(c).items()}
    for v in problem.variables.values():
        low, high = bounds(problem, v, w.walk.constants)
        if np.isfinite(low).any() or np.isfinite(high).any():
            flat = w.walk.variable(v.name)
            for key, values, side in (("lower", low.ravel(), 1), ("upper", high.ravel(), -1)):
                at = np.flatnonzero(np.isfinite(values))
                if len(at):
                    part = flat if len(at) == len(values) else flat[at]
                    rows[f"{key} bounds of {v.name}"] = part >= values[at] if side > 0 else part <= values[at]
    used = set(w.algebra.variables)
    for name in problem.variables:
        if name not in used:
            w.walk.variable(name)
    whole = cp.Problem(cp.Maximize(expr) if maximise else cp.Minimize(expr), list(rows.values()))
    return Conic(
        problem=whole,
        variables=w.algebra.variables,
        rows=rows,
        maximise=maximise,
        back=partial(_back, original, maximise),
    )


def _back(original: Problem, maximise: bool, answer: Answer) -> Solution:
    """Values by name; duals of the user's rows in the problem's own sense: change of the optimum per unit of right side.

    CVXPY's multiplier of `v <= 0` is ≥ 0 and tells how fast the minimum falls as the row is loosened.
    """
    values = (
        {}
        if answer.point is None
        else {
            name: np.asarray(answer.point[name], dtype=float).reshape(v.shape) for name, v in original.variables.items()
        }
    )
    sign = -1.0 if maximise else 1.0
    duals = {}
    for c in original.constraints:
        if f"row {c.key}" in answer.dual:
            flip = 1.0 if c.relation in (">=", ">>") else -1.0
            parts, r = [], 0
            while (key := f"row {_member_key(c.key, r)}") in answer.dual:
                parts.append(np.asarray(answer.dual[key], dtype=float).ravel())
                r += 1
            duals[c.key] = sign * flip * np.concatenate(parts)
    direction = None
    if "primal" in answer.ray:
        direction = {
            name: np.asarray(answer.ray[f"direction of {name}"], dtype=float).reshape(v.shape)
            for name, v in original.variables.items()
        }
    return Solution(values, duals, direction)
