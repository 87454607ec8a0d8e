"""A modulus of strong convexity: the smallest eigenvalue of the quadratic terms, where every other term is convex."""

from __future__ import annotations

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.analysis.terms import terms
from optdsl.ir.problem import Problem
from optdsl.lower.sparse import SparseAlgebra
from optdsl.lower.vector import Unsupported, Walk

LIMIT = 2000


def strong_convexity(problem: Problem, analysis: Analysis) -> float | None:
    """μ > 0 with ∇²f ⪰ μI on the whole space, or None. The eigenvalue is lowered by its rounding error."""
    assert problem.objective is not None
    algebra = SparseAlgebra(problem)
    n = algebra.columns
    if n == 0 or n > LIMIT:
        return None
    walk = Walk(problem, algebra, analysis.constants)
    H = np.zeros((n, n))
    for t in terms(problem.objective.expr, analysis.constants):
        if t.expr.constant:
            continue
        try:
            v = walk.vector(t.expr)
        except Unsupported:
            facts = analysis.facts(t.expr)
            if not (facts.convex if t.weight >= 0 else facts.concave):
                return None
            continue
        for q in v.terms:
            F = q.F.matrix(n)
            G = F if q.square else q.G.matrix(n)
            M = F.T @ (G.multiply(q.d[:, None]).tocsr())
            H += t.weight * (M + M.T).toarray()
    values = np.linalg.eigvalsh(H)
    mu = float(values[0] - 1e-13 * max(1.0, abs(values[-1])) * n)
    return mu if mu > 0 else None
