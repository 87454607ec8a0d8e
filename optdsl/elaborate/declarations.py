"""Declarations of what is given: data, parameters, named expressions and definitions; of sets in `sets`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from optdsl.data.access import Access
from optdsl.data.bind import Axis, bind
from optdsl.data.from_python import from_python
from optdsl.data.readers import is_reader, read
from optdsl.data.values import Array, SparseTable, Tuples
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Broken, Definition, Scope
from optdsl.elaborate.sets import Sets
from optdsl.functions.table import functions
from optdsl.ir.problem import DataValue, LabelSet
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import no_value
from optdsl.syntax.diagnostics.names import (
    declared_twice,
    hides_function,
    size_differs,
    unknown_name,
    wrong_arguments,
)
from optdsl.syntax.diagnostics.structure import (
    value_out_of_bounds,
)
from optdsl.syntax.source import Span

if TYPE_CHECKING:
    from optdsl.elaborate.statements import Inputs

#: Sizes that stand in for those of data not given yet: distinct, so that shapes are told apart, and divisible by the
#: block lengths of common patterns.
STAND_INS = tuple(192 * p for p in (1, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41))


class Declarations:
    def __init__(self, scope: Scope, expressions: Expressions, access: Access, inputs: Inputs) -> None:
        self.scope, self.expressions, self.access, self.inputs = scope, expressions, access, inputs
        self.sets = Sets(scope, expressions, self)
        self._stand_ins = 0

    def claim(self, name: ast.Name) -> None:
        """A name may be declared once and may not hide a function."""
        if name.id in functions():
            raise OptError(hides_function(name.span, name.id))
        if name.id in self.scope.spans:
            raise OptError(declared_twice(name.span, name.id, self.scope.spans[name.id]))
        self.scope.spans[name.id] = name.span

    # --- data -----------------------------------------------------------------------------------

    def reader_name(self, node: ast.Expr) -> str | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_reader(node.func.id):
            return node.func.id
        return None

    def load(self, node: ast.Expr) -> Array | Tuples | SparseTable:
        name = self.reader_name(node)
        assert name is not None and isinstance(node, ast.Call)
        args = [self._plain(a) for a in node.args]
        kwargs = {k: self._plain(v) for k, v in node.kwargs.items()}
        return read(name, args, kwargs, self.access, node.span)

    def _plain(self, node: ast.Expr) -> Any:
        """A reader's argument as plain data: text, numbers, lists; a set's or size's name is its size."""
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.ListLit | ast.TupleLit):
            return [self._plain(i) for i in node.items]
        if isinstance(node, ast.Name) and node.id in self.scope.sets:
            return self.scope.sets[node.id].size
        return self.expressions.number(node)

    def axes(self, dims: Sequence[ast.Expr]) -> list[Axis]:
        """The declared axes; a name that nothing has fixed yet is a size to be fixed."""
        out = []
        for d in dims:
            if isinstance(d, ast.Name):
                if d.id in self.scope.broken:
                    raise Broken(d.id)
                if d.id in self.scope.sets:
                    s = self.scope.sets[d.id]
                    is_open = d.id in self.scope.open_sets
                    out.append(Axis(None, d.id, ()) if is_open else Axis(s.size, d.id, self.sets.labels(s)))
                    continue
                if d.id not in self.scope.sizes and self.scope.value_node(d.id, d.span) is None:
                    out.append(Axis(None, d.id, None))
                    continue
            size = self.expressions.number(d)
            if not isinstance(size, int) or size < 0:
                raise OptError(wrong_arguments(d.span, d.span.text, "is no size", "a size is a whole number"))
            out.append(Axis(size, d.id if isinstance(d, ast.Name) else None, None))
        return out

    def data_decl(self, s: ast.DataDecl) -> None:
        self.claim(s.name)
        assert s.type is None or isinstance(s.type, ast.TypeExpr)
        name = s.name.id
        given = self.inputs.data.get(name, self.inputs.params.get(name))
        if given is not None:
            loaded = from_python(given, name)
            span = s.name.span
        elif s.value is None:
            self._missing(s)
            return
        else:
            loaded, span = self._value(s.value, name), s.value.span
        self._bind(s, loaded, span, is_param=False)

    def _value(self, node: ast.Expr, name: str) -> Array | SparseTable | Tuples:
        if self.reader_name(node) is not None:
            return self.load(node)
        return from_python(self._python(node), name, "written in the file")

    def _python(self, node: ast.Expr) -> Any:
        """A literal or an expression as plain data."""
        if isinstance(node, ast.DictLit):
            keys = [self.sets.literal(k) for k in node.keys]
            return dict(zip(keys, [self._python(v) for v in node.values], strict=True))
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.ListLit) and node.items and _textual(node):
            return [self._python(i) for i in node.items]
        return self.expressions.number(node)

    def _missing(self, s: ast.DataDecl | ast.ParamDecl) -> None:
        """No value yet: stand-in sizes let shapes be checked; solving asks for the value."""
        if not isinstance(s.type, ast.TypeExpr):
            raise OptError(no_value(s.name.span, s.name.id))
        shape, axes = [], []
        for d in s.type.dims:
            (axis,) = self.axes([d])
            size = axis.size
            if size is None:
                size = self.stand_in()
                if axis.labels is None and axis.name is not None:
                    self._fix_size(axis.name, size, s.span)
                elif axis.name is not None:
                    self.sets.fix(axis.name, tuple(f"{axis.name} {k}" for k in range(size)))
            shape.append(size)
            axes.append(axis.name if axis.labels is not None else None)
        kind = self._kind(s.type)
        one: Any = np.float64(1.0) if kind in ("real", "complex") else np.int64(0 if kind.startswith("label:") else 1)
        if kind == "int" and not shape:
            one = np.int64(self._stand_in_number(s.bounds))
        values = np.broadcast_to(one, tuple(shape))
        self.scope.data[s.name.id] = DataValue(s.name.id, values, tuple(axes), kind, "not given", "", span=s.span)
        self.scope.missing.append(s.name.id)

    def stand_in(self) -> int:
        size = STAND_INS[self._stand_ins % len(STAND_INS)] * (1 + self._stand_ins // len(STAND_INS))
        self._stand_ins += 1
        return size

    def _stand_in_number(self, bounds: Sequence[tuple[str, ast.Expr]]) -> int:
        """A whole number that may become a size, inside its bounds."""
        low, high = 0, self.stand_in()
        for op, node in bounds:
            limit = self.expressions.number(node)
            if op in (">=", ">", "=="):
                low = int(np.floor(limit)) + (op == ">")
            if op in ("<=", "<", "=="):
                high = int(np.ceil(limit)) - (op == "<")
        return max(low, high)

    def _kind(self, t: ast.TypeExpr) -> str:
        """real, int, bool, complex, or `label:S` for values that are members of S."""
        if t.kind in ("real", "int", "bool", "complex"):
            return t.kind
        if t.kind in self.scope.broken:
            raise Broken(t.kind)
        if not isinstance(self.scope.sets.get(t.kind), LabelSet):
            raise OptError(unknown_name(t.span, t.kind, ["real", "int", "bool", "complex", *self.scope.sets]))
        return f"label:{t.kind}"

    def _fix_size(self, name: str, size: int, span: Span) -> None:
        if name in self.scope.sizes and self.scope.sizes[name] != size:
            raise OptError(size_differs(span, name, self.scope.sizes[name], size, self.scope.size_spans[name]))
        if name not in self.scope.sizes:
            self.scope.sizes[name] = size
            self.scope.size_spans[name] = span

    def _bind(self, s: ast.DataDecl | ast.ParamDecl, loaded: Any, span: Span, is_param: bool) -> None:
        name = s.name.id
        assert s.type is None or isinstance(s.type, ast.TypeExpr)
        kind = _kind_of(loaded) if s.type is None else self._kind(s.type)
        element = self.scope.sets.get(kind.removeprefix("label:"))
        if s.type is not None:
            axes = self.axes(s.type.dims)
        else:
            axes = [
                Axis(None, None, None) for _ in range(np.ndim(loaded.values) if not sp.issparse(loaded.values) else 2)
            ]
        labels = element.labels if isinstance(element, LabelSet) else ()
        bound = bind(loaded, kind, axes, name, span, labels)
        for axis, size, axis_labels in zip(axes, bound.values.shape, bound.labels, strict=True):
            if axis.name in self.scope.open_sets and axis_labels is not None:
                self.sets.fix(axis.name, tuple(str(x) for x in axis_labels))
            elif axis.name is not None and axis.labels is None:
                self._fix_size(axis.name, size, s.span)
        names = tuple(a.name if a.labels is not None else None for a in axes)
        self._check_bounds(s, bound.values)
        self.scope.data[name] = DataValue(
            name, bound.values, names, kind, loaded.source.description, loaded.source.sha256, loaded.source.path, is_param,
            s.span, s.doc,
        )  # fmt: skip

    def _check_bounds(self, s: ast.DataDecl | ast.ParamDecl, values: Any) -> None:
        flat = values.data if sp.issparse(values) else np.asarray(values)
        tests = {
            ">=": np.greater_equal,
            "<=": np.less_equal,
            ">": np.greater,
            "<": np.less,
            "==": np.equal,
            "!=": np.not_equal,
        }
        for op, bound in s.bounds:
            limit = self.expressions.number(bound)
            holds = tests[op](flat, limit)
            if not np.all(holds):
                worst = np.asarray(flat)[~np.asarray(holds)].ravel()[0]
                raise OptError(value_out_of_bounds(s.span, s.name.id, f"{worst:g}", f"{op} {bound.span.text}"))

    def param_decl(self, s: ast.ParamDecl) -> None:
        self.claim(s.name)
        name = s.name.id
        given = self.inputs.params.get(name, self.inputs.data.get(name))
        if given is not None:
            loaded: Any = from_python(given, name)
        elif s.value is not None:
            loaded = self._value(s.value, name)
        else:
            if s.type is None:
                raise OptError(no_value(s.name.span, name))
            self._missing(s)
            return
        self._bind(s, loaded, s.span, is_param=True)

    def item(self, name: str, value: Any) -> None:
        """The item of `foreach`, bound as data with its own shape."""
        loaded = from_python(value, name)
        assert isinstance(loaded, Array)
        bound = bind(loaded, _kind_of(loaded), [Axis(k, None, None) for k in np.shape(loaded.values)], name, None, ())
        self.scope.data[name] = DataValue(
            name, bound.values, (None,) * bound.values.ndim, _kind_of(loaded), "foreach", loaded.source.sha256
        )

    def item_placeholder(self, name: ast.Name) -> None:
        self.claim(name)
        self.scope.data[name.id] = DataValue(name.id, np.int64(0), (), "int", "foreach", "", span=name.span)
        self.scope.missing.append(name.id)

    # --- named expressions ----------------------------------------------------------------------

    def let_decl(self, s: ast.LetDecl) -> None:
        self.claim(s.name)
        if self.reader_name(s.value) is not None:
            loaded = self.load(s.value)
            self._bind(ast.DataDecl(s.span, s.name, None, [], s.value, s.doc), loaded, s.value.span, is_param=False)
            return
        self.scope.lets[s.name.id] = self.expressions.expr(s.value, {})

    def def_decl(self, s: ast.DefDecl) -> None:
        self.claim(s.name)
        self.scope.definitions[s.name.id] = Definition(tuple(p.id for p in s.params), s.body, s.span)


def _textual(node: ast.ListLit) -> bool:
    first = node.items[0]
    return isinstance(first, ast.Str | ast.DictLit) or (
        isinstance(first, ast.ListLit) and bool(first.items) and _textual(first)
    )


def _kind_of(loaded: Any) -> str:
    dtype = np.asarray(loaded.values.data if sp.issparse(loaded.values) else loaded.values).dtype
    return {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(dtype.kind, "real")
