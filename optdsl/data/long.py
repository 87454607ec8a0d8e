"""Long tables, one row a value, to arrays over their labels; those with `default=0` over two axes stay sparse."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.data import kinds
from optdsl.data.labels import counted, find, find_tuples, keys_of, parts_of, texts
from optdsl.data.values import Axis, Bound, Labels, SparseTable
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import duplicate_key, label_not_in_set, missing_cells, not_a_number, wrong_shape
from optdsl.syntax.diagnostics.names import too_large
from optdsl.syntax.source import Span

#: Entries of a dense array, rows of a sparse one.
LARGEST = 200_000_000


def bind_table(
    table: SparseTable, kind: str, axes: Sequence[Axis], name: str, span: Span | None, members: Labels
) -> Bound:
    """Every combination of labels must have a row, unless the table has a default. Raises E307–E314, E219."""
    groups = _columns_of_axes(table, kind, axes, name, span)
    opened = _opened(axes, groups)
    joined = [_join(table, axis, columns, opened, span) for axis, columns in zip(axes, groups, strict=True)]
    shape = tuple(len(wanted) for _, wanted in joined)
    for axis, size in zip(axes, shape, strict=True):
        if axis.size is not None and size != axis.size:
            raise OptError(wrong_shape(span, name, kinds.declared(kind, axes), str(list(shape))))
    labels = tuple(tuple(w) if a.labels is not None else None for a, (_, w) in zip(axes, joined, strict=True))
    rows, size = len(table.values), prod(shape)
    if size > 2**62:
        raise OptError(too_large(span, f"`{name}`", size, LARGEST))
    flat = np.ravel_multi_index([at for at, _ in joined], shape) if rows and shape else np.zeros(rows, dtype=np.int64)
    order = np.argsort(flat, kind="stable")
    _refuse_twice(table, flat, order, span)
    if rows < size and table.default is None:
        shown = [_shown(i, shape, labels) for i in _absent(flat[order], size, 5)]
        raise OptError(missing_cells(span, name, shown, size - rows, table.source.description))

    def cell(index: tuple[int, ...]) -> Any:
        where = np.flatnonzero(flat == (np.ravel_multi_index(index, shape) if shape else 0))
        return table.cell(int(where[0]), table.value_name) if len(where) else None

    values = _filled(table, joined, flat, shape, kind, name, span)
    return Bound(kinds.of_kind(values, kind, name, span, members, cell, table), labels)


def _filled(
    table: SparseTable, joined: Any, flat: Any, shape: tuple[int, ...], kind: str, name: str, span: Span | None
) -> Any:
    if table.default is not None and table.values.dtype.kind not in "biufc":
        raise OptError(not_a_number(table.cell(0, table.value_name) or span, str(table.values[0]), span))
    sparse = table.default == 0 and len(shape) == 2 and not kind.startswith("label:")
    size = shape[0] if sparse else prod(shape)
    if size > LARGEST:
        raise OptError(too_large(span, f"`{name}`", size, LARGEST))
    if sparse:
        return sp.csr_array((table.values, tuple(at for at, _ in joined)), shape=shape)
    if len(flat) < size:
        dtype = np.result_type(table.values.dtype, np.asarray(table.default).dtype)
        values = np.full(size, table.default, dtype=dtype)
    else:
        values = np.empty(size, dtype=table.values.dtype)
    values[flat] = table.values
    return values.reshape(shape)


def _refuse_twice(table: SparseTable, flat: NDArray[np.int64], order: NDArray[np.int64], span: Span | None) -> None:
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if len(again):
        row = int(order[again + 1].min())
        first = int(np.argmax(flat == flat[row]))
        key = tuple(str(c[row]) for c in table.columns)
        shown = key[0] if len(key) == 1 else "(" + ", ".join(key) + ")"
        raise OptError(duplicate_key(table.cell(row, None) or span, shown, span, table.cell(first, None)))


def _absent(present: NDArray[np.int64], size: int, most: int) -> list[int]:
    """The first positions of 0 … size − 1 that the sorted `present` lacks."""
    ends = np.concatenate(([-1], present, [size]))
    out: list[int] = []
    for g in np.flatnonzero(np.diff(ends) > 1)[:most]:
        out.extend(range(int(ends[g]) + 1, min(int(ends[g + 1]), int(ends[g]) + 1 + most)))
    return out[:most]


def _shown(flat: int, shape: tuple[int, ...], labels: Sequence[Labels | None]) -> str:
    at = np.unravel_index(flat, shape)
    parts = [str(names[i]) if names is not None else str(int(i)) for i, names in zip(at, labels, strict=True)]
    return "(" + ", ".join(parts) + ")" if len(parts) > 1 else parts[0]


def _columns_of_axes(
    table: SparseTable, kind: str, axes: Sequence[Axis], name: str, span: Span | None
) -> list[tuple[NDArray[Any], ...]]:
    """Which key columns belong to which axis: a tuple axis takes one for each part."""
    groups, at = [], 0
    for axis in axes:
        width = len(axis.labels[0]) if axis.labels and isinstance(axis.labels[0], tuple) else 1
        groups.append(table.columns[at : at + width])
        at += width
    if at != len(table.columns):
        by = f"a table indexed by {', '.join(table.names)}"
        raise OptError(wrong_shape(span, name, kinds.declared(kind, axes), by))
    return groups


def _opened(axes: Sequence[Axis], groups: Sequence[tuple[NDArray[Any], ...]]) -> dict[str | None, Labels]:
    """Labels that this table gives to sets without any: those of all columns over the set, in the order they stand."""
    found: dict[str | None, dict[str, None]] = {}
    for axis, columns in zip(axes, groups, strict=True):
        if axis.labels == () and axis.size is None:
            found.setdefault(axis.name, {}).update(dict.fromkeys(texts(columns[0])))
    return {name: tuple(labels) for name, labels in found.items()}


def _join(
    table: SparseTable,
    axis: Axis,
    columns: tuple[NDArray[Any], ...],
    opened: dict[str | None, Labels],
    span: Span | None,
) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Each row's position on the axis, and the axis's labels."""
    parts = list(map(texts, columns))
    if axis.labels is None:
        return _positions(table, axis, parts[0], span)
    wanted = axis.labels or opened.get(axis.name, ())
    found = find(parts[0], keys_of(wanted)) if len(parts) == 1 else find_tuples(parts, parts_of(wanted))
    if (found < 0).any():
        keys: list[Any] = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
        row = int(np.argmax(found < 0))
        others = list(dict.fromkeys(keys[r] for r in np.flatnonzero(found < 0) if keys[r] != keys[row]))
        at = table.cell(row, table.names[_first_column(table, columns)] if len(columns) == 1 else None)
        raise OptError(label_not_in_set(at or span, keys[row], axis.name or "the set", wanted, span, others))
    return found, wanted


def _first_column(table: SparseTable, columns: tuple[NDArray[Any], ...]) -> int:
    return next(k for k, c in enumerate(table.columns) if c is columns[0])


def _positions(
    table: SparseTable, axis: Axis, keys: list[str], span: Span | None
) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Keys that count from 0, on an axis of a size."""
    at = counted(keys, 0, axis.size if axis.size is not None else 2**63 - 1)
    size = axis.size if axis.size is not None else int(at.max(initial=-1)) + 1
    bad = at < 0
    if bad.any():
        row = int(np.argmax(bad))
        shown = f"0 … {size - 1}" if size else "the whole numbers from 0"
        raise OptError(label_not_in_set(table.cell(row, None) or span, keys[row], shown, [], span))
    return at, range(size)
