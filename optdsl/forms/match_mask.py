"""Recognising masks: one bool variable in an N:M pattern, with a linear objective that couples no entries."""

from __future__ import annotations

from functools import partial

import numpy as np

from optdsl.forms.answer import Answer, Solution
from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.mask import NM, Mask
from optdsl.ir.problem import Problem, Variable
from optdsl.lower.sparse import SparseAlgebra
from optdsl.lower.vector import Unsupported, Walk

FORMS = (Mask,)
PRIORITY = 10


def match(problem: Problem) -> list[Mask | Mismatch]:
    reasons = []
    patterned = [v for v in problem.variables.values() if v.within is not None and v.within.kind == "nm"]
    if len(problem.variables) != 1 or len(patterned) != 1:
        return [Mismatch(Mask.title, [Reason("there is not exactly one variable, in an nm(…) pattern")])]
    (v,) = patterned
    if v.kind != "bool":
        reasons.append(Reason(f"`{v.name}` is {v.kind}, not bool: that is a reconstruction, not a mask", v.span))
    if len(v.shape) != 2:
        reasons.append(Reason(f"`{v.name}` is not a matrix", v.span))
    if problem.constraints:
        reasons.append(Reason("there are constraints besides the pattern", problem.constraints[0].span))
    if problem.objective is None:
        reasons.append(Reason("there is no objective"))
    if reasons:
        return [Mismatch(Mask.title, reasons)]
    return [_form(problem, v)]


def _form(problem: Problem, v: Variable) -> Mask | Mismatch:
    assert problem.objective is not None and v.within is not None
    algebra = SparseAlgebra(problem, quadratic=False)
    try:
        objective = Walk(problem, algebra).vector(problem.objective.expr)
    except Unsupported as why:
        return Mismatch(Mask.title, [Reason(f"the objective is not linear in the mask: {why.reason}", why.node.span)])
    sign = 1.0 if problem.objective.maximise else -1.0
    scores = sign * np.bincount(objective.column, objective.value, minlength=algebra.columns).reshape(v.shape)
    p = v.within.params
    pattern = NM(int(p["N"]), int(p["M"]), bool(p["transposable"]), bool(p["exactly"]), int(p["axis"]))
    return Mask(scores=scores, pattern=pattern, back=partial(_back, v))


def _back(v: Variable, answer: Answer) -> Solution:
    return Solution({} if answer.point is None else {v.name: np.asarray(answer.point, dtype=float)})
