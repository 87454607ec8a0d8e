"""Variables: their shapes, the sets after `in`, bounds and starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.data.values import Array
from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Scope
from optdsl.ir import build
from optdsl.ir.build import show_shape
from optdsl.ir.nodes import Axes, Expr, Shape
from optdsl.ir.problem import SetSpec, Variable
from optdsl.ir.sets.table import set_kinds
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import (
    set_without_members,
    shapes_differ,
    size_unknown,
    too_large,
    unknown_name,
    wrong_arguments,
)
from optdsl.syntax.diagnostics.structure import (
    bound_not_constant,
    set_misfit,
    start_misfit,
    strict_inequality,
    unknown_set,
)
from optdsl.syntax.source import Span

#: A comparison read from the other side.
TURNED = str.maketrans("<>", "><")
#: Entries of one variable.
LARGEST = 200_000_000


class Variables:
    def __init__(self, scope: Scope, expressions: Expressions, declarations: Declarations) -> None:
        self.scope, self.expressions, self.declarations = scope, expressions, declarations

    def var_decl(self, s: ast.VarDecl) -> None:
        if isinstance(s.type, ast.TypeExpr) and s.type.kind == "set":
            s = self._typed_by_its_set(s)
        assert isinstance(s.type, ast.TypeExpr)
        for name in s.names:
            self.declarations.claim(name)
        shape, axes = self.variable_shape(s.type)
        if int(np.prod(shape, dtype=object)) > LARGEST and not self.scope.missing:
            raise OptError(too_large(s.type.span, f"`{s.names[0].id}`", int(np.prod(shape, dtype=object)), LARGEST))
        within = self.set_spec(s.within, s.names[0].id, shape, s.type.kind, axes) if s.within is not None else None
        lower, upper = self._bounds(s, shape, axes)
        start = self._start(s, shape, axes) if s.start is not None else None
        for name in s.names:
            self.scope.variables[name.id] = Variable(
                name.id, shape, axes, s.type.kind, within, lower, upper, start, s.role, s.doc, name.span
            )

    def _typed_by_its_set(self, s: ast.VarDecl) -> ast.VarDecl:
        """`var S : subset(Items, size <= 5)` is bool over Items, `var k : 0..9` a whole number."""
        assert isinstance(s.type, ast.TypeExpr)
        node = s.type.dims[0]
        if isinstance(node, ast.Range):
            return replace(s, type=ast.TypeExpr(node.span, "int", []), within=node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "subset" and node.args:
            over = node.args[0]
            if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
                if len(over.args) != 1 or over.kwargs:
                    raise OptError(wrong_arguments(over.span, "range", "takes the number of members here"))
                over = ast.Num(over.span, int(self.expressions.number(over.args[-1])))
            return replace(s, type=ast.TypeExpr(node.span, "bool", [over]), within=node)
        word: ast.Expr = node
        while isinstance(word, ast.Index | ast.Call):
            word = word.base if isinstance(word, ast.Index) else word.func
        if isinstance(word, ast.Name) and word.id not in set_kinds():
            raise OptError(unknown_name(word.span, word.id, ["real", "int", "bool", "complex", *set_kinds()]))
        hint = f"write `var {s.names[0].id} : real[n] in {node.span.text}`"
        raise OptError(wrong_arguments(node.span, node.span.text, "is a set; the type comes first", hint))

    def variable_shape(self, t: ast.TypeExpr) -> tuple[Shape, Axes]:
        shape: list[int] = []
        names: list[str | None] = []
        for d, axis in zip(t.dims, self.declarations.axes(t.dims), strict=True):
            if axis.size is None and axis.labels is not None:
                raise OptError(set_without_members(d.span, d.span.text))
            if axis.size is None:
                raise OptError(size_unknown(d.span, axis.name or d.span.text, [*self.scope.sizes, *self.scope.sets]))
            shape.append(axis.size)
            names.append(axis.name if axis.labels is not None else None)
        return tuple(shape), tuple(names)

    def _bounds(self, s: ast.VarDecl, shape: Shape, axes: Axes) -> tuple[Expr | None, Expr | None]:
        lower: Expr | None = None
        upper: Expr | None = None
        for op, node in s.bounds:
            e = self.expressions.expr(node, {})
            if e.variables:
                raise OptError(bound_not_constant(node.span, "depends on a variable"))
            if e.shape not in ((), shape) or not _same_axes(e.axes, axes):
                raise OptError(bound_not_constant(node.span, f"is {show_shape(e)}, not of the variable's shape"))
            if op in ("<", ">"):
                raise OptError(strict_inequality(node.span, op))
            if op not in (">=", "<=", "=="):
                raise OptError(bound_not_constant(node.span, f"cannot be written with `{op}`"))
            if (lower is not None and op in (">=", "==")) or (upper is not None and op in ("<=", "==")):
                raise OptError(bound_not_constant(node.span, "on that side is given twice"))
            if op in (">=", "=="):
                lower = e
            if op in ("<=", "=="):
                upper = e
        return lower, upper

    def _start(self, s: ast.VarDecl, shape: Shape, axes: Axes) -> Expr:
        assert s.start is not None
        if self.declarations.reader_name(s.start) is not None:
            loaded = self.declarations.load(s.start)
            if not isinstance(loaded, Array) or sp.issparse(loaded.values):
                raise OptError(start_misfit(s.start.span, "no array", f"has shape {list(shape)}"))
            e: Expr = build.const(np.asarray(loaded.values), s.start.span)
        else:
            e = self.expressions.expr(s.start, {})
        if e.variables or e.shape not in ((), shape) or not _same_axes(e.axes, axes):
            raise OptError(start_misfit(s.start.span, show_shape(e), f"has shape {list(shape)}"))
        return e

    def set_spec(self, node: ast.Expr, variable: str, shape: Shape, kind: str, axes: Axes = ()) -> SetSpec:
        if isinstance(node, ast.Binary) and node.op == "&":
            members = [self.set_spec(n, variable, shape, kind, axes) for n in (node.left, node.right)]
            flat = [m for spec in members for m in (spec.members or (spec,))]
            return SetSpec("&", {}, tuple(flat), node.span)
        if isinstance(node, ast.Range):
            low, high = self.expressions.number(node.low), self.expressions.number(node.high)
            return self._checked(
                node, SetSpec("range", {"low": low, "high": high}, (), node.span), variable, shape, kind
            )
        call = node if isinstance(node, ast.Call) else None
        word = call.func if call is not None else node
        if not isinstance(word, ast.Name):
            raise OptError(unknown_set(node.span, node.span.text, set_kinds()))
        if word.id == "subset" and call is not None:
            return self._checked(
                node, SetSpec("subset", self._subset(call, variable), (), node.span), variable, shape, kind
            )
        if word.id not in set_kinds():
            raise OptError(unknown_set(word.span, word.id, set_kinds()))
        params = self._set_params(word.id, call, node.span, axes)
        return self._checked(node, SetSpec(word.id, params, (), node.span), variable, shape, kind)

    def _set_params(self, name: str, call: ast.Call | None, span: Span, axes: Axes) -> dict[str, Any]:
        table = set_kinds()[name].params
        given: dict[str, ast.Expr] = {}
        if call is not None:
            if len(call.args) > len(table):
                raise OptError(
                    wrong_arguments(call.span, name, f"takes {len(table)} arguments, {len(call.args)} given")
                )
            given = dict(zip(table, call.args, strict=False))
            for key, value in call.kwargs.items():
                if key not in table:
                    hint = f"it takes {', '.join(table)}" if table else "it takes no argument"
                    raise OptError(wrong_arguments(value.span, name, f"has no argument `{key}`", hint))
                given[key] = value
        params: dict[str, Any] = {}
        for key, default in table.items():
            if key in given:
                params[key] = self._set_argument(given[key], axes)
            elif default is ...:
                raise OptError(wrong_arguments(span, name, f"needs `{key}`"))
            else:
                params[key] = default
        return params

    def _set_argument(self, node: ast.Expr, axes: Axes) -> Any:
        if isinstance(node, ast.Str):
            return node.value
        e = self.expressions.expr(node, {})
        if len(e.axes) == len(axes) and not _same_axes(e.axes, axes):
            raise OptError(shapes_differ(node.span, f"{show_shape(e)} is over other sets than the variable", []))
        value = self.scope.static(e)
        return value.toarray() if sp.issparse(value) else value

    def _subset(self, call: ast.Call, variable: str) -> dict[str, Any]:
        """`subset(Items, size <= 5)`: limits on the number of members."""
        limits: dict[str, Any] = {"least": 0, "most": np.inf}
        for arg in call.args[1:]:
            operands = arg.operands if isinstance(arg, ast.Compare) else []
            ops = arg.ops if isinstance(arg, ast.Compare) else []
            is_size = [isinstance(o, ast.Name) and o.id == "size" for o in operands]
            if is_size.count(True) != 1 or not set(ops) <= {"<=", ">=", "==", "<", ">"}:
                rule = "takes a set and limits on `size`"
                raise OptError(wrong_arguments(arg.span, "subset", rule, "subset(Items, 1 <= size <= 5)"))
            at = is_size.index(True)
            for k, op in enumerate(ops):
                if k not in (at, at - 1):
                    raise OptError(wrong_arguments(arg.span, "subset", "has `size` at neither side of a comparison"))
                value = self.expressions.number(operands[k + 1 if k == at else k])
                if not isinstance(value, int):
                    raise OptError(wrong_arguments(arg.span, "subset", "needs whole numbers as limits"))
                op = op if k == at else op.translate(TURNED)
                if op[0] in "<=":
                    limits["most"] = min(limits["most"], value - (op == "<"))
                if op[0] in ">=":
                    limits["least"] = max(limits["least"], value + (op == ">"))
        return limits

    def _checked(self, node: ast.Expr, spec: SetSpec, variable: str, shape: Shape, kind: str) -> SetSpec:
        rule = set_kinds()[spec.kind].accepts(shape, kind, spec.params)
        if rule is not None:
            raise OptError(set_misfit(node.span, spec.kind, variable, rule))
        return spec


def _same_axes(given: Axes, axes: Axes) -> bool:
    """No axis over one set meets an axis over another."""
    return all(a is None or b is None or a == b for a, b in zip(given, axes, strict=False))
