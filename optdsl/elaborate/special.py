"""Functions that are forms of speech rather than entries of the table: neighbours and ends of ordered sets, sizes, arrays of
constants, expectations, and shorthands made of other functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from optdsl.ir import build
from optdsl.ir.nodes import Expectation, Expr, Shifted, Sliced
from optdsl.ir.problem import IntSet, LabelSet
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import too_large, wrong_arguments

if TYPE_CHECKING:
    from optdsl.elaborate.expressions import Expressions

Local = dict[str, Expr]

#: Entries of an array made by zeros, ones or eye.
LARGEST = 100_000_000


def _one(self: Expressions, node: ast.Call, count: int = 1) -> None:
    if len(node.args) != count or node.kwargs:
        name = node.func.id if isinstance(node.func, ast.Name) else "function"
        raise OptError(wrong_arguments(node.span, name, f"takes {count} argument{'s' * (count != 1)}"))


def _neighbour(by: int) -> Callable[[Expressions, ast.Call, Local], Expr]:
    def make(self: Expressions, node: ast.Call, local: Local) -> Expr:
        _one(self, node)
        base = self.expr(node.args[0], local)
        if not base.kind.startswith("label:"):
            hint = "with whole numbers write t - 1 or t + 1"
            raise OptError(
                wrong_arguments(node.span, "prev" if by < 0 else "next", "takes a member of a set of labels", hint)
            )
        return Shifted(base=base, by=by, kind=base.kind, span=node.span, indices=base.indices)

    return make


def _end(last: bool) -> Callable[[Expressions, ast.Call, Local], Expr]:
    def make(self: Expressions, node: ast.Call, local: Local) -> Expr:
        _one(self, node)
        name = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
        s = self.scope.sets.get(name)
        if isinstance(s, IntSet):
            return build.const(s.low + (s.size - 1 if last else 0), node.span)
        if not isinstance(s, LabelSet):
            raise OptError(wrong_arguments(node.span, "last" if last else "first", "takes a set"))
        return build.const(s.size - 1 if last else 0, node.span, kind=f"label:{name}")

    return make


def _size(self: Expressions, node: ast.Call, local: Local) -> Expr:
    _one(self, node)
    first = node.args[0]
    if isinstance(first, ast.Name) and first.id in self.scope.sets:
        return build.const(self.scope.sets[first.id].size, node.span)
    value = self.expr(first, local)
    if not value.shape:
        raise OptError(wrong_arguments(first.span, "size", "takes a set or an array"))
    return build.const(value.shape[0], node.span)


def _norm_group(self: Expressions, node: ast.Call, local: Local) -> Expr:
    """Sum of the Euclidean norms of the rows (axis=0: of the columns)."""
    x = self.expr(node.args[0], local)
    if len(node.args) != 1 or set(node.kwargs) - {"axis"}:
        raise OptError(wrong_arguments(node.span, "norm_group", "takes a matrix and axis="))
    axis = 1 - _length(self, node, node.kwargs["axis"], local) if "axis" in node.kwargs else 1
    norms = self.fit(node.span, (x,), lambda: build.apply("norm2", x, axis=axis, span=node.span))
    return build.apply("sum", norms, span=node.span)


def _tv(self: Expressions, node: ast.Call, local: Local) -> Expr:
    """Total variation: sum of |differences| of a vector; of a matrix, of the norms of (right, down) differences."""
    _one(self, node)
    x = self.expr(node.args[0], local)
    if len(x.shape) == 1:
        d = self.fit(node.span, (x,), lambda: build.apply("diff", x, span=node.span))
        return build.apply("norm1", d, span=node.span)
    if len(x.shape) != 2:
        raise OptError(wrong_arguments(node.span, "tv", "takes a vector or a matrix"))
    m, n = x.shape

    def part(low0: int, high0: int, low1: int, high1: int) -> Expr:
        piece = build.gather(x, [Sliced(low0, high0), Sliced(low1, high1)], (high0 - low0, high1 - low1), (None, None))
        return build.apply("reshape", piece, shape_to=(piece.size,))

    here = part(0, m - 1, 0, n - 1)
    down, right = build.sub(part(1, m, 0, n - 1), here), build.sub(part(0, m - 1, 1, n), here)
    return build.apply("sum", build.apply("norm2", build.apply("stack", down, right), axis=0), span=node.span)


def _logit(self: Expressions, node: ast.Call, local: Local) -> Expr:
    """log(p / (1 - p))."""
    _one(self, node)
    p = self.expr(node.args[0], local)
    rest = build.op("sub", build.const(1.0), p, span=node.span)
    parts = [self.fit(node.span, (x,), partial(build.apply, "log", x, span=node.span)) for x in (p, rest)]
    return build.op("sub", *parts, span=node.span)


def _expect(self: Expressions, node: ast.Call, local: Local) -> Expr:
    _one(self, node)
    body = self.expr(node.args[0], local)
    return Expectation(
        body=body, shape=body.shape, axes=body.axes, span=node.span, variables=body.variables, indices=body.indices
    )


def _array(make: Callable[[tuple[int, ...]], Any]) -> Callable[[Expressions, ast.Call, Local], Expr]:
    def build_it(self: Expressions, node: ast.Call, local: Local) -> Expr:
        _positional(node, 1, 99)
        shape: list[int] = []
        for a in node.args:
            items = a.items if isinstance(a, ast.ListLit | ast.TupleLit) else [a]
            for i in items:
                if isinstance(i, ast.Name) and i.id in self.scope.sets:
                    shape.append(self.scope.sets[i.id].size)
                else:
                    shape.append(_length(self, node, i, local))
        _affordable(node, int(np.prod(shape, dtype=object)))
        return build.const(make(tuple(shape)), node.span)

    return build_it


def _eye(self: Expressions, node: ast.Call, local: Local) -> Expr:
    _positional(node, 1, 2)
    m, n = (_length(self, node, node.args[k], local) for k in (0, -1))
    _affordable(node, m * n)
    return build.const(np.eye(m, n), node.span)


def _linspace(self: Expressions, node: ast.Call, local: Local) -> Expr:
    _positional(node, 2, 3)
    low, high = (_scalar(self, node, a, local) for a in node.args[:2])
    count = _length(self, node, node.args[2], local) if len(node.args) == 3 else 50
    _affordable(node, count)
    return build.const(np.linspace(low, high, count), node.span)


def _arange(self: Expressions, node: ast.Call, local: Local) -> Expr:
    _positional(node, 1, 3)
    ends = [_scalar(self, node, a, local) for a in node.args]
    low, high, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
    if step == 0:
        raise OptError(wrong_arguments(node.span, "arange", "needs a step other than 0"))
    _affordable(node, int((high - low) / step))
    return build.const(np.arange(low, high, step), node.span)


def _positional(node: ast.Call, least: int, most: int) -> None:
    if not least <= len(node.args) <= most or node.kwargs:
        rule = f"takes {least} to {most} arguments by place" if most < 99 else "takes the lengths of its axes"
        raise OptError(wrong_arguments(node.span, _word(node), rule))


def _word(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else "function"


def _scalar(self: Expressions, node: ast.Call, argument: ast.Expr, local: Local) -> Any:
    """A finite number known at compile time."""
    value = self.number(argument, local)
    if not isinstance(value, bool | int | float) or not np.isfinite(value):
        raise OptError(wrong_arguments(argument.span, _word(node), "needs a finite number here"))
    return value


def _length(self: Expressions, node: ast.Call, argument: ast.Expr, local: Local) -> int:
    value = self.number(argument, local)
    if not isinstance(value, int) or value < 0:
        raise OptError(wrong_arguments(argument.span, _word(node), "needs a whole number of at least 0 here"))
    return value


def _affordable(node: ast.Call, size: int) -> None:
    if size > LARGEST:
        raise OptError(too_large(node.span, "this array", size, LARGEST))


#: Of a function-valued variable: its derivatives at a point, and its norm.
DERIVATIVES = ("grad", "hess", "laplacian", "norm")
SPECIAL: dict[str, Callable[[Expressions, ast.Call, Local], Expr]] = {
    "expect": _expect,
    "logit": _logit,
    "prev": _neighbour(-1),
    "next": _neighbour(1),
    "first": _end(last=False),
    "last": _end(last=True),
    "size": _size,
    "norm_group": _norm_group,
    "tv": _tv,
    "zeros": _array(np.zeros),
    "ones": _array(np.ones),
    "eye": _eye,
    "linspace": _linspace,
    "arange": _arange,
}
