"""Declarations of sets: labels, whole numbers, subsets of a set, sparse sets of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optdsl.data.values import Array, Tuples
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Broken, Scope
from optdsl.ir.problem import AnySet, IntSet, LabelSet, TupleSet
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import set_value_unusable
from optdsl.syntax.diagnostics.names import too_large, unknown_label, unknown_name, wrong_arguments
from optdsl.syntax.source import Span

if TYPE_CHECKING:
    from optdsl.elaborate.declarations import Declarations

#: Members of one set of whole numbers.
LARGEST = 10_000_000


class Sets:
    """A set that is part of another (`in A`, `in A * B`, or filtered) holds positions in it: its members are members of A."""

    def __init__(self, scope: Scope, expressions: Expressions, declarations: Declarations) -> None:
        self.scope, self.expressions, self.declarations = scope, expressions, declarations

    def set_decl(self, s: ast.SetDecl) -> None:
        self.declarations.claim(s.name)
        name = s.name.id
        given = self.declarations.inputs.data.get(name)
        if given is not None:
            self.scope.sets[name] = self._from_values(s, list(given))
        elif s.value is not None:
            self.scope.sets[name] = self._value(s, s.value)
        elif s.within is not None:
            self.scope.sets[name] = self._stand_in(s, s.within)
        else:
            self.scope.open_sets[name] = s.name.span
            self.scope.sets[name] = LabelSet(name, (), s.name.span)

    def _value(self, s: ast.SetDecl, value: ast.Expr) -> AnySet:
        is_range = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range"
        if isinstance(value, ast.Range) or is_range:
            low, high = self._ends(value)
            if high - low > LARGEST:
                raise OptError(too_large(value.span, s.name.id, high - low, LARGEST))
            if s.within is not None:
                return self._from_columns(s, [np.arange(low, high)])
            return IntSet(s.name.id, low, max(high - low, 0), s.span)
        if isinstance(value, ast.ListLit) and value.items and isinstance(value.items[0], ast.Comprehension):
            return self._filtered(s, value.items[0])
        if isinstance(value, ast.ListLit):
            return self._from_values(s, [self.literal(i) for i in value.items])
        if self.declarations.reader_name(value) is not None:
            loaded = self.declarations.load(value)
            if isinstance(loaded, Tuples):
                return self._from_columns(s, loaded.columns)
            if isinstance(loaded, Array) and loaded.values.ndim == 1:
                return self._from_values(s, list(loaded.values))
        raise OptError(set_value_unusable(value.span, s.name.id))

    def _stand_in(self, s: ast.SetDecl, within: ast.Expr) -> TupleSet:
        """No members yet: a few stand in, so that the rest can be checked; solving asks for the value."""
        self.scope.missing.append(s.name.id)
        bases = [p for f in self._factors(within) for p in self._bases(f)]
        for name in bases:
            if name in self.scope.open_sets:
                self.fix(name, tuple(f"{name} {k}" for k in range(self.declarations.stand_in())))
        sizes = tuple(self.scope.sets[p].size for p in bases)
        at = np.arange(min(sizes), dtype=np.int64)
        return TupleSet(s.name.id, tuple(bases), (at,) * len(bases), sizes, s.span)

    def _filtered(self, s: ast.SetDecl, gen: ast.Comprehension) -> AnySet:
        """`[i for i in Plants if cap[i] > 100]`; several indices, `[(i, j) for … ]`, make a set of tuples."""
        scope, _ = self.expressions.open(gen.clauses, gen.condition, {}, gen.span)
        table = self.scope.evaluator.open(scope)
        names = gen.body.items if isinstance(gen.body, ast.TupleLit) else [gen.body]
        by_name = {i.name: i for i in scope.indices}
        parents, columns, sizes = [], [], []
        for n in names:
            if not (isinstance(n, ast.Name) and n.id in by_name):
                raise OptError(wrong_arguments(n.span, s.name.id, "lists indices", "write `[i for i in S if …]`"))
            index = by_name[n.id]
            if index.set is None:
                parent = self._whole_numbers(table.columns[index])
                columns.append(table.columns[index] - parent.low)
            else:
                parent = self.scope.sets[index.set]  # type: ignore[assignment]
                columns.append(table.columns[index])
            parents.append(parent.name)
            sizes.append(parent.size)
        found = TupleSet(s.name.id, tuple(parents), tuple(columns), tuple(sizes), s.span)
        if s.within is not None:
            self._inside(found, s.within)
        self._distinct(found, s.span)
        return found

    def _whole_numbers(self, column: Any) -> IntSet:
        """The set of whole numbers that holds a column, under its own name, as `2020..2030`."""
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, -1)
        if high - low >= LARGEST:
            raise OptError(too_large(None, f"{low}..{high}", high - low + 1, LARGEST))
        name = f"{low}..{high}"
        found = self.scope.sets.setdefault(name, IntSet(name, low, high - low + 1))
        assert isinstance(found, IntSet)
        return found

    def _ends(self, node: ast.Expr) -> tuple[int, int]:
        ends = [node.low, node.high] if isinstance(node, ast.Range) else node.args  # type: ignore[union-attr]
        values = [self.expressions.number(e) for e in ends]
        wrong = next((e for e, v in zip(ends, values, strict=True) if not isinstance(v, int)), None)
        if wrong is not None or len(values) not in (1, 2):
            at = node if wrong is None else wrong
            raise OptError(
                wrong_arguments(at.span, node.span.text, "needs whole numbers as ends", "range(a, b) or a..b")
            )
        if isinstance(node, ast.Range):
            return values[0], values[1] + 1
        return (0, values[0]) if len(values) == 1 else (values[0], values[1])

    def literal(self, node: ast.Expr) -> Any:
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.TupleLit):
            return tuple(self.literal(i) for i in node.items)
        return self.expressions.number(node)

    def _from_values(self, s: ast.SetDecl, values: list[Any]) -> AnySet:
        if values and isinstance(values[0], tuple | list):
            widths = {len(v) if isinstance(v, tuple | list) else 1 for v in values}
            if len(widths) != 1:
                raise OptError(wrong_arguments(s.span, s.name.id, "holds tuples of different lengths"))
            return self._from_columns(s, [np.array(c) for c in zip(*values, strict=True)])
        if s.within is not None:
            return self._from_columns(s, [np.array(values)])
        if values and all(isinstance(v, int | np.integer) for v in values):
            column = np.array(values, dtype=np.int64)
            if (np.diff(column) == 1).all():
                return IntSet(s.name.id, int(column[0]), len(column), s.span)
            parent = self._whole_numbers(column)
            found = TupleSet(s.name.id, (parent.name,), (column - parent.low,), (parent.size,), s.span)
            self._distinct(found, s.span)
            return found
        labels = [str(v) for v in values]
        if len(set(labels)) != len(labels):
            seen: set[str] = set()
            twice = next(x for x in labels if x in seen or seen.add(x))  # type: ignore[func-returns-value]
            raise OptError(wrong_arguments(s.span, s.name.id, f"holds {twice!r} twice"))
        return LabelSet(s.name.id, tuple(labels), s.span)

    def _from_columns(self, s: ast.SetDecl, columns: Sequence[Any]) -> AnySet:
        if s.within is None:
            if len(columns) == 1:
                return self._from_values(s, list(dict.fromkeys(columns[0].tolist())))
            raise OptError(wrong_arguments(s.span, s.name.id, "holds tuples", f"write `set {s.name.id} in A * B = …`"))
        bases = [p for f in self._factors(s.within) for p in self._bases(f)]
        if len(bases) != len(columns):
            raise OptError(
                wrong_arguments(s.within.span, s.name.id, f"has {len(columns)} columns for {len(bases)} sets")
            )
        for name in dict.fromkeys(p for p in bases if p in self.scope.open_sets):
            labels = [str(x) for p, c in zip(bases, columns, strict=True) if p == name for x in c]
            self.fix(name, tuple(dict.fromkeys(labels)))
        positions = tuple(self._positions(p, c, s.span) for p, c in zip(bases, columns, strict=True))
        found = TupleSet(s.name.id, tuple(bases), positions, tuple(self.scope.sets[p].size for p in bases), s.span)
        self._inside(found, s.within)
        self._distinct(found, s.span)
        return found

    def _distinct(self, found: TupleSet, span: Span) -> None:
        keys = np.ravel_multi_index(found.columns, found.parent_sizes)
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(again):
            member = self.scope.evaluator.problem.member(found, int(order[again[0] + 1]))
            raise OptError(wrong_arguments(span, found.name, f"holds {_shown(member)} twice"))

    def _inside(self, found: TupleSet, within: ast.Expr) -> None:
        """The members lie in the sets that are sets of tuples themselves."""
        at = 0
        for factor in self._factors(within):
            s = self.scope.sets[factor]
            width = len(self._bases(factor))
            if found.parents[at : at + width] != tuple(self._bases(factor)):
                raise OptError(wrong_arguments(within.span, found.name, f"does not hold members of {factor}"))
            if isinstance(s, TupleSet):
                outside = np.flatnonzero(s.find(found.columns[at : at + width]) < 0)
                if len(outside):
                    part = TupleSet("", s.parents, found.columns[at : at + width], s.parent_sizes)
                    shown = _shown(self.scope.evaluator.problem.member(part, int(outside[0])))
                    raise OptError(wrong_arguments(found.span or within.span, factor, f"has no member {shown}"))
            at += width
        if at != len(found.parents):
            raise OptError(wrong_arguments(within.span, found.name, f"has {len(found.parents)} columns for {at} sets"))

    def _factors(self, node: ast.Expr) -> list[str]:
        if isinstance(node, ast.Binary) and node.op == "*":
            return self._factors(node.left) + self._factors(node.right)
        if isinstance(node, ast.Name):
            if node.id in self.scope.broken:
                raise Broken(node.id)
            if node.id in self.scope.sets:
                return [node.id]
            raise OptError(unknown_name(node.span, node.id, self.scope.sets))
        raise OptError(wrong_arguments(node.span, node.span.text, "is not a product of sets"))

    def _bases(self, name: str) -> Sequence[str]:
        s = self.scope.sets[name]
        return s.parents if isinstance(s, TupleSet) else (name,)

    def _positions(self, set_name: str, column: Any, span: Span) -> Any:
        s = self.scope.sets[set_name]
        values = np.asarray(column)
        if isinstance(s, IntSet):
            whole = np.array([_whole(v) for v in values.tolist()], dtype=np.int64)
            at = whole - s.low
            if ((at < 0) | (at >= s.size)).any():
                bad = values[(at < 0) | (at >= s.size)][0]
                raise OptError(wrong_arguments(span, set_name, f"has no member {bad}"))
            return at
        assert isinstance(s, LabelSet)
        unique, inverse = np.unique(values.astype(str), return_inverse=True)
        at = np.array([s.position.get(str(u), -1) for u in unique], dtype=np.int64)
        if (at < 0).any():
            label = str(unique[int(np.argmax(at < 0))])
            raise OptError(unknown_label(span, label, set_name, s.labels))
        return at[inverse]

    def fix(self, name: str, labels: tuple[str, ...]) -> LabelSet:
        """The first table that uses an open set gives it its labels (all its columns over that set)."""
        fixed = LabelSet(name, labels, self.scope.open_sets.pop(name))
        self.scope.sets[name] = fixed
        return fixed

    def labels(self, s: AnySet) -> tuple[Any, ...]:
        """The members in order: labels, numbers, or tuples of them."""
        if not isinstance(s, TupleSet):
            return s.labels
        parts = [
            np.array(self.labels(self.scope.sets[p]), dtype=object)[c]
            for p, c in zip(s.parents, s.columns, strict=True)
        ]
        return tuple(parts[0]) if len(parts) == 1 else tuple(zip(*parts, strict=True))


def _whole(value: Any) -> int:
    """A whole number as written or read from a text; one that no set holds where it is none."""
    try:
        return int(value) if float(value) == int(value) else np.iinfo(np.int64).min // 2
    except (ValueError, OverflowError):
        return np.iinfo(np.int64).min // 2


def _shown(member: Any) -> str:
    return f"({', '.join(str(m) for m in member)})" if isinstance(member, tuple) else repr(member)
