"""Sign, curvature and smoothness of expressions by the rules of disciplined convex programming; each fact keeps why.

Source: M. Grant, S. Boyd, Y. Ye, "Disciplined Convex Programming", 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.functions.table import Curvature, Function, Sign, functions
from optdsl.ir.nodes import Apply, Choose, Expr, Gather, Op, Reduce, Var, same
from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.evaluate import Evaluator
from optdsl.lower.tables import Table
from optdsl.rewrite.sets import bounds
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import undefined_value


@dataclass(frozen=True, eq=False)
class Facts:
    """`why` says in a sentence how the curvature came about; `guilty` is the node where it was lost; `parts` lead on."""

    sign: Sign
    curvature: Curvature
    smooth: bool = True
    why: str = ""
    guilty: Expr | None = None
    parts: Sequence[Facts] = field(default=())

    @property
    def convex(self) -> bool:
        return self.curvature in ("constant", "affine", "convex")

    @property
    def concave(self) -> bool:
        return self.curvature in ("constant", "affine", "concave")

    @property
    def affine(self) -> bool:
        return self.curvature in ("constant", "affine")

    def chain(self, depth: int = 0) -> list[str]:
        """The reasons from the root down to the leaves."""
        lines = ["  " * depth + self.why] if self.why else []
        for p in self.parts:
            lines += p.chain(depth + 1)
        return lines


def _negated(c: Curvature) -> Curvature:
    return {"convex": "concave", "concave": "convex"}.get(c, c)  # type: ignore[return-value]


def _sum(curvatures: Sequence[Curvature]) -> Curvature:
    kinds = {c for c in curvatures if c != "constant"}
    if not kinds:
        return "constant"
    kinds.discard("affine")
    if not kinds:
        return "affine"
    return kinds.pop() if len(kinds) == 1 else "unknown"


def sign_of(values: Any) -> Sign:
    flat = values.data if sp.issparse(values) else np.asarray(values)
    if flat.size == 0 or not np.any(flat):
        return 0
    if sp.issparse(values):
        return 1 if flat.min() >= 0 else -1 if flat.max() <= 0 else None
    return 1 if flat.min() >= 0 else -1 if flat.max() <= 0 else None


class Analysis:
    """Facts of one problem, remembered by node and table."""

    def __init__(self, problem: Problem, evaluator: Evaluator | None = None) -> None:
        self.problem = problem
        self.constants = evaluator or Evaluator(problem)
        self._memo: dict[tuple[Expr, Table], Facts] = {}
        self._signs: dict[str, Sign] = {}

    def objective(self) -> Facts | None:
        return None if self.problem.objective is None else self.facts(self.problem.objective.expr)

    def convex_row(self, c: Constraint) -> Facts:
        """Facts of left − right, turned so that `convex` means that the row is a convex constraint."""
        table = self.constants.open(c.scope)
        left, right = self.facts(c.left, table), self.facts(c.right, table)
        both = _sum([left.curvature, _negated(right.curvature)])
        if c.relation in (">=", ">>"):
            both = _negated(both)
        if c.relation in ("==", ">>", "<<") and both not in ("constant", "affine"):
            both = "unknown"
        guilty = left.guilty or right.guilty or (c.left if not left.affine else c.right)
        shown = {"==": "an equation is convex only when both sides are affine", "<=": "`<=` needs convex <= concave",
                 ">=": "`>=` needs concave >= convex"}.get(c.relation, "the semidefinite order needs affine sides")  # fmt: skip
        return Facts(None, both, left.smooth and right.smooth, shown, guilty if both == "unknown" or both == "concave" else None,
                     (left, right))  # fmt: skip

    def facts(self, node: Expr, table: Table | None = None) -> Facts:
        table = self.constants.root if table is None or not node.indices else table
        key = (node, table)
        if key not in self._memo:
            self._memo[key] = self._facts(node, table)
        return self._memo[key]

    def _facts(self, node: Expr, table: Table) -> Facts:
        if node.constant:
            return Facts(sign_of(self.constants(node, table)), "constant")
        match node:
            case Var():
                return Facts(self._variable_sign(node.name), "affine")
            case Op():
                return self._op(node, table)
            case Gather():
                return self.facts(node.base, table)
            case Choose():
                a, b = self.facts(node.then, table), self.facts(node.otherwise, table)
                curvature = _sum([a.curvature, b.curvature])
                return Facts(
                    a.sign if a.sign == b.sign else None,
                    curvature,
                    a.smooth and b.smooth,
                    "a choice between two",
                    None,
                    (a, b),
                )
            case Reduce():
                child = self.constants.open(node.scope, table)
                inner = self.facts(node.body, child)
                return self._composed(node, node.function, [inner], node.params, child)
            case Apply():
                return self._composed(
                    node, node.function, [self.facts(a, table) for a in node.args], node.params, table
                )
        return Facts(None, "unknown", False, "", node)

    def _variable_sign(self, name: str) -> Sign:
        if name not in self._signs:
            low, high = bounds(self.problem, self.problem.variables[name], self.constants)
            self._signs[name] = 1 if low.size and low.min() >= 0 else -1 if high.size and high.max() <= 0 else None
        return self._signs[name]

    def _op(self, node: Op, table: Table) -> Facts:
        parts = [self.facts(a, table) for a in node.args]
        smooth = all(p.smooth for p in parts)
        guilty = next((p.guilty for p in parts if p.guilty is not None), None)
        if node.op == "neg":
            (p,) = parts
            return Facts(None if p.sign is None else -p.sign, _negated(p.curvature), smooth, "", guilty, parts)
        if node.op in ("add", "sub"):
            a, b = parts
            other = b.sign if node.op == "add" else (None if b.sign is None else -b.sign)
            sign = a.sign if other in (a.sign, 0) else other if a.sign == 0 else None
            curvature = _sum([a.curvature, b.curvature if node.op == "add" else _negated(b.curvature)])
            lost = curvature == "unknown" and all(p.curvature != "unknown" for p in parts)
            why = "a sum of a convex and a concave part is neither" if lost else ""
            return Facts(sign, curvature, smooth, why, guilty or (node if curvature == "unknown" else None), parts)
        if node.op in ("mul", "div", "matmul"):
            return self._product(node, parts, smooth, guilty)
        return Facts(None, "unknown", smooth, f"`{node.op}` has no curvature", node, parts)

    def _product(self, node: Op, parts: Sequence[Facts], smooth: bool, guilty: Expr | None) -> Facts:
        a, b = parts
        sign = None if a.sign is None or b.sign is None else a.sign * b.sign
        left, right = node.args
        k = 1 if left.constant else 0
        if node.op == "div" and left.constant and not right.constant:
            return self._reciprocal(node, a, b, sign, smooth, parts)
        if left.constant or right.constant:
            scale, inner = parts[1 - k], parts[k]
            if inner.affine:
                return Facts(sign, inner.curvature, smooth, "", guilty, parts)
            if scale.sign is None:
                why = "a convex or concave part is multiplied by constants of both signs"
                return Facts(sign, "unknown", smooth, why, guilty or node, parts)
            curvature = inner.curvature if scale.sign >= 0 else _negated(inner.curvature)
            return Facts(sign, curvature, smooth, "", guilty, parts)
        if node.op == "div":
            return Facts(sign, "unknown", smooth, "a quotient of variables has no curvature", node, parts)
        if same(left, right) and a.affine and (node.op == "mul" or len(left.shape) == 1):
            return Facts(1, "convex", smooth, "a product of an affine part with itself is convex", None, parts)
        return Facts(
            sign, "unknown", smooth, "a product of variables is neither convex nor concave", guilty or node, parts
        )

    def _reciprocal(
        self, node: Op, scale: Facts, inner: Facts, sign: Sign, smooth: bool, parts: Sequence[Facts]
    ) -> Facts:
        """c / g: convex for c ≥ 0 and concave positive g."""
        if scale.sign in (0, 1) and inner.concave and inner.sign == 1:
            return Facts(1, "convex", smooth, "1/g with g concave and positive is convex", None, parts)
        return Facts(sign, "unknown", smooth, "a quotient has no curvature here", node, parts)

    def _composed(self, node: Apply | Reduce, name: str, parts: Sequence[Facts], params: Any, table: Table) -> Facts:
        f = functions()[name]
        self._check_positive(f, node, table)
        signs = [p.sign for p in parts]
        sign = f.sign(*signs)
        smooth = f.smooth and all(p.smooth for p in parts)
        if not f.smooth and all(p.curvature == "constant" for p in parts):
            smooth = True
        guilty = next((p.guilty for p in parts if p.guilty is not None), None)
        curvature = f.curvature_for(params)
        marks = f.monotone_for(signs)
        if name == "power":
            curvature, marks, sign = _power(float(params["p"]), signs[0], curvature)
        if name == "matrix_frac" and not self._definite(node, table):
            why = "matrix_frac needs a positive definite matrix"
            return Facts(sign, "unknown", smooth, why, guilty or node, parts)
        if name == "quad_form":
            return self._quad_form(node, parts, smooth, guilty)
        if (
            name in ("outer", "kron")
            and sum(p.curvature != "constant" for p in parts) == 1
            and all(p.affine for p in parts)
        ):
            return Facts(sign, "affine", smooth, "", None, parts)
        if curvature == "affine":
            found = _sum(
                [
                    p.curvature if m == "+" else _negated(p.curvature) if m == "-" else _rigid(p)
                    for p, m in zip(parts, _each(marks, parts), strict=True)
                ]
            )
            return Facts(sign, found, smooth, "", guilty, parts)
        if all(p.affine for p in parts) and curvature != "unknown":
            return Facts(sign, curvature, smooth, f"{name} of affine parts is {curvature}", None, parts)
        for wanted in ("convex", "concave"):
            if curvature == wanted and all(
                _keeps(p, m, wanted) for p, m in zip(parts, _each(marks, parts), strict=True)
            ):
                return Facts(sign, curvature, smooth, f"{name} keeps the curvature of its argument", guilty, parts)
        why = (
            f"{name} is neither convex nor concave"
            if curvature == "unknown"
            else (f"{name} is {curvature}, but its argument is {parts[0].curvature} where it would have to be affine")
        )
        return Facts(sign, "unknown", smooth, why, guilty or node, parts)

    def _check_positive(self, f: Function, node: Apply | Reduce, table: Table) -> None:
        """Constant arguments that must be positive are tested even where the others vary."""
        for k in f.positive:
            arg = node.children[k]
            if arg.constant and not np.all(np.asarray(self.constants(arg, table)) > 0):
                raise OptError(undefined_value(arg.span or node.span, f.name, "this argument must be positive"))

    def _definite(self, node: Apply | Reduce, table: Table) -> bool:
        """Whether a constant second argument is positive definite; a variable one is held to it by its domain."""
        P = node.children[1]
        if not P.constant:
            return True
        dense = np.asarray(self.constants(P, table), dtype=float)
        return bool(np.linalg.eigvalsh(0.5 * (dense + dense.swapaxes(-1, -2))).min() > 0)

    def _quad_form(self, node: Apply | Reduce, parts: Sequence[Facts], smooth: bool, guilty: Expr | None) -> Facts:
        assert isinstance(node, Apply)
        P = self.constants(node.args[1])
        dense = P.toarray() if sp.issparse(P) else np.asarray(P, dtype=float)
        values = np.linalg.eigvalsh(0.5 * (dense + dense.swapaxes(-1, -2)))
        scale = max(1e-300, float(np.abs(values).max()))
        if not parts[0].affine:
            return Facts(
                None, "unknown", smooth, "a quadratic form of a part that is not affine", guilty or node, parts
            )
        if values.min() >= -1e-10 * scale:
            return Facts(
                1, "convex", smooth, "a quadratic form with a positive semidefinite matrix is convex", None, parts
            )
        if values.max() <= 1e-10 * scale:
            return Facts(
                -1, "concave", smooth, "a quadratic form with a negative semidefinite matrix is concave", None, parts
            )
        why = f"the matrix has eigenvalues of both signs ({values.min():.3g} to {values.max():.3g})"
        return Facts(None, "unknown", smooth, why, node, parts)


def _each(marks: Sequence[str], parts: Sequence[Facts]) -> list[str]:
    return [marks[min(i, len(marks) - 1)] for i in range(len(parts))]


def _rigid(p: Facts) -> Curvature:
    return p.curvature if p.affine else "unknown"


def _keeps(p: Facts, mark: str, wanted: str) -> bool:
    if p.affine:
        return True
    same = p.curvature == wanted
    other = p.curvature == ("concave" if wanted == "convex" else "convex")
    return (mark == "+" and same) or (mark == "-" and other)


def _power(p: float, sign: Sign, curvature: Curvature) -> tuple[Curvature, Sequence[str], Sign]:
    """x^p by the sign of x: convex for even whole p, and on x ≥ 0 for p ≥ 1 or p < 0; concave there for 0 < p < 1."""
    whole = p == int(p)
    even = whole and int(p) % 2 == 0
    if p in (0.0, 1.0):
        return "affine", ["+"], sign
    if even and p > 0:
        return "convex", ["+" if sign in (0, 1) else "-" if sign == -1 else "="], 1
    if sign in (0, 1):
        if p > 1:
            return "convex", ["+"], 1
        if 0 < p < 1:
            return "concave", ["+"], 1
        return "convex", ["-"], 1
    if 0 < p < 1:
        return "concave", ["+"], 1
    return "unknown", ["="], None
