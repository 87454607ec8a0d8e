"""The additive terms of a scalar expression: Σ c_k e_k with known numbers c_k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.ir.nodes import Expr, Op
from optdsl.lower.evaluate import Evaluator


@dataclass(frozen=True, eq=False)
class Term:
    weight: float
    expr: Expr


def terms(e: Expr, evaluator: Evaluator, weight: float = 1.0) -> list[Term]:
    """Splits sums, differences, negations and products or quotients with scalar constants."""
    match e:
        case Op(op="add" | "sub") if all(not a.shape for a in e.args):
            second = weight if e.op == "add" else -weight
            return terms(e.args[0], evaluator, weight) + terms(e.args[1], evaluator, second)
        case Op(op="neg"):
            return terms(e.args[0], evaluator, -weight)
        case Op(op="mul") if not e.indices and (e.args[0].constant or e.args[1].constant):
            constant, rest = e.args if e.args[0].constant else e.args[::-1]
            if not constant.shape and not rest.constant:
                return terms(rest, evaluator, weight * float(np.asarray(evaluator(constant))))
        case Op(op="div") if not e.indices and e.args[1].constant and not e.args[1].shape and not e.args[0].constant:
            return terms(e.args[0], evaluator, weight / float(np.asarray(evaluator(e.args[1]))))
    return [Term(weight, e)]
