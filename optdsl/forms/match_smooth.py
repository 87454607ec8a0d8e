"""Recognising smooth unconstrained minimisation; derivatives by torch."""

from __future__ import annotations

from functools import partial

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.analysis.strong import strong_convexity
from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.rows import back_by_slices
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.ir import build
from optdsl.ir.problem import Objective, Problem
from optdsl.lower.torch import TorchFunction
from optdsl.lower.vector import Unsupported

FORMS = (SmoothUnconstrained,)
PRIORITY = 40
HESSIAN_LIMIT = 2000


def match(problem: Problem) -> list[SmoothUnconstrained | Mismatch]:
    reasons = []
    if problem.objective is None:
        reasons.append(Reason("there is no objective"))
    if problem.constraints:
        reasons.append(Reason("there are constraints", problem.constraints[0].span))
    for v in problem.variables.values():
        if v.kind != "real":
            reasons.append(Reason(f"`{v.name}` is not real", v.span))
        elif v.within is not None or v.lower is not None or v.upper is not None:
            reasons.append(Reason(f"`{v.name}` is restricted to a set or by bounds", v.span))
    analysis = Analysis(problem)
    facts = analysis.objective()
    if facts is not None and not facts.smooth:
        reasons.append(Reason("the objective is not smooth", problem.objective.span if problem.objective else None))
    if reasons:
        return [Mismatch(SmoothUnconstrained.title, reasons)]
    assert problem.objective is not None and facts is not None
    sense = problem.objective
    expr = build.op("neg", sense.expr) if sense.maximise else sense.expr
    f = TorchFunction(problem, expr)
    x0 = _start(problem, analysis)
    try:
        f.value(x0)
    except Unsupported as why:
        return [Mismatch(SmoothUnconstrained.title, [Reason(why.reason, why.node.span)])]
    convex = facts.concave if sense.maximise else facts.convex
    minimised = Problem(**{**problem.__dict__, "objective": Objective("minimize", expr, sense.span)})
    return [
        SmoothUnconstrained(
            f=f.value, grad=f.grad, value_and_grad=f.value_and_grad, hvp=f.hvp, x0=x0,
            hess=f.hess if len(x0) <= HESSIAN_LIMIT else None,
            convex=True if convex else None,
            strong_convexity=strong_convexity(minimised, analysis) if convex else None,
            back=partial(back_by_slices, problem, problem, [], sense.maximise),
        )
    ]  # fmt: skip


def _start(problem: Problem, analysis: Analysis) -> np.ndarray:
    parts = []
    for v in problem.variables.values():
        value = 0.0 if v.start is None else np.asarray(analysis.constants(v.start), dtype=float)
        parts.append(np.broadcast_to(value, v.shape).ravel())
    return np.array(np.concatenate(parts), dtype=float)
