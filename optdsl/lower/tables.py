"""Tables of index bindings: one row a binding, one integer column an index name.

A generator opens a child table whose rows extend the parent's; an equality with a parent's column is a join by sorting,
never a scan of all pairs. Columns hold label positions, or the whole numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.ir.nodes import Expr, Generator, Index, IndexValue, Op, RangeDomain, Scope
from optdsl.ir.problem import AnySet, IntSet, TupleSet
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import too_large

Ints = NDArray[np.int64]
MAX_ROWS = 200_000_000


@dataclass(frozen=True, eq=False)
class Table:
    """`parent_row` (size,) is nondecreasing. `tuples` remembers, for indices that run over a tuple set, its positions."""

    size: int
    columns: dict[Index, Ints]
    parent: Table | None = None
    parent_row: Ints | None = None
    tuples: dict[tuple[Index, ...], tuple[str, Ints]] = field(default_factory=dict)

    def own(self, index: Index) -> bool:
        """True where the index was bound by this table, not by an outer one."""
        return index in self.columns and (self.parent is None or index not in self.parent.columns)


def root() -> Table:
    return Table(1, {})


def conjuncts(condition: Expr | None) -> list[Expr]:
    """The parts of a condition joined by `and`."""
    if condition is None:
        return []
    if isinstance(condition, Op) and condition.op == "and":
        return [c for a in condition.args for c in conjuncts(a)]
    return [condition]


def _members(generator: Generator, sets: dict[str, AnySet]) -> tuple[list[Ints], int]:
    """One column an index, over all members of the generator's set."""
    s = sets[generator.domain.name]  # type: ignore[union-attr]
    if isinstance(s, TupleSet):
        columns = []
        for parent, column in zip(s.parents, s.columns, strict=True):
            p = sets[parent]
            columns.append(column + p.low if isinstance(p, IntSet) else column)
        return columns, s.size
    low = s.low if isinstance(s, IntSet) else 0
    return [np.arange(low, low + s.size, dtype=np.int64)], s.size


def _ragged(counts: Ints) -> tuple[Ints, Ints]:
    """For groups of these sizes: the group of each row, and its place inside the group."""
    group = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return group, np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)


class _Builder:
    """A table under construction: rows of the outer table extended by one generator after another."""

    def __init__(self, outer: Table) -> None:
        self.rows: Ints = np.arange(outer.size, dtype=np.int64)
        self.columns = dict(outer.columns)
        self.tuples = dict(outer.tuples)
        self.outer = outer

    def snapshot(self) -> Table:
        return Table(len(self.rows), self.columns, self.outer, self.rows, self.tuples)

    def take(self, keep: Ints | NDArray[np.bool_]) -> None:
        self.rows = self.rows[keep]
        self.columns = {k: v[keep] for k, v in self.columns.items()}
        self.tuples = {k: (name, at[keep]) for k, (name, at) in self.tuples.items()}


def expand(table: Table, scope: Scope, sets: dict[str, AnySet], evaluate: Callable[[Expr, Table], Any]) -> Table:
    """The child table that a scope opens. `evaluate(e, t)` gives constants over a table, (size,) or scalar."""
    b = _Builder(table)
    pending = conjuncts(scope.condition)
    for generator in scope.generators:
        pending = _add(b, generator, pending, sets, evaluate)
        ready = [c for c in pending if c.indices <= b.columns.keys()]
        pending = [c for c in pending if c not in ready]
        for c in ready:
            holds = np.asarray(evaluate(c, b.snapshot()), dtype=bool)
            if holds.ndim == 0:
                if not holds:
                    b.take(np.zeros(len(b.rows), dtype=bool))
            elif not holds.all():
                b.take(holds)
    return b.snapshot()


def _add(
    b: _Builder,
    generator: Generator,
    pending: list[Expr],
    sets: dict[str, AnySet],
    evaluate: Callable[[Expr, Table], Any],
) -> list[Expr]:
    """Extends the rows by one generator; gives back the conditions that are still to be tested."""
    old = len(b.rows)
    if isinstance(generator.domain, RangeDomain):
        here = b.snapshot()
        low, high = (
            np.asarray(evaluate(e, here), dtype=np.int64) for e in (generator.domain.low, generator.domain.high)
        )
        counts = np.broadcast_to(np.maximum(high - low, 0), (old,))
        _guard(int(counts.sum()), generator)
        group, place = _ragged(counts)
        b.take(group)
        b.columns[generator.indices[0]] = place + np.broadcast_to(low, (old,))[group]
        return pending
    columns, size = _members(generator, sets)
    joins = [(c, *j) for c in pending if (j := _join_key(c, generator, b.columns)) is not None]
    if joins and size:
        here = b.snapshot()
        domain_key, row_key = np.zeros(size, dtype=np.int64), np.zeros(old, dtype=np.int64)
        for _, position, other in joins:
            mine = columns[position]
            theirs = np.broadcast_to(np.asarray(evaluate(other, here), dtype=np.int64), (old,))
            least = int(min(mine.min(), theirs.min(initial=0)))
            span = int(max(mine.max(), theirs.max(initial=0))) - least + 1
            domain_key, row_key = domain_key * span + (mine - least), row_key * span + (theirs - least)
        order = np.argsort(domain_key, kind="stable")
        keys = domain_key[order]
        first = np.searchsorted(keys, row_key, side="left")
        counts = np.searchsorted(keys, row_key, side="right") - first
        _guard(int(counts.sum()), generator)
        group, place = _ragged(counts)
        picked = order[first[group] + place]
        b.take(group)
        pending = [c for c in pending if all(c is not j[0] for j in joins)]
    else:
        _guard(old * size, generator)
        picked = np.tile(np.arange(size, dtype=np.int64), old)
        if old != 1:
            b.take(np.repeat(np.arange(old), size))
        else:
            b.take(np.zeros(size, dtype=np.int64))
    for index, column in zip(generator.indices, columns, strict=True):
        b.columns[index] = column[picked] if len(picked) != size or joins else column
    if isinstance(sets[generator.domain.name], TupleSet):
        b.tuples[generator.indices] = (generator.domain.name, picked)
    return pending


def _join_key(c: Expr, generator: Generator, bound: dict[Index, Ints]) -> tuple[int, Expr] | None:
    """For `new == old` with a new index alone on one side: its position in the generator, and the old side."""
    if not (isinstance(c, Op) and c.op == "eq"):
        return None
    for mine, other in (c.args, c.args[::-1]):
        if isinstance(mine, IndexValue) and mine.index in generator.indices and other.indices <= bound.keys():
            return generator.indices.index(mine.index), other
    return None


def _guard(size: int, generator: Generator) -> None:
    if size > MAX_ROWS:
        raise OptError(too_large(generator.span, "this family", size, MAX_ROWS))
