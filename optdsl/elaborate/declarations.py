"""Declarations: sets, data, parameters, named expressions, variables with their sets, bounds and starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from optdsl.data.access import Access
from optdsl.data.bind import Axis, bind
from optdsl.data.from_python import from_python
from optdsl.data.labels import counted, find, keys_of, texts
from optdsl.data.readers import is_reader, read
from optdsl.data.values import Array, CellOfRow, SparseTable, Tuples, no_row
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Broken, Definition, Scope
from optdsl.functions.table import functions
from optdsl.ir import build
from optdsl.ir.build import show_shape
from optdsl.ir.nodes import Axes, Expr, Shape
from optdsl.ir.problem import AnySet, DataValue, IntSet, LabelSet, SetSpec, TupleSet, Variable
from optdsl.ir.sets.table import set_kinds
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import duplicate_key, label_not_in_set, no_value, set_value_unusable
from optdsl.syntax.diagnostics.names import (
    declared_twice,
    hides_function,
    size_differs,
    size_unknown,
    too_large,
    unknown_name,
    wrong_arguments,
)
from optdsl.syntax.diagnostics.structure import (
    bound_not_constant,
    set_misfit,
    start_misfit,
    unknown_set,
    value_out_of_bounds,
)
from optdsl.syntax.source import Span

if TYPE_CHECKING:
    from optdsl.elaborate.statements import Inputs

#: Sizes that stand in for those of data not given yet: distinct, so that shapes are told apart, and divisible by the
#: block lengths of common patterns.
STAND_INS = tuple(6720 * p for p in (1, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47))


#: Entries of one variable.
LARGEST = 200_000_000


class Declarations:
    def __init__(self, scope: Scope, expressions: Expressions, access: Access, inputs: Inputs) -> None:
        self.scope, self.expressions, self.access, self.inputs = scope, expressions, access, inputs
        self._stand_ins = 0

    def claim(self, name: ast.Name) -> None:
        """A name may be declared once and may not hide a function."""
        if name.id in functions():
            raise OptError(hides_function(name.span, name.id))
        if name.id in self.scope.spans:
            raise OptError(declared_twice(name.span, name.id, self.scope.spans[name.id]))
        self.scope.spans[name.id] = name.span

    # --- sets -----------------------------------------------------------------------------------

    def set_decl(self, s: ast.SetDecl) -> None:
        self.claim(s.name)
        name = s.name.id
        given = self.inputs.data.get(name)
        if given is not None:
            self.scope.sets[name] = self._set_from_values(s, list(given))
        elif s.value is None:
            self.scope.open_sets[name] = s.name.span
            self.scope.sets[name] = LabelSet(name, (), s.name.span)
        else:
            self.scope.sets[name] = self._set_value(s, s.value)

    def _set_value(self, s: ast.SetDecl, value: ast.Expr) -> AnySet:
        if isinstance(value, ast.Range) or (
            isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range"
        ):
            low, high = self._range_ends(value)
            return IntSet(s.name.id, low, max(high - low, 0), s.span)
        if isinstance(value, ast.ListLit) and value.items and isinstance(value.items[0], ast.Comprehension):
            return self._filtered(s, value.items[0])
        if isinstance(value, ast.ListLit):
            return self._set_from_values(s, [self._literal(i) for i in value.items])
        if isinstance(value, ast.Call) and self._reader_name(value) is not None:
            loaded = self._load(value)
            if isinstance(loaded, Tuples):
                return self._set_from_columns(s, loaded.columns, loaded.cell)
            if isinstance(loaded, Array) and loaded.values.ndim == 1:
                return self._set_from_values(s, list(loaded.values))
        raise OptError(set_value_unusable(value.span, s.name.id))

    def _filtered(self, s: ast.SetDecl, gen: ast.Comprehension) -> AnySet:
        """`[i for i in Plants if cap[i] > 100]`, or tuples of indices with `in A * B`."""
        scope, _ = self.expressions.open(gen.clauses, gen.condition, {}, gen.span)
        table = self.scope.evaluator.open(scope)
        names = gen.body.items if isinstance(gen.body, ast.TupleLit) else [gen.body]
        by_name = {i.name: i for i in scope.indices}
        columns = []
        for n in names:
            if not (isinstance(n, ast.Name) and n.id in by_name):
                raise OptError(wrong_arguments(n.span, s.name.id, "lists indices", "write `[i for i in S if …]`"))
            index = by_name[n.id]
            columns.append([self.scope.evaluator.member(index, int(k)) for k in table.columns[index]])
        values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        if len(columns) > 1:
            return self._set_from_columns(s, [np.array(c) for c in columns])
        return self._set_from_values(s, values)

    def _range_ends(self, node: ast.Expr) -> tuple[int, int]:
        if isinstance(node, ast.Range):
            return int(self.expressions.number(node.low)), int(self.expressions.number(node.high)) + 1
        assert isinstance(node, ast.Call)
        ends = [int(self.expressions.number(a)) for a in node.args]
        return (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])

    def _literal(self, node: ast.Expr) -> Any:
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.TupleLit):
            return tuple(self._literal(i) for i in node.items)
        return self.expressions.number(node)

    def _set_from_values(self, s: ast.SetDecl, values: list[Any]) -> AnySet:
        if values and isinstance(values[0], tuple):
            return self._set_from_columns(s, [np.array(c) for c in zip(*values, strict=True)])
        if values and all(isinstance(v, int | np.integer) for v in values):
            low = int(values[0])
            if [int(v) for v in values] == list(range(low, low + len(values))):
                return IntSet(s.name.id, low, len(values), s.span)
        labels = [str(v) for v in values]
        twice = next((x for i, x in enumerate(labels) if x in labels[:i]), None)
        if twice is not None:
            raise OptError(wrong_arguments(s.span, s.name.id, f"holds {twice!r} twice"))
        return LabelSet(s.name.id, tuple(labels), s.span)

    def _set_from_columns(self, s: ast.SetDecl, columns: Sequence[Any], cell: CellOfRow = no_row) -> AnySet:
        if len(columns) == 1:
            return self._set_from_values(s, list(dict.fromkeys(columns[0].tolist())))
        if s.within is None:
            raise OptError(wrong_arguments(s.span, s.name.id, "holds tuples", f"write `set {s.name.id} in A * B = …`"))
        parents = self._parents(s.within)
        if len(parents) != len(columns):
            raise OptError(
                wrong_arguments(s.within.span, s.name.id, f"has {len(columns)} columns for {len(parents)} sets")
            )
        for parent in dict.fromkeys(p for p in parents if p in self.scope.open_sets):
            labels = [str(x) for p, c in zip(parents, columns, strict=True) if p == parent for x in c]
            self._fix_set(parent, tuple(dict.fromkeys(labels)))
        positions = tuple(self._positions(p, c, s.span, cell) for p, c in zip(parents, columns, strict=True))
        sizes = tuple(self.scope.sets[p].size for p in parents)
        found = TupleSet(s.name.id, tuple(parents), positions, sizes, s.span)
        keys = np.ravel_multi_index(positions, sizes)
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(again):
            row = int(order[again + 1].min())
            shown = ", ".join(str(c[row]) for c in columns)
            first = cell(int(np.argmax(keys == keys[row])), None)
            raise OptError(duplicate_key(cell(row, None) or s.span, f"({shown})", s.span, first))
        return found

    def _parents(self, node: ast.Expr) -> list[str]:
        if isinstance(node, ast.Binary) and node.op == "*":
            return self._parents(node.left) + self._parents(node.right)
        if isinstance(node, ast.Name):
            if node.id in self.scope.broken:
                raise Broken(node.id)
            if node.id in self.scope.sets:
                return [node.id]
            raise OptError(unknown_name(node.span, node.id, self.scope.sets))
        raise OptError(wrong_arguments(node.span, node.span.text, "is not a product of sets"))

    def _positions(self, set_name: str, column: Any, span: Span, cell: CellOfRow = no_row) -> Any:
        """Each row's position in the set. Raises E310 with the row of a label that the set does not have."""
        s, keys = self.scope.sets[set_name], texts(column)
        at = counted(keys, s.low, s.size) if isinstance(s, IntSet) else find(keys, keys_of(self._labels(set_name)))
        if (at < 0).any():
            row = int(np.argmax(at < 0))
            among = self._labels(set_name)[:10_000]
            raise OptError(label_not_in_set(cell(row, None) or span, keys[row], set_name, among, span))
        return at

    def _fix_set(self, name: str, labels: tuple[str, ...]) -> LabelSet:
        """The first table that uses an open set gives it its labels (all its columns over that set)."""
        fixed = LabelSet(name, labels, self.scope.open_sets.pop(name))
        self.scope.sets[name] = fixed
        return fixed

    # --- data -----------------------------------------------------------------------------------

    def _reader_name(self, node: ast.Expr) -> str | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_reader(node.func.id):
            return node.func.id
        return None

    def _load(self, node: ast.Expr) -> Array | Tuples | SparseTable:
        name = self._reader_name(node)
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
                    if d.id in self.scope.open_sets:
                        out.append(Axis(None, d.id, ()))
                    elif isinstance(s, TupleSet):
                        out.append(Axis(s.size, d.id, tuple(self._tuple_labels(s))))
                    else:
                        out.append(Axis(s.size, d.id, s.labels))
                    continue
                if d.id not in self.scope.sizes and self.scope.value_node(d.id, d.span) is None:
                    out.append(Axis(None, d.id, None))
                    continue
            size = self.expressions.number(d)
            if not isinstance(size, int) or size < 0:
                raise OptError(wrong_arguments(d.span, d.span.text, "is no size", "a size is a whole number"))
            out.append(Axis(size, d.id if isinstance(d, ast.Name) else None, None))
        return out

    def _labels(self, name: str) -> tuple[Any, ...]:
        s = self.scope.sets[name]
        return tuple(self._tuple_labels(s)) if isinstance(s, TupleSet) else s.labels

    def _tuple_labels(self, s: TupleSet) -> list[tuple[Any, ...]]:
        parts = [np.array(self._labels(p), dtype=object)[c] for p, c in zip(s.parents, s.columns, strict=True)]
        return list(zip(*parts, strict=True))

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
        if self._reader_name(node) is not None:
            return self._load(node)
        return from_python(self._python(node), name, "written in the file")

    def _python(self, node: ast.Expr) -> Any:
        """A literal or an expression as plain data."""
        if isinstance(node, ast.DictLit):
            keys = [self._literal(k) for k in node.keys]
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
        for axis in self.axes(s.type.dims):
            size = axis.size
            if size is None:
                size = STAND_INS[self._stand_ins % len(STAND_INS)] * (1 + self._stand_ins // len(STAND_INS))
                self._stand_ins += 1
                if axis.labels is None and axis.name is not None:
                    self._fix_size(axis.name, size, s.span)
                elif axis.name is not None:
                    self._fix_set(axis.name, tuple(f"{axis.name} {k}" for k in range(size)))
            shape.append(size)
            axes.append(axis.name if axis.labels is not None else None)
        values = np.broadcast_to(np.float64(1.0), tuple(shape))
        kind = self._kind(s.type)
        self.scope.data[s.name.id] = DataValue(s.name.id, values, tuple(axes), kind, "not given", "", span=s.span)
        self.scope.missing.append(s.name.id)

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
                self._fix_set(axis.name, tuple(str(x) for x in axis_labels))
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
        if self._reader_name(s.value) is not None:
            loaded = self._load(s.value)
            self._bind(ast.DataDecl(s.span, s.name, None, [], s.value, s.doc), loaded, s.value.span, is_param=False)
            return
        self.scope.lets[s.name.id] = self.expressions.expr(s.value, {})

    def def_decl(self, s: ast.DefDecl) -> None:
        self.claim(s.name)
        self.scope.definitions[s.name.id] = Definition(tuple(p.id for p in s.params), s.body, s.span)

    # --- variables ------------------------------------------------------------------------------

    def var_decl(self, s: ast.VarDecl) -> None:
        if isinstance(s.type, ast.TypeExpr) and s.type.kind == "set":
            s = self._typed_by_its_set(s)
        assert isinstance(s.type, ast.TypeExpr)
        for name in s.names:
            self.claim(name)
        shape, axes = self.variable_shape(s.type)
        if int(np.prod(shape, dtype=object)) > LARGEST:
            raise OptError(too_large(s.type.span, f"`{s.names[0].id}`", int(np.prod(shape, dtype=object)), LARGEST))
        within = self.set_spec(s.within, s.names[0].id, shape, s.type.kind) if s.within is not None else None
        lower, upper = self._bounds(s, shape)
        start = self._start(s, shape) if s.start is not None else None
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
                over = ast.Num(over.span, int(self.expressions.number(over.args[-1])))
            return replace(s, type=ast.TypeExpr(node.span, "bool", [over]), within=node)
        hint = f"write `var {s.names[0].id} : real[n] in {node.span.text}`"
        raise OptError(wrong_arguments(node.span, node.span.text, "is a set; the type comes first", hint))

    def variable_shape(self, t: ast.TypeExpr) -> tuple[Shape, Axes]:
        shape: list[int] = []
        names: list[str | None] = []
        for d, axis in zip(t.dims, self.axes(t.dims), strict=True):
            if axis.size is None:
                raise OptError(size_unknown(d.span, axis.name or d.span.text, [*self.scope.sizes, *self.scope.sets]))
            shape.append(axis.size)
            names.append(axis.name if axis.labels is not None else None)
        return tuple(shape), tuple(names)

    def _bounds(self, s: ast.VarDecl, shape: Shape) -> tuple[Expr | None, Expr | None]:
        lower: Expr | None = None
        upper: Expr | None = None
        for op, node in s.bounds:
            e = self.expressions.expr(node, {})
            if e.variables:
                raise OptError(bound_not_constant(node.span, "depends on a variable"))
            if e.shape not in ((), shape):
                raise OptError(bound_not_constant(node.span, f"is {show_shape(e)}, not of the variable's shape"))
            if op in (">=", "=="):
                lower = e
            if op in ("<=", "=="):
                upper = e
            if op in ("<", ">"):
                from optdsl.syntax.diagnostics.structure import strict_inequality

                raise OptError(strict_inequality(node.span, op))
        return lower, upper

    def _start(self, s: ast.VarDecl, shape: Shape) -> Expr:
        assert s.start is not None
        if self._reader_name(s.start) is not None:
            loaded = self._load(s.start)
            assert isinstance(s.type, ast.TypeExpr)
            bound = bind(loaded, "real", self.axes(s.type.dims), s.names[0].id, s.start.span)
            e: Expr = build.const(bound.values, s.start.span)
        else:
            e = self.expressions.expr(s.start, {})
        if e.variables or e.shape not in ((), shape):
            raise OptError(start_misfit(s.start.span, show_shape(e), f"has shape {list(shape)}"))
        return e

    def set_spec(self, node: ast.Expr, variable: str, shape: Shape, kind: str) -> SetSpec:
        if isinstance(node, ast.Binary) and node.op == "&":
            members = [self.set_spec(n, variable, shape, kind) for n in (node.left, node.right)]
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
        params = self._set_params(word.id, call, node.span)
        return self._checked(node, SetSpec(word.id, params, (), node.span), variable, shape, kind)

    def _set_params(self, name: str, call: ast.Call | None, span: Span) -> dict[str, Any]:
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
                params[key] = self._set_argument(given[key])
            elif default is ...:
                raise OptError(wrong_arguments(span, name, f"needs `{key}`"))
            else:
                params[key] = default
        return params

    def _set_argument(self, node: ast.Expr) -> Any:
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.Name) and self.scope.value_node(node.id, node.span) is None and node.id != "inf":
            return node.id
        value = self.expressions.number(node)
        return value.toarray() if sp.issparse(value) else value

    def _subset(self, call: ast.Call, variable: str) -> dict[str, Any]:
        """`subset(Items, size <= 5)`: limits on the number of members."""
        limits: dict[str, Any] = {"least": 0, "most": np.inf}
        for arg in call.args[1:]:
            fits = (
                isinstance(arg, ast.Compare) and isinstance(arg.operands[0], ast.Name) and arg.operands[0].id == "size"
            )
            if not fits:
                raise OptError(
                    wrong_arguments(arg.span, "subset", "takes a set and limits on `size`", "subset(Items, size <= 5)")
                )
            assert isinstance(arg, ast.Compare)
            value = self.expressions.number(arg.operands[1])
            if arg.ops[0] in ("<=", "=="):
                limits["most"] = value
            if arg.ops[0] in (">=", "=="):
                limits["least"] = value
        return limits

    def _checked(self, node: ast.Expr, spec: SetSpec, variable: str, shape: Shape, kind: str) -> SetSpec:
        rule = set_kinds()[spec.kind].accepts(shape, kind, spec.params)
        if rule is not None:
            raise OptError(set_misfit(node.span, spec.kind, variable, rule))
        return spec


def _textual(node: ast.ListLit) -> bool:
    first = node.items[0]
    return isinstance(first, ast.Str | ast.DictLit) or (
        isinstance(first, ast.ListLit) and bool(first.items) and _textual(first)
    )


def _kind_of(loaded: Any) -> str:
    dtype = np.asarray(loaded.values.data if sp.issparse(loaded.values) else loaded.values).dtype
    return {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(dtype.kind, "real")
