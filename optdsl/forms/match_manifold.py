"""Recognising minimisation over one manifold: smooth(X) + Σ hᵢ(Aᵢ X) with hᵢ convex and of known prox."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.analysis.degree import degree
from optdsl.analysis.terms import Term, terms
from optdsl.forms.answer import Answer, Solution
from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.manifold import CompositeOnManifold, ConvexTerm, LinearMap, SmoothOnManifold
from optdsl.forms.rows import split_point
from optdsl.functions.table import functions
from optdsl.ir import build
from optdsl.ir.nodes import Apply, Expr, Op, Reduce, Var
from optdsl.ir.problem import Problem
from optdsl.ir.sets.table import members, set_kinds
from optdsl.kernels.manifolds.base import Manifold
from optdsl.lower.quadratic import dense_quadratic
from optdsl.lower.sparse import SparseAlgebra
from optdsl.lower.torch import TorchFunction
from optdsl.lower.vector import Unsupported, Walk

FORMS = (SmoothOnManifold, CompositeOnManifold)
PRIORITY = 20


def match(problem: Problem) -> list[SmoothOnManifold | Mismatch]:
    found = _attempt(problem)
    if isinstance(found, list):
        return [Mismatch(f.title, found) for f in FORMS]
    if isinstance(found, CompositeOnManifold):
        return [found, Mismatch(SmoothOnManifold.title, [Reason("the objective has nonsmooth terms")])]
    return [found, Mismatch(CompositeOnManifold.title, [Reason("the objective has no nonsmooth term")])]


def _attempt(problem: Problem) -> SmoothOnManifold | list[Reason]:
    reasons = []
    on = [
        v for v in problem.variables.values() if any(set_kinds()[p.kind].group == "manifold" for p in members(v.within))
    ]
    if not on:
        return [Reason("no variable is on a manifold")]
    for v in problem.variables.values():
        if v not in on and v.within is not None:
            reasons.append(Reason(f"`{v.name}` is in a set that is no manifold", v.span))
        if v.within is not None and v.within.kind == "&":
            reasons.append(Reason("the manifold is intersected with another set", v.span))
        if v.lower is not None or v.upper is not None or v.kind != "real":
            reasons.append(Reason(f"`{v.name}` has bounds or is not real", v.span))
    if problem.constraints:
        reasons.append(Reason("there are constraints besides the manifold", problem.constraints[0].span))
    if problem.objective is None:
        reasons.append(Reason("there is no objective"))
    if reasons:
        return reasons
    return _split(problem)


def _manifold(problem: Problem) -> Manifold:
    """That of the one variable, or the product over all of them; a variable without a set is a Euclidean factor."""
    from optdsl.kernels.manifolds import MANIFOLDS, Euclidean, Product

    factors: list[Manifold] = [
        Euclidean(v.shape) if v.within is None else MANIFOLDS[v.within.kind](v.shape, **dict(v.within.params))
        for v in problem.variables.values()
    ]
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _start(problem: Problem, manifold: Manifold, analysis: Analysis) -> Any:
    """The declared start, where every variable has one."""
    parts = []
    for v in problem.variables.values():
        if v.start is None:
            return None
        parts.append(np.broadcast_to(np.asarray(analysis.constants(v.start), dtype=float), v.shape).ravel())
    return np.concatenate(parts).reshape(manifold.shape)


def _split(problem: Problem) -> SmoothOnManifold | list[Reason]:
    assert problem.objective is not None
    manifold = _manifold(problem)
    sign = -1.0 if problem.objective.maximise else 1.0
    analysis = Analysis(problem)
    smooth: list[Term] = []
    nonsmooth: list[ConvexTerm] = []
    for t in terms(problem.objective.expr, analysis.constants, sign):
        facts = analysis.facts(t.expr)
        if facts.smooth or facts.curvature == "constant":
            smooth.append(t)
            continue
        found = _convex_term(problem, manifold.shape, t, analysis)
        if isinstance(found, Reason):
            return [found]
        nonsmooth.append(found)
    expr: Expr = build.const(0.0)
    for t in smooth:
        expr = build.add(expr, build.mul(build.const(t.weight), t.expr))
    f = TorchFunction(problem, expr)
    shape = manifold.shape

    def flat(g: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: np.asarray(g(*(np.ravel(a) for a in arrays))).reshape(shape)

    try:
        f.value(np.ravel(manifold.random(np.random.default_rng(0))))
    except Unsupported as why:
        return [Reason(why.reason, why.node.span)]
    of_degree = degree(problem, expr, analysis.constants)
    dense = dense_quadratic(f, shape) if of_degree is not None and of_degree <= 2 else None
    if dense is not None:
        smooth_part = {"f": dense.value, "egrad": dense.grad, "ehvp": dense.hvp}
    else:
        smooth_part = {"f": lambda X: f.value(np.ravel(X)), "egrad": flat(f.grad), "ehvp": flat(f.hvp)}
    common: dict[str, Any] = smooth_part | {
        "manifold": manifold,
        "x0": _start(problem, manifold, analysis),
        "back": partial(_back, problem),
    }
    if not nonsmooth:
        return SmoothOnManifold(**common)
    return CompositeOnManifold(terms=nonsmooth, **common)


def _convex_term(problem: Problem, of: tuple[int, ...], t: Term, analysis: Analysis) -> ConvexTerm | Reason:
    """weight · h(A X − b) for a table function h with a prox and an affine argument."""
    from optdsl.kernels.prox import Shifted, make_prox

    e, span = t.expr, t.expr.span
    inner, name, rows, axis = _function_and_argument(e)
    if name is None or inner is None:
        return Reason("a nonsmooth term is no function with a known prox of a linear expression", span)
    if t.weight < 0:
        return Reason(f"the nonsmooth term {name} enters with a negative weight, so it is not convex", span)
    algebra = SparseAlgebra(problem, quadratic=False)
    walk = Walk(problem, algebra, analysis.constants)
    table = walk.constants.root if rows is None else walk.constants.open(rows)
    try:
        image = walk.vector(inner, table)
    except Unsupported:
        return Reason(f"{name} acts on an expression that is not linear; that needs RO2NC's form", span)
    count = walk.rows(inner, table)
    shape = (count, *inner.shape) if rows is not None else inner.shape
    h = make_prox(name, t.weight, shape, axis, _params(e))
    if h is None:
        return Reason(f"no prox of {name} is known", span)
    if np.any(image.constant):
        h = Shifted(h, -image.constant.reshape(shape))
    identity = isinstance(inner, Var) and len(problem.variables) == 1
    if identity:
        A = LinearMap(shape=of, image=of, apply=lambda X: X, adjoint=lambda Y: Y, identity=True)
        return ConvexTerm(h=h, A=A, text=name)
    M = image.matrix(algebra.columns)
    MT = M.T.tocsr()
    A = LinearMap(
        shape=of, image=shape, apply=lambda X: (M @ np.ravel(X)).reshape(shape),
        adjoint=lambda Y: (MT @ np.ravel(Y)).reshape(of),
    )  # fmt: skip
    return ConvexTerm(h=h, A=A, text=name)


def _function_and_argument(e: Expr) -> tuple[Expr | None, str | None, Any, int | None]:
    """(argument, function, scope, axis) of h(…): `norm1(M)`, `sum(abs(M))`, `sum(norm2(M, axis=1))`, sums over families."""
    match e:
        case Apply(function="sum", args=(Apply() as inner,)) if e.axis is None:
            f = functions()[inner.function]
            if f.kind == "elementwise" and len(inner.args) == 1:
                return inner.args[0], f"sum {inner.function}", None, None
            if f.kind == "reduction" and inner.axis is not None:
                return inner.args[0], f"sum {inner.function}", None, inner.axis
        case Apply() if e.axis is None and len(e.args) == 1:
            return e.args[0], e.function, None, None
        case Reduce(function="sum", body=Apply() as inner) if len(inner.args) == 1:
            f = functions()[inner.function]
            if f.kind == "elementwise" and not inner.shape:
                return inner.args[0], f"sum {inner.function}", e.scope, None
            if f.kind == "reduction" and inner.axis is None and len(inner.args[0].shape) == 1:
                return inner.args[0], f"sum {inner.function}", e.scope, 1
        case Op():
            return None, None, None, None
    return None, None, None, None


def _params(e: Expr) -> dict[str, Any]:
    """Keyword parameters of the function inside a sum, or of the function itself."""
    inner = e.body if isinstance(e, Reduce) else e.args[0] if isinstance(e, Apply) and e.function == "sum" else e
    return dict(getattr(inner, "params", {}))


def _back(problem: Problem, answer: Answer) -> Solution:
    if answer.point is None:
        return Solution({})
    return Solution(split_point(problem, problem, np.ravel(answer.point)))
