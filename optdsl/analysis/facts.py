"""The facts of a problem as they are shown: (name, value, reasons)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optdsl.analysis.curvature import Analysis
from optdsl.analysis.terms import Term, terms
from optdsl.functions.table import Sign, functions
from optdsl.ir.nodes import Apply, Expr, Reduce
from optdsl.ir.problem import Objective, Problem
from optdsl.ir.sets.table import members, set_kinds
from optdsl.lower.sparse import SparseAlgebra
from optdsl.lower.vector import Unsupported, Walk
from optdsl.rewrite.sets import integral

Fact = tuple[str, Any, Sequence[str]]

#: Reasons and terms shown of one fact.
SHOWN = 12


def problem_facts(problem: Problem) -> list[Fact]:
    """Sizes, kinds and sets of the variables; sign, degree, curvature, smoothness and split of the objective; the rows."""
    out: list[Fact] = [("variables", int(sum(v.size for v in problem.variables.values())), _shapes(problem))]
    whole = [v.name for v in problem.variables.values() if integral(v)]
    if whole:
        out.append(("whole numbers", ", ".join(whole), []))
    for v in problem.variables.values():
        for part in members(v.within):
            kind = set_kinds()[part.kind]
            out.append((f"set of {v.name}", kind.group, [f"{part}: {kind.doc}"]))
    analysis = Analysis(problem)
    if problem.objective is not None:
        out += _objective(problem, problem.objective, analysis)
    if problem.constraints:
        out += _rows(problem, analysis)
    return out


def _shapes(problem: Problem) -> list[str]:
    return [
        f"{v.name} : {v.kind}"
        + (f"[{', '.join(a or str(s) for a, s in zip(v.axes, v.shape, strict=True))}]" if v.shape else "")
        for v in problem.variables.values()
    ]


def _objective(problem: Problem, objective: Objective, analysis: Analysis) -> list[Fact]:
    facts = analysis.facts(objective.expr)
    value, why = _degree(problem, objective.expr, analysis)
    out: list[Fact] = [
        ("sense", objective.sense, []),
        ("objective degree", value, why),
        ("objective curvature", facts.curvature, [line for line in facts.chain() if line.strip()][:SHOWN]),
        ("objective smooth", facts.smooth, []),
    ]
    if facts.sign is not None:
        out.append(("objective sign", _sign_words(facts.sign), []))
    parts = [t for t in terms(objective.expr, analysis.constants) if not t.expr.constant]
    if len(parts) > 1:
        smooth = sum(analysis.facts(t.expr).smooth for t in parts)
        split = f"{smooth} smooth, {len(parts) - smooth} nonsmooth"
        out.append(("objective terms", split, [_term(t, analysis) for t in parts[:SHOWN]]))
    return out


def _sign_words(sign: Sign) -> str:
    return {1: "never negative", -1: "never positive", 0: "zero"}[sign] if sign is not None else "not known"


def _degree(problem: Problem, expr: Expr, analysis: Analysis) -> tuple[str, list[str]]:
    """Affine, quadratic, or neither with the reason."""
    try:
        found = Walk(problem, SparseAlgebra(problem), analysis.constants).vector(expr)
    except Unsupported as why:
        return "neither affine nor quadratic", [why.reason]
    return ("quadratic" if found.terms else "affine"), []


def _term(t: Term, analysis: Analysis) -> str:
    """`0.2 · norm1(X): convex, not smooth, prox known`."""
    facts = analysis.facts(t.expr)
    text = " ".join(t.expr.span.text.split()) if t.expr.span is not None else repr(t.expr)
    lead = "" if t.weight == 1 else f"{t.weight:g} · "
    words: list[str] = [facts.curvature if facts.curvature != "unknown" else "neither convex nor concave"]
    words.append("smooth" if facts.smooth else "not smooth")
    name = t.expr.function if isinstance(t.expr, Apply | Reduce) else ""
    if not facts.smooth and name and functions()[name].prox is not None:
        words.append("prox known")
    return f"{lead}{text}: {', '.join(words)}"


def _rows(problem: Problem, analysis: Analysis) -> list[Fact]:
    rows = [(c, analysis.convex_row(c)) for c in problem.constraints]
    bad = [f"{c.label}: {f.why}" for c, f in rows if not f.convex]
    tables = [analysis.constants.open(c.scope).size for c, _ in rows]
    counted = sum(
        int(np.prod(c.left.shape or c.right.shape, dtype=int)) * size for (c, _), size in zip(rows, tables, strict=True)
    )
    return [
        ("rows", counted, [c.label for c, _ in rows][:SHOWN]),
        ("rows convex", not bad, bad),
    ]
