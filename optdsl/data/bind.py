"""Values to declared shapes: labels are joined by name, kinds checked, nothing guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.data import kinds
from optdsl.data.labels import find, first_twice, keys_of
from optdsl.data.long import bind_table
from optdsl.data.values import Array, Axis, Bound, Labels, SparseTable, Tuples
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import (
    duplicate_key,
    label_not_in_set,
    labels_missing,
    labels_not_named,
    wrong_kind,
    wrong_shape,
)
from optdsl.syntax.source import Cell, Span

__all__ = ["Axis", "Bound", "bind"]


def bind(
    value: Array | SparseTable | Tuples,
    kind: str,
    axes: Sequence[Axis],
    name: str,
    span: Span | None,
    members: Labels = (),
) -> Bound:
    """`kind` is real, int, bool, complex, or `label:S` with the labels of S in `members` (values become positions).

    An axis over a set takes the set's order, whatever the order of the labels in the file. Raises OptError E307–E314 and
    E319 with the place in the file.
    """
    if isinstance(value, Tuples):
        raise OptError(wrong_kind(span, name, kind, 'the table has no value column: write value="column"'))
    if isinstance(value, SparseTable):
        return bind_table(value, kind, axes, name, span, members)
    value = _reading(value, axes)
    values = value.values
    labels: list[Labels | None] = list(value.labels) + [None] * (len(axes) - len(value.labels))
    drop = not sp.issparse(values) and values.ndim == len(axes) + 1 and values.ndim > 1 and values.shape[-1] == 1
    if drop:
        values, labels = values[..., 0], labels[:-1]
    if values.ndim != len(axes):
        raise OptError(wrong_shape(span, name, kinds.declared(kind, axes), str(list(values.shape))))
    orders: list[Any] = [None] * len(axes)
    fixed: dict[str | None, Labels] = {}
    for k, axis in enumerate(axes):
        if axis.labels is None:
            labels[k] = None
        elif labels[k] is not None:
            own: Any = labels[k]
            wanted = axis.labels or fixed.get(axis.name) or own
            if not axis.labels:
                fixed[axis.name] = wanted
            orders[k] = _order(own, wanted, k, axis, value, name, span)
            labels[k] = tuple(wanted)
        elif axis.labels == () and axis.size is None:
            raise OptError(wrong_shape(span, name, kinds.declared(kind, axes), "an array without labels"))
        elif value.unused_labels and any(isinstance(x, str) for x in axis.labels):
            raise OptError(labels_not_named(span, name, axis.name or "a set", value.unused_labels))
        else:
            labels[k] = axis.labels
    for k, order in enumerate(orders):
        if order is not None:
            values = _taken(values, order, k)
        if axes[k].size is not None and values.shape[k] != axes[k].size:
            raise OptError(wrong_shape(span, name, kinds.declared(kind, axes), str(list(values.shape))))

    def cell(index: tuple[int, ...]) -> Any:
        return value.cell(
            tuple(int(o[i]) if o is not None else i for o, i in zip(orders, index, strict=True)) + (0,) * drop
        )

    return Bound(kinds.of_kind(values, kind, name, span, members, cell, value), tuple(labels))


def _reading(value: Array, axes: Sequence[Axis]) -> Array:
    """A table whose first column is of numbers: they are labels where an axis is over a set, unless the column's own name
    is a label of the columns' set; else they are values."""
    if value.plain is None:
        return value
    over = [a for a in axes if a.labels is not None]
    last = axes[-1].labels if axes else None
    if not over or (last and value.corner in keys_of(last) and len(axes) == 2):
        return value.plain()
    return value


def _order(own: Labels, wanted: Labels, k: int, axis: Axis, value: Array, name: str, span: Span | None) -> Any:
    """Positions of the set's labels on the array's axis; None where they are in order already."""
    keys, among = keys_of(own), keys_of(wanted)

    def place(i: int) -> Any:
        return value.cell(tuple(i if j == k else 0 for j in range(len(value.labels)))) or span

    twice = first_twice(keys)
    if twice is not None:
        first, again = (place(i) for i in twice)
        raise OptError(duplicate_key(again, repr(own[twice[1]]), span, first if isinstance(first, Cell) else None))
    unknown = np.flatnonzero(find(keys, among) < 0)
    if len(unknown):
        first, *others = unknown.tolist()
        rest = [own[i] for i in others]
        raise OptError(label_not_in_set(place(first), own[first], axis.name or "the set", wanted, span, rest))
    at = find(among, keys)
    if (at < 0).any():
        absent = [w for w, p in zip(wanted, at, strict=True) if p < 0]
        raise OptError(labels_missing(span, name, axis.name or "the set", absent, value.source.description))
    return None if np.array_equal(at, np.arange(len(own))) else at


def _taken(values: Any, order: Any, k: int) -> Any:
    if not sp.issparse(values):
        return np.take(values, order, axis=k)
    return values[order] if k == 0 else sp.csr_array(values[:, order])
