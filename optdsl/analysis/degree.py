"""The degree of an expression as a polynomial in the variables, found without multiplying anything out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optdsl.functions.table import Function
from optdsl.ir.nodes import Apply, Expr, Shape
from optdsl.ir.problem import Problem
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.vector import Algebra, Unsupported, Walk


@dataclass(frozen=True)
class Polynomials:
    """n expressions of at most that degree."""

    n: int
    degree: int


class DegreeAlgebra(Algebra):
    """Vectors are lengths with a degree."""

    name = "degree"

    def variable(self, name: str, shape: Shape) -> Polynomials:
        return Polynomials(int(np.prod(shape, dtype=int)), 1)

    def constant(self, values: Any) -> Polynomials:
        return Polynomials(int(np.size(values)), 0)

    def length(self, v: Polynomials) -> int:
        return v.n

    def take(self, v: Polynomials, index: Any) -> Polynomials:
        return Polynomials(len(index), v.degree)

    def add(self, a: Polynomials, b: Polynomials) -> Polynomials:
        return Polynomials(a.n, max(a.degree, b.degree))

    def negate(self, a: Polynomials) -> Polynomials:
        return a

    def scale(self, a: Polynomials, c: Any) -> Polynomials:
        return a

    def product(self, a: Polynomials, b: Polynomials, node: Expr) -> Polynomials:
        return Polynomials(a.n, a.degree + b.degree)

    def linear(self, M: Any, a: Polynomials) -> Polynomials:
        return Polynomials(M.shape[0], a.degree)

    def times(self, M: Any, a: Polynomials, columns: int) -> Polynomials:
        return Polynomials(M.shape[0] * columns, a.degree)

    def matmul(self, a: Polynomials, sa: Shape, b: Polynomials, sb: Shape, rows: int, node: Expr) -> Polynomials:
        n = (sa[0] if len(sa) == 2 else 1) * (sb[1] if len(sb) == 2 else 1)
        return Polynomials(rows * n, a.degree + b.degree)

    def group(self, a: Polynomials, parent_row: Any, rows: int, width: int) -> Polynomials:
        return Polynomials(rows * width, a.degree)

    def concat(self, parts: Sequence[Polynomials]) -> Polynomials:
        return Polynomials(sum(p.n for p in parts), max(p.degree for p in parts))

    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Polynomials:
        powers = {"square": 2, "power": node.params.get("p", -1)}
        p = powers.get(f.name, -1)
        if p < 0 or p != int(p) or not isinstance(args[0], Polynomials):
            raise Unsupported(f"{f.name} of variables is no polynomial", node)
        return Polynomials(args[0].n, int(p) * args[0].degree)

    def reduction(self, f: Function, v: Polynomials, rows: int, width: int, node: Expr) -> Polynomials:
        if f.name not in ("sum_squares", "var"):
            raise Unsupported(f"{f.name} of variables is no polynomial", node)
        return Polynomials(rows, 2 * v.degree)

    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Polynomials:
        if f.name != "quad_form" or not isinstance(args[0], Polynomials) or isinstance(args[1], Polynomials):
            raise Unsupported(f"{f.name} of variables is no polynomial", node)
        return Polynomials(rows, 2 * args[0].degree)


def degree(problem: Problem, expr: Expr, constants: Evaluator) -> int | None:
    """An upper bound of the degree; None where the expression is no polynomial."""
    try:
        found = Walk(problem, DegreeAlgebra(), constants).vector(expr)
    except Unsupported:
        return None
    return int(found.degree)
