"""Recognising smooth nonlinear programs, with CasADi expressions; nonsmooth convex parts become rows where they can."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.nonlinear import Nonlinear
from optdsl.forms.rows import Block, back_by_slices, difference
from optdsl.ir import build
from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.casadi import CasadiAlgebra
from optdsl.lower.vector import Unsupported, Walk
from optdsl.rewrite.epigraph import linearise
from optdsl.rewrite.sets import NotRows, as_rows, bounds, integral

if TYPE_CHECKING:
    import casadi as ca

FORMS = (Nonlinear,)
PRIORITY = 60


def match(problem: Problem) -> list[Nonlinear | Mismatch]:
    try:
        rows = as_rows(problem)
    except NotRows as why:
        return [Mismatch(Nonlinear.title, [Reason(why.why, why.span)])]
    reasons = _nonsmooth(rows)
    if reasons:
        rewritten = linearise(rows)
        if rewritten is None or _nonsmooth(rewritten):
            return [Mismatch(Nonlinear.title, reasons)]
        rows = rewritten
    try:
        return [_form(problem, rows)]
    except Unsupported as why:
        return [Mismatch(Nonlinear.title, [Reason(why.reason, why.node.span)])]


def _nonsmooth(problem: Problem) -> list[Reason]:
    analysis = Analysis(problem)
    out = []
    facts = analysis.objective()
    if facts is not None and not facts.smooth:
        out.append(Reason("the objective is not smooth", problem.objective.span if problem.objective else None))
    for c in problem.constraints:
        if c.relation in (">>", "<<"):
            out.append(Reason(f"{c.label} is a semidefinite constraint", c.span))
        elif c.when is not None:
            out.append(Reason(f"{c.label} is an indicator row", c.span))
        elif not analysis.convex_row(c).smooth:
            out.append(Reason(f"{c.label} is not smooth", c.span))
    if any(v.kind == "complex" for v in problem.variables.values()):
        out.append(Reason("a variable is complex"))
    return out


def _convex(problem: Problem) -> bool | None:
    """True where the rules prove it; otherwise not known."""
    analysis = Analysis(problem)
    facts = analysis.objective()
    good = facts is None or (facts.concave if problem.objective and problem.objective.maximise else facts.convex)
    rows = all(c.complements is None and analysis.convex_row(c).convex for c in problem.constraints)
    return True if good and rows else None


def _form(original: Problem, problem: Problem) -> Nonlinear:
    import casadi as ca

    algebra = CasadiAlgebra(problem)
    walk = Walk(problem, algebra)
    objective = problem.objective
    maximise = objective is not None and objective.maximise
    f = ca.MX(0) if objective is None else walk.vector(objective.expr)
    parts, lows, highs = [], [], []
    blocks: list[Block] = []
    at = 0

    def append(v: ca.MX, relation: str) -> None:
        nonlocal at
        n = int(v.shape[0])
        parts.append(v)
        lows.append(np.zeros(n) if relation in ("==", ">=") else np.full(n, -np.inf))
        highs.append(np.zeros(n) if relation in ("==", "<=") else np.full(n, np.inf))
        at += n

    for c in problem.constraints:
        d = difference(walk, c)
        v = walk.vector(d.node, d.table)
        append(v, c.relation)
        if c.complements is None:
            blocks.append(Block(c, d.table, at - int(v.shape[0]), int(v.shape[0]), d.node.shape))
        else:
            append(_product(walk, c), "<=")
    pairs = [bounds(problem, v, walk.constants) for v in problem.variables.values()]
    flat = np.concatenate
    lower = flat([a.ravel() for a, _ in pairs]) if pairs else np.zeros(0)
    upper = flat([b.ravel() for _, b in pairs]) if pairs else np.zeros(0)
    return Nonlinear(
        x=algebra.x,
        f=-f if maximise else f,
        g=ca.vertcat(*parts) if parts else ca.MX(0, 1),
        row_lower=flat(lows) if lows else np.zeros(0),
        row_upper=flat(highs) if highs else np.zeros(0),
        lower=lower,
        upper=upper,
        integer=flat([np.full(v.size, integral(v)) for v in problem.variables.values()]),
        start=start_point(problem, walk, lower, upper),
        convex=_convex(problem),
        back=partial(back_by_slices, problem, original, blocks, maximise),
    )


def _product(walk: Walk, c: Constraint) -> ca.MX:
    """p q ≤ 0 beside p, q ≥ 0."""
    assert c.complements is not None
    table = walk.constants.open(c.scope)
    return walk.vector(build.op("mul", c.left, c.complements[1], span=c.span), table)


def start_point(problem: Problem, walk: Walk, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Declared starts; elsewhere the point of the bounds nearest to 1/10, so that no derivative is lost at 0."""
    parts = []
    for v in problem.variables.values():
        value = np.nan if v.start is None else np.asarray(walk.constants(v.start), dtype=float)
        parts.append(np.broadcast_to(value, v.shape).ravel())
    start = np.concatenate(parts) if parts else np.zeros(0)
    inside = np.clip(np.full(len(start), 0.1), lower, upper)
    return np.where(np.isnan(start), inside, start)
