"""Expressions of the tree to IR nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from optdsl.elaborate.scope import Scope
from optdsl.elaborate.special import DERIVATIVES, SPECIAL
from optdsl.functions.table import Function, functions
from optdsl.ir import build
from optdsl.ir.build import Misfit, show_shape
from optdsl.ir.nodes import Data, Expr, FunctionValue, Generator, Index, RangeDomain, SetDomain, Sliced, Var
from optdsl.ir.nodes import Scope as IndexScope
from optdsl.ir.problem import LabelSet, TupleSet
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import (
    index_hides,
    index_leaves,
    not_a_value,
    recursive_definition,
    shapes_differ,
    unknown_function,
    unknown_label,
    unknown_name,
    variable_condition,
    wrong_arguments,
    wrong_index_kind,
    wrong_indices,
)

BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "@": "matmul", "and": "and", "or": "or"}
COMPARE = {"==": "eq", "!=": "ne", "<=": "le", ">=": "ge", "<": "lt", ">": "gt"}
#: Names that stand for numbers.
CONSTANTS = {"inf": np.inf, "pi": np.pi}
Local = dict[str, Expr]


class Expressions:
    """Elaborates expressions in a scope; `local` holds indices and arguments of definitions."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._calls: list[str] = []

    # --- shapes that do not fit are worded here -------------------------------------------------

    def fit(self, span: Any, operands: Sequence[Expr], make: Callable[[], Expr]) -> Expr:
        try:
            return make()
        except Misfit as misfit:
            shown = [(o.span, show_shape(o)) for o in operands if o.span is not None]
            raise OptError(shapes_differ(span, misfit.rule, shown, misfit.hint, self._origins(operands))) from None

    def _origins(self, operands: Sequence[Expr]) -> list[str]:
        """Where operands that have a name were declared, and what fixed the sizes of all."""
        notes = []
        for name in dict.fromkeys(o.name for o in operands if isinstance(o, Var | Data)):
            if name in self.scope.spans:
                place = self.scope.spans[name]
                text = place.source.line_text(place.line).strip()
                shown = text if len(text) <= 60 else text[:59] + "…"
                notes.append(f"{name} was declared here: {place.source.name}:{place.line} `{shown}`")
        not_given = [self.scope.data[m].span for m in self.scope.missing if m in self.scope.data]
        for name, size in self.scope.sizes.items():
            fixed = self.scope.size_spans.get(name)
            if fixed is not None and any(size in o.shape for o in operands):
                stands = f"{size} stands for {name}, which no data fixes yet"
                notes.append(
                    stands
                    if fixed in not_given
                    else f"{name} = {size} was fixed here: {fixed.source.name}:{fixed.line}"
                )
        return notes

    # --- the walk -------------------------------------------------------------------------------

    def expr(self, node: ast.Expr, local: Local) -> Expr:
        match node:
            case ast.Num() | ast.Bool():
                return build.const(node.value, node.span)
            case ast.Name():
                return self._name(node, local)
            case ast.Unary():
                return self._unary(node, local)
            case ast.Binary():
                return self._binary(node, local)
            case ast.Compare():
                return self._compare(node, local)
            case ast.IfElse():
                condition, then, other = (self.expr(e, local) for e in (node.condition, node.then, node.otherwise))
                self.settled(condition, node.condition.span)
                return self.fit(node.span, (then, other), lambda: build.choose(condition, then, other, node.span))
            case ast.Index():
                return self._index(node, local)
            case ast.Attr():
                if node.name == "T":
                    base = self.expr(node.base, local)
                    return self.fit(node.span, (base,), lambda: build.apply("transpose", base, span=node.span))
                raise OptError(not_a_value(node.span, f"`.{node.name}`", "only `.T`, the transpose, is known"))
            case ast.Call():
                return self._call(node, local)
            case ast.ListLit() | ast.TupleLit():
                return self._list(node, local)
            case ast.Comprehension():
                raise OptError(
                    not_a_value(node.span, "a generator", "give it to sum(…), mean(…), max(…) or another reduction")
                )
            case ast.Str():
                raise OptError(
                    not_a_value(node.span, f"the text {node.value!r}", "a label stands inside […] or beside ==")
                )
            case ast.DictLit():
                raise OptError(not_a_value(node.span, "a table in braces", "it may stand after `data NAME : type =`"))
            case ast.Range():
                raise OptError(not_a_value(node.span, "a range", "it may stand after `in`"))
        raise OptError(not_a_value(node.span, "this"))

    def settled(self, e: Expr, span: Any) -> None:
        """Refuses what is not known before solving: in a filter, an index, the end of a range."""
        if e.variables:
            raise OptError(variable_condition(span, e.variables))

    def number(self, node: ast.Expr, local: Local | None = None) -> Any:
        """The value of an expression known at compile time."""
        return self.scope.static(self.expr(node, local or {}))

    def _name(self, node: ast.Name, local: Local) -> Expr:
        if node.id in local:
            return local[node.id]
        found = self.scope.value_node(node.id, node.span)
        if found is not None:
            return found
        if node.id in CONSTANTS:
            return build.const(CONSTANTS[node.id], node.span)
        if node.id in self.scope.sets:
            raise OptError(not_a_value(node.span, f"the set {node.id}", f"write `for i in {node.id}`"))
        if node.id in functions() or node.id in self.scope.definitions or node.id in self.scope.functions:
            raise OptError(not_a_value(node.span, f"the function {node.id}", f"call it: {node.id}(…)"))
        raise OptError(unknown_name(node.span, node.id, [*local, *self.scope.known()]))

    def _unary(self, node: ast.Unary, local: Local) -> Expr:
        inner = self.expr(node.operand, local)
        if node.op == "+":
            return inner
        if node.op == "-" and not inner.variables and not inner.indices and isinstance(node.operand, ast.Num):
            return build.const(-node.operand.value, node.span)
        name = "not" if node.op == "not" else "neg"
        return self.fit(node.span, (inner,), lambda: build.op(name, inner, span=node.span))

    def _binary(self, node: ast.Binary, local: Local) -> Expr:
        if node.op == "&":
            raise OptError(not_a_value(node.span, "`&`", "it joins sets after `in`; conditions are joined by `and`"))
        left, right = self.expr(node.left, local), self.expr(node.right, local)
        if node.op == "**":
            return self._power(node, left, right)
        return self.fit(node.span, (left, right), lambda: build.op(BINARY[node.op], left, right, span=node.span))

    def _power(self, node: ast.Binary, left: Expr, right: Expr) -> Expr:
        if right.variables:
            log = self.fit(node.span, (left,), lambda: build.apply("log", left, span=left.span))
            product = self.fit(node.span, (right, log), lambda: build.op("mul", right, log, span=node.span))
            return build.apply("exp", product, span=node.span)
        if right.shape or right.indices:
            raise OptError(wrong_arguments(node.right.span, "**", "takes one number as exponent"))
        p = self.scope.static(right)
        if p == 2:
            return self.fit(node.span, (left,), lambda: build.apply("square", left, span=node.span))
        return self.fit(node.span, (left,), lambda: build.apply("power", left, p=p, span=node.span))

    def _compare(self, node: ast.Compare, local: Local) -> Expr:
        if node.ops in (["in"], ["not in"]):
            test = self._member(node, local)
            return build.op("not", test, span=node.span) if node.ops == ["not in"] else test
        operands = self.comparands(node, local)
        parts: list[Expr] = []
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if op not in COMPARE:
                raise OptError(not_a_value(node.span, f"`{op}`", "here a condition compares with == != <= >= < >"))
            parts.append(self.fit(node.span, (a, b), partial(build.op, COMPARE[op], a, b, span=node.span)))
        out = parts[0]
        for p in parts[1:]:
            out = build.op("and", out, p, span=node.span)
        return out

    def _member(self, node: ast.Compare, local: Local) -> Expr:
        """`i in S`, `(i, j) in Arcs`, `i in ["a", "b"]`, `t in 1..5`."""
        left, right = node.operands
        if isinstance(right, ast.ListLit | ast.TupleLit) and right.items:
            sides = left.items if isinstance(left, ast.TupleLit) else [left]
            tests = []
            for item in right.items:
                values = item.items if isinstance(item, ast.TupleLit) else [item]
                if len(values) != len(sides):
                    raise OptError(
                        wrong_arguments(item.span, item.span.text, f"has {len(values)} parts, not {len(sides)}")
                    )
                pairs = [ast.Compare(node.span, ["=="], [a, b]) for a, b in zip(sides, values, strict=True)]
                tests.append(_joined("and", [self._compare(p, local) for p in pairs], node.span))
            return _joined("or", tests, node.span)
        domain, sets = self._domain(right, local)
        parts = [self.expr(p, local) for p in (left.items if isinstance(left, ast.TupleLit) else [left])]
        if len(parts) != len(sets):
            raise OptError(wrong_arguments(left.span, left.span.text, f"has {len(parts)} parts, not {len(sets)}"))
        for part, name in zip(parts, sets, strict=True):
            if part.shape or part.kind != ("int" if name is None else f"label:{name}"):
                raise OptError(wrong_index_kind(left.span, right.span.text, name or "whole numbers", show_shape(part)))
        if isinstance(domain, RangeDomain):
            bounds = [build.op("le", domain.low, parts[0]), build.op("lt", parts[0], domain.high)]
            return _joined("and", bounds, node.span)
        indices = tuple(Index(f"e{k}", name) for k, name in enumerate(sets, 1))
        equal = [build.op("eq", build.index_value(i), p) for i, p in zip(indices, parts, strict=True)]
        scope = IndexScope((Generator(indices, domain, right.span),), _joined("and", equal, node.span), node.span)
        count = build.reduce("sum", build.const(1), scope, node.span)
        return build.op("ge", count, build.const(1), span=node.span)

    def comparands(self, node: ast.Compare, local: Local) -> list[Expr]:
        """The operands of a chain; a text beside a member of a set is that label."""
        plain = [None if isinstance(o, ast.Str) else self.expr(o, local) for o in node.operands]
        label = next((p.kind for p in plain if p is not None and p.kind.startswith("label:")), None)
        out: list[Expr] = []
        for o, p in zip(node.operands, plain, strict=True):
            if p is not None:
                out.append(p)
                continue
            assert isinstance(o, ast.Str)
            if label is None:
                raise OptError(not_a_value(o.span, f"the text {o.value!r}", "compare it with a member of a set"))
            out.append(self.label(o, label.removeprefix("label:")))
        return out

    def label(self, node: ast.Str, set_name: str) -> Expr:
        s = self.scope.sets[set_name]
        if not isinstance(s, LabelSet) or node.value not in s.position:
            raise OptError(unknown_label(node.span, node.value, set_name, s.labels if isinstance(s, LabelSet) else ()))
        return build.const(s.position[node.value], node.span, kind=f"label:{set_name}")

    def _collected(self, gen: ast.Comprehension, local: Local) -> Expr:
        """`[cap[i] for i in Plants if …]`: constants collected into a vector."""
        scope, inner = self.open(gen.clauses, gen.condition, local, gen.span)
        body = self.expr(gen.body, inner)
        if body.variables or (body.indices | self._outer(scope)) - frozenset(scope.indices):
            hint = "for variables write a family, or sum(…) and the like over the generator"
            raise OptError(not_a_value(gen.span, "a list that depends on variables or on outer indices", hint))
        table = self.scope.evaluator.open(scope)
        values = np.asarray(self.scope.evaluator(body, table))
        if not body.indices:
            values = np.broadcast_to(values, (table.size, *body.shape))
        domain = gen.clauses[0].domain
        whole = len(gen.clauses) == 1 and gen.condition is None and isinstance(domain, ast.Name)
        axis = domain.id if whole and isinstance(domain, ast.Name) and domain.id in self.scope.sets else None
        kind = body.kind if body.kind.startswith("label:") else None
        return replace(build.const(values, gen.span, kind), axes=(axis, *body.axes))

    def _outer(self, scope: IndexScope) -> frozenset[Index]:
        ends = [e for g in scope.generators if isinstance(g.domain, RangeDomain) for e in (g.domain.low, g.domain.high)]
        if scope.condition is not None:
            ends.append(scope.condition)
        return frozenset[Index]().union(*(e.indices for e in ends))

    def _list(self, node: ast.ListLit | ast.TupleLit, local: Local) -> Expr:
        if len(node.items) == 1 and isinstance(node.items[0], ast.Comprehension):
            return self._collected(node.items[0], local)
        items = [self.expr(i, local) for i in node.items]
        if not items:
            raise OptError(not_a_value(node.span, "an empty list"))
        if all(not i.variables and not i.indices for i in items):
            values = [np.asarray(self.scope.evaluator(i)) for i in items]
            if len({v.shape for v in values}) != 1:
                raise OptError(shapes_differ(node.span, "the rows of a list have different lengths", []))
            return build.const(np.stack(values), node.span)
        return self.fit(node.span, items, lambda: build.apply("stack", *items, span=node.span))

    # --- generators -----------------------------------------------------------------------------

    def open(
        self, clauses: Sequence[ast.Clause], condition: ast.Expr | None, local: Local, span: Any
    ) -> tuple[IndexScope, Local]:
        """The index scope of `for …` and the names it binds."""
        inner = dict(local)
        generators = []
        for clause in clauses:
            generator, names = self._generator(clause, inner)
            for name, index in zip(clause.names, names, strict=True):
                if name.id in inner or name.id in self.scope.data or name.id in self.scope.variables:
                    raise OptError(index_hides(name.span, name.id))
                inner[name.id] = build.index_value(index, name.span)
            generators.append(generator)
        test = None
        if condition is not None:
            test = self.expr(condition, inner)
            self.settled(test, condition.span)
        return IndexScope(tuple(generators), test, span), inner

    def _generator(self, clause: ast.Clause, local: Local) -> tuple[Generator, tuple[Index, ...]]:
        domain, sets = self._domain(clause.domain, local)
        if len(sets) != len(clause.names):
            rule = f"gives {len(sets)} part{'s' * (len(sets) != 1)} a member, but {len(clause.names)} names are bound"
            raise OptError(wrong_arguments(clause.span, clause.domain.span.text, rule))
        indices = tuple(Index(n.id, s) for n, s in zip(clause.names, sets, strict=True))
        return Generator(indices, domain, clause.span), indices

    def _domain(self, node: ast.Expr, local: Local) -> tuple[Any, tuple[str | None, ...]]:
        if isinstance(node, ast.Name) and node.id in self.scope.sets:
            s = self.scope.sets[node.id]
            if isinstance(s, TupleSet):
                return SetDomain(node.id), tuple(self._label_set(p) for p in s.parents)
            return SetDomain(node.id), (self._label_set(node.id),)
        if isinstance(node, ast.Range):
            low, high = self.expr(node.low, local), self.expr(node.high, local)
            return RangeDomain(self._whole(low), build.op("add", self._whole(high), build.const(1), span=node.span)), (
                None,
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            args = [self._whole(self.expr(a, local)) for a in node.args]
            if len(args) not in (1, 2) or node.kwargs:
                raise OptError(wrong_arguments(node.span, "range", "takes range(end) or range(start, end)"))
            low, high = (build.const(0), args[0]) if len(args) == 1 else args
            return RangeDomain(low, high), (None,)
        if isinstance(node, ast.Name) and (node.id in self.scope.broken):
            from optdsl.elaborate.scope import Broken

            raise Broken(node.id)
        if isinstance(node, ast.Name) and self.scope.value_node(node.id, node.span) is None:
            raise OptError(unknown_name(node.span, node.id, self.scope.sets))
        raise OptError(not_a_value(node.span, f"`{node.span.text}`", "iterate over a set, range(a, b) or a..b"))

    def _label_set(self, name: str) -> str | None:
        return name if isinstance(self.scope.sets[name], LabelSet) else None

    def _whole(self, e: Expr) -> Expr:
        self.settled(e, e.span)
        if e.shape or e.kind != "int":
            raise OptError(not_a_value(e.span, f"{show_shape(e)} as the end of a range", "a range needs whole numbers"))  # type: ignore[arg-type]
        return e

    # --- indexing -------------------------------------------------------------------------------

    def _index(self, node: ast.Index, local: Local) -> Expr:
        base = self.expr(node.base, local)
        shown = node.base.span.text
        items, rest = list(node.items), []
        out: list[Any] = []
        shape: list[int] = []
        axes: list[str | None] = []
        wanted = sum(self._parts(a) for a in base.axes)
        if len(items) > wanted:
            raise OptError(wrong_indices(node.span, f"{shown} : {show_shape(base)}", len(items), wanted))
        for k, (axis, size) in enumerate(zip(base.axes, base.shape, strict=True)):
            parts = self._parts(axis)
            if not items or isinstance(items[0], ast.Slice):
                piece = self._slice(items.pop(0), size, axis, local) if items else Sliced(0, size)  # type: ignore[arg-type]
                out.append(piece)
                shape.append(piece.high - piece.low)
                axes.append(axis if piece == Sliced(0, size) else None)
                continue
            taken, items = items[:parts], items[parts:]
            s = self.scope.sets.get(axis) if axis is not None else None
            if isinstance(s, TupleSet):
                if len(taken) < parts:
                    raise OptError(wrong_indices(node.span, f"{shown} : {show_shape(base)}", len(node.items), wanted))
                out.append(tuple(self._item(t, p, None, shown, local) for t, p in zip(taken, s.parents, strict=True)))
            else:
                out.append(self._item(taken[0], axis, size, shown, local))
            rest.append(k)
        return build.gather(base, out, tuple(shape), tuple(axes), node.span)

    def _parts(self, axis: str | None) -> int:
        s = self.scope.sets.get(axis) if axis is not None else None
        return len(s.parents) if isinstance(s, TupleSet) else 1

    def _slice(self, node: ast.Slice, size: int, axis: str | None, local: Local) -> Sliced:
        ends = []
        for end, default in ((node.low, 0), (node.high, size)):
            if end is None:
                ends.append(default)
                continue
            value = self.number(end, local)
            if not isinstance(value, int):
                raise OptError(
                    wrong_index_kind(end.span, "slice", axis or str(size), "something else than a whole number")
                )
            ends.append(min(max(value + size if value < 0 else value, 0), size))
        return Sliced(ends[0], max(ends))

    def _item(self, node: Any, axis: str | None, size: int | None, shown: str, local: Local) -> Expr:
        s = self.scope.sets.get(axis) if axis is not None else None
        if isinstance(node, ast.Str):
            if not isinstance(s, LabelSet):
                raise OptError(
                    wrong_index_kind(node.span, shown, axis or "plain positions", f"the label {node.value!r}")
                )
            return self.label(node, s.name)
        e = self.expr(node, local)
        self.settled(e, node.span)
        if e.shape:
            one = f"take one member at a time: {shown}[{node.span.text}[i]] … for i in …"
            given = f"an array {show_shape(e)}"
            raise OptError(wrong_index_kind(node.span, shown, axis or "plain positions", given, one))
        if isinstance(s, LabelSet):
            if e.kind != f"label:{s.name}":
                given = f"a member of {e.kind.removeprefix('label:')}" if e.kind.startswith("label:") else "a number"
                hint = "for the neighbour in an ordered set write prev(t) or next(t)" if e.kind == "int" else None
                raise OptError(wrong_index_kind(node.span, shown, s.name, given, hint))
            return e
        if e.kind != "int":
            given = (
                f"a member of {e.kind.removeprefix('label:')}" if e.kind.startswith("label:") else f"a {e.kind} number"
            )
            raise OptError(wrong_index_kind(node.span, shown, axis or "plain positions", given))
        if size is not None and s is None and not e.indices and not e.variables:
            value = self.scope.static(e)
            if not -size <= value < size:
                raise OptError(index_leaves(node.span, shown, value, f"0 to {size - 1}", ""))
            if value < 0:
                return build.const(value + size, node.span)
        return e

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, node: ast.Call, local: Local) -> Expr:
        if not isinstance(node.func, ast.Name):
            if isinstance(node.func, ast.Attr):
                base, word = node.func.base.span.text, node.func.name
                raise OptError(not_a_value(node.func.span, f"`.{word}(…)`", f"write {word}({base}, …)"))
            raise OptError(not_a_value(node.func.span, "this", "only a named function can be called"))
        name = node.func.id
        if name in self.scope.definitions:
            return self._definition(node, name, local)
        if name in self.scope.functions:
            return self._function_value(node, name, node.args, "", local)
        if name in DERIVATIVES and node.args and self._function_name(node.args[0]) is not None:
            return self._function_value(node, self._function_name(node.args[0]) or "", node.args[1:], name, local)
        if name in SPECIAL:
            return SPECIAL[name](self, node, local)
        if name not in functions():
            known = [*functions(), *SPECIAL, *self.scope.definitions]
            raise OptError(unknown_function(node.func.span, name, known))
        f = functions()[name]
        first = node.args[0] if node.args else None
        if isinstance(first, ast.ListLit) and f.kind == "reduction" and len(first.items) == 1:
            first = first.items[0]  # sum([x[i] for i in S]) is sum(x[i] for i in S), as in Python
        if isinstance(first, ast.Comprehension):
            return self._reduction(node, f, first, local)
        return self._apply(node, f, local)

    def _params(
        self, node: ast.Call, f: Function, extra: Sequence[ast.Expr], local: Local
    ) -> tuple[dict[str, Any], int | None]:
        """Keyword arguments and positional ones past the arguments proper, as plain values; and the axis."""
        given: dict[str, ast.Expr] = dict(zip(f.params, extra, strict=False))
        if len(extra) > len(f.params):
            many = f"takes {f.arity} argument{'s' * (f.arity != 1)}"
            raise OptError(
                wrong_arguments(node.span, f.name, many + (f" and {', '.join(f.params)}" if f.params else ""))
            )
        axis: int | None = None
        for key, value in node.kwargs.items():
            if key == "axis" and f.kind == "reduction":
                axis = int(self.number(value, local))
            elif key in f.params and key not in given:
                given[key] = value
            else:
                allowed = [*f.params, *(["axis"] if f.kind == "reduction" else [])]
                hint = f"it takes {', '.join(allowed)}" if allowed else "it takes no keyword argument"
                raise OptError(wrong_arguments(value.span, f.name, f"has no argument `{key}`", hint))
        params = {}
        for key, default in f.params.items():
            if key in given:
                value = self.number(given[key], local)
                params[key] = (
                    tuple(int(k) for k in value) if isinstance(value, np.ndarray) and key == "shape_to" else value
                )
            elif default is ...:
                raise OptError(wrong_arguments(node.span, f.name, f"needs `{key}`"))
        return params, axis

    def _apply(self, node: ast.Call, f: Function, local: Local) -> Expr:
        arity = len(node.args) if f.arity is None else f.arity
        args = [self.expr(a, local) for a in node.args[:arity]]
        if f.name in ("stack", "hstack", "vstack") and len(node.args) == 1 and isinstance(node.args[0], ast.ListLit):
            args = [self.expr(a, local) for a in node.args[0].items]
        if f.name in ("max", "min") and len(node.args) > 1:
            return self._of_several(node, f, local)
        if len(args) < arity:
            raise OptError(wrong_arguments(node.span, f.name, f"takes {arity} arguments, {len(args)} given"))
        params, axis = self._params(node, f, node.args[arity:], local)
        if f.name == "norm" and args[0].shape and len(args[0].shape) == 2 and axis is None:
            raise OptError(wrong_arguments(node.span, "norm", "of a matrix means several things",
                                           "write norm_fro, norm_spectral or norm_nuc, or give axis="))  # fmt: skip
        if f.name == "norm" and params.get("p", 2) in (1, 2, np.inf):
            special = {1: "norm1", 2: "norm2"}.get(params.get("p", 2), "norm_inf")
            return self.fit(node.span, args, lambda: build.apply(special, *args, span=node.span, axis=axis))
        if f.name == "quad_form" and args[1].variables:
            raise OptError(wrong_arguments(node.args[1].span, "quad_form", "needs a constant matrix"))
        return self.fit(node.span, args, lambda: build.apply(f.name, *args, span=node.span, axis=axis, **params))

    def _of_several(self, node: ast.Call, f: Function, local: Local) -> Expr:
        """max(a, b, c) of scalars, as in Python."""
        pair = {"max": "maximum", "min": "minimum"}[f.name]
        out = self.expr(node.args[0], local)
        for a in node.args[1:]:
            left, right = out, self.expr(a, local)
            out = self.fit(node.span, (left, right), partial(build.apply, pair, left, right, span=node.span))
        return out

    def _reduction(self, node: ast.Call, f: Function, gen: ast.Comprehension, local: Local) -> Expr:
        if f.kind != "reduction":
            raise OptError(wrong_arguments(node.span, f.name, "does not take a generator"))
        if len(gen.clauses) == 1 and (subset := self.subset_variable(gen.clauses[0].domain)) is not None:
            return self._over_subset(node, f, gen, subset, local)
        scope, inner = self.open(gen.clauses, gen.condition, local, gen.span)
        body = self.expr(gen.body, inner)
        params, axis = self._params(node, f, node.args[1:], local)
        if axis is not None:
            raise OptError(wrong_arguments(node.span, f.name, "takes no axis over a generator"))
        return self.fit(node.span, (body,), lambda: build.reduce(f.name, body, scope, node.span, **params))

    def subset_variable(self, domain: ast.Expr) -> str | None:
        if isinstance(domain, ast.Name) and domain.id in self.scope.variables:
            within = self.scope.variables[domain.id].within
            if within is not None and within.kind == "subset":
                return domain.id
        return None

    def _over_subset(self, node: ast.Call, f: Function, gen: ast.Comprehension, subset: str, local: Local) -> Expr:
        """`sum(e for i in S)` over a subset variable: each member's e counts where it is chosen."""
        if f.name != "sum":
            raise OptError(
                wrong_arguments(node.span, f.name, "cannot run over a subset that is to be found", "only sum can")
            )
        clause = self.candidates(gen.clauses[0], subset)
        scope, inner = self.open([clause], gen.condition, local, gen.span)
        body = self.expr(gen.body, inner)
        chosen = self._index(ast.Index(gen.span, ast.Name(gen.span, subset), list(clause.names)), inner)
        product = self.fit(node.span, (body, chosen), lambda: build.op("mul", body, chosen, span=gen.body.span))
        return build.reduce("sum", product, scope, node.span)

    def candidates(self, clause: ast.Clause, subset: str) -> ast.Clause:
        """`i in S` over a subset variable as `i in` all that S may hold."""
        v = self.scope.variables[subset]
        axis, span = v.axes[0], clause.domain.span
        low, high = ast.Num(span, 0), ast.Num(span, v.shape[0] - 1)
        domain: ast.Expr = ast.Range(span, low, high) if axis is None else ast.Name(span, axis)
        return ast.Clause(clause.span, clause.names, domain)

    def _function_name(self, node: ast.Expr) -> str | None:
        return node.id if isinstance(node, ast.Name) and node.id in self.scope.functions else None

    def _function_value(
        self, node: ast.Call, name: str, args: Sequence[ast.Expr], derivative: str, local: Local
    ) -> Expr:
        """`h(x)`, `grad(h, x)`, `hess(h, x)`, `laplacian(h, x)`, `norm(h)` of a function-valued variable or an oracle."""
        f = self.scope.functions[name]
        wanted = 0 if derivative == "norm" else 1
        if len(args) != wanted or node.kwargs:
            raise OptError(wrong_arguments(node.span, name, f"takes {wanted} argument{'s' * (wanted != 1)} here"))
        values = tuple(self.expr(a, local) for a in args)
        argument = f.argument if f.argument is not None else values[0].shape if values else ()
        if values and values[0].shape != argument:
            given = show_shape(values[0])
            raise OptError(shapes_differ(node.span, f"`{name}` is a function of {list(argument)}, given {given}", []))
        result = f.result if f.result is not None else argument
        shape = {"": result, "grad": argument, "hess": argument * 2, "laplacian": (), "norm": ()}[derivative]
        names = frozenset([name]).union(*(v.variables for v in values))
        indices = frozenset[Index]().union(*(v.indices for v in values))
        return FunctionValue(
            function=name, args=values, derivative=derivative, shape=shape, axes=(None,) * len(shape), span=node.span,
            variables=names, indices=indices,
        )  # fmt: skip

    def _definition(self, node: ast.Call, name: str, local: Local) -> Expr:
        d = self.scope.definitions[name]
        if name in self._calls:
            raise OptError(recursive_definition(node.span, name))
        if len(node.args) != len(d.params) or node.kwargs:
            raise OptError(wrong_arguments(node.span, name, f"takes {len(d.params)} arguments, {len(node.args)} given"))
        args = {p: self.expr(a, local) for p, a in zip(d.params, node.args, strict=True)}
        self._calls.append(name)
        try:
            return self.expr(d.body, args)
        finally:
            self._calls.pop()


def _joined(op: str, tests: Sequence[Expr], span: Any) -> Expr:
    out = tests[0]
    for t in tests[1:]:
        out = build.op(op, out, t, span=span)
    return out
