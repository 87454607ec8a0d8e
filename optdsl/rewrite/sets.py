"""Sets after `in` written as bounds, rows and auxiliary variables, for forms that know only those."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optdsl.ir import build
from optdsl.ir.nodes import Expr, Var
from optdsl.ir.problem import Constraint, Problem, SetSpec, Variable
from optdsl.ir.sets.table import Fresh, NeedsBounds, members, set_kinds
from optdsl.lower.evaluate import Evaluator
from optdsl.syntax.source import Span


@dataclass
class NotRows(Exception):
    """The set cannot be written as rows; `why` is a sentence."""

    variable: str
    why: str
    span: Span | None


def bounds(
    problem: Problem, v: Variable, evaluator: Evaluator | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simple bounds of a variable, from its declaration, its kind and its sets: two arrays of its shape (±inf)."""
    evaluator = evaluator or Evaluator(problem)
    low, high = np.full(v.shape, -np.inf), np.full(v.shape, np.inf)
    if v.kind == "bool":
        low, high = np.zeros(v.shape), np.ones(v.shape)
    if v.lower is not None:
        low = np.maximum(low, np.asarray(evaluator(v.lower), dtype=float))
    if v.upper is not None:
        high = np.minimum(high, np.asarray(evaluator(v.upper), dtype=float))
    for part in members(v.within):
        make = set_kinds()[part.kind].bounds
        if make is not None:
            a, b = make(v.shape, part.params)
            low, high = np.maximum(low, a), np.minimum(high, b)
    return low, high


def integral(v: Variable) -> bool:
    return v.kind in ("int", "bool") or any(set_kinds()[p.kind].integer for p in members(v.within))


def as_rows(problem: Problem, keep: frozenset[str] = frozenset()) -> Problem:
    """The problem without sets (those of variables in `keep` stay). Raises `NotRows` where a set has no rows."""
    if all(v.within is None or name in keep for name, v in problem.variables.items()):
        return problem
    variables = dict(problem.variables)
    rows: list[Constraint] = []
    evaluator = Evaluator(problem)
    for v in problem.variables.values():
        if v.within is None or v.name in keep:
            continue
        low, high = bounds(problem, v, evaluator)
        kind = "int" if v.kind != "bool" and integral(v) else v.kind
        variables[v.name] = replace(v, within=None, kind=kind, lower=build.const(low), upper=build.const(high))
        x = build.var(v.name, v.shape, v.axes, kind, v.span)
        for part in members(v.within):
            rows += _rows(v, x, part, low, high, variables)
    return replace(problem, variables=variables, constraints=[*problem.constraints, *rows])


def _rows(
    v: Variable,
    x: Expr,
    part: SetSpec,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    variables: dict[str, Variable],
) -> list[Constraint]:
    entry = set_kinds()[part.kind]
    if entry.rows is None:
        if entry.bounds is not None:
            return []
        raise NotRows(v.name, f"`{v.name}` lies in {part.kind}, which has no description by rows", part.span)

    def make(name: str, shape: tuple[int, ...], kind: str) -> Var:
        full = f"{v.name}#{name}"
        variables[full] = Variable(full, shape, (None,) * len(shape), kind)
        return build.var(full, shape, kind=kind)

    try:
        triples = entry.rows(x, part.params, Fresh(make, low, high))
    except NeedsBounds:
        why = f"`{v.name}` in {part.kind} becomes rows only with finite bounds: write `var {v.name} : real[…] in … >= -10 <= 10`"
        raise NotRows(v.name, why, part.span) from None
    return [
        Constraint(f"{v.name} in {part.kind}#{k}", None, relation, left, right, origin="set", span=part.span)
        for k, (relation, left, right) in enumerate(triples)
    ]
