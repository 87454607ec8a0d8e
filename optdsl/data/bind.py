"""Values to declared shapes: labels are joined by name, kinds checked, nothing guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.data.values import Array, Labels, SparseTable, Tuples
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import (
    duplicate_key,
    label_not_in_set,
    labels_missing,
    missing_cells,
    not_finite,
    wrong_kind,
    wrong_shape,
)
from optdsl.syntax.source import Span


@dataclass(frozen=True)
class Axis:
    """`size` None: to be fixed by this value. `labels`: of the set that the axis is over; () where the set is to take them
    from this value; None on an axis without a set. The members of a tuple set are tuples."""

    size: int | None
    name: str | None
    labels: Labels | None


@dataclass(frozen=True, eq=False)
class Bound:
    """`values` read-only; `labels` per axis as fixed by the binding."""

    values: Any
    labels: tuple[Labels | None, ...]


def bind(
    value: Array | SparseTable | Tuples,
    kind: str,
    axes: Sequence[Axis],
    name: str,
    span: Span | None,
    members: Labels = (),
) -> Bound:
    """`kind` is real, int, bool, complex, or `label:S` with the labels of S in `members` (values become positions).

    Raises OptError E308–E314 with the place in the file.
    """
    if isinstance(value, Tuples):
        raise OptError(wrong_kind(span, name, kind, 'the table has no value column: write value="column"'))
    if isinstance(value, SparseTable):
        return _bind_table(value, kind, axes, name, span, members)
    values = value.values
    labels: list[Labels | None] = list(value.labels) + [None] * (len(axes) - len(value.labels))
    if not sp.issparse(values) and values.ndim == len(axes) + 1 and values.shape[-1] == 1 and values.ndim > 1:
        values, labels = values[..., 0], labels[:-1]
    if values.ndim != len(axes):
        raise OptError(wrong_shape(span, name, _declared(kind, axes), str(list(values.shape))))
    for k, axis in enumerate(axes):
        if axis.labels is not None and labels[k] is not None:
            values, labels[k] = _join(values, k, labels[k], axis, value, name, span)  # type: ignore[arg-type]
        elif axis.labels == () and axis.size is None:
            raise OptError(wrong_shape(span, name, _declared(kind, axes), "an array without labels"))
        elif axis.labels is not None:
            labels[k] = axis.labels
        if axis.size is not None and values.shape[k] != axis.size:
            raise OptError(wrong_shape(span, name, _declared(kind, axes), str(list(values.shape))))
    return Bound(_of_kind(values, kind, name, span, members, value), tuple(labels))


def _declared(kind: str, axes: Sequence[Axis]) -> str:
    shown = ", ".join(str(a.name or a.size) for a in axes)
    return f"{kind.removeprefix('label:')}[{shown}]" if axes else kind.removeprefix("label:")


def _find(wanted: Sequence[Any], labels: Sequence[Any]) -> NDArray[np.int64]:
    """Positions of `wanted` in `labels`, −1 where absent; labels are compared as they are shown."""
    position = {_plain(x): i for i, x in enumerate(labels)}
    return np.array([position.get(_plain(w), -1) for w in wanted], dtype=np.int64)


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_plain(p) for p in x)
    return str(x).strip()


def _join(
    values: Any, k: int, labels: Labels, axis: Axis, value: Array, name: str, span: Span | None
) -> tuple[Any, Labels]:
    """The axis in the order of its set."""
    seen: set[Any] = set()
    for i, label in enumerate(labels):
        if _plain(label) in seen:
            index = tuple(i if j == k else 0 for j in range(values.ndim))
            raise OptError(duplicate_key(value.cell(index) or span, repr(label), span))
        seen.add(_plain(label))
    wanted = axis.labels or labels
    unknown = _find(labels, wanted)
    if (unknown < 0).any():
        i = int(np.argmax(unknown < 0))
        index = tuple(i if j == k else 0 for j in range(values.ndim))
        raise OptError(label_not_in_set(value.cell(index) or span, labels[i], axis.name or "the set", wanted, span))
    at = _find(wanted, labels)
    if (at < 0).any():
        raise OptError(
            labels_missing(span, name, axis.name or "the set", [w for w, p in zip(wanted, at, strict=True) if p < 0])
        )
    if np.array_equal(at, np.arange(values.shape[k])):
        return values, tuple(wanted)
    if sp.issparse(values):
        return (values[at] if k == 0 else sp.csr_array(values[:, at])), tuple(wanted)
    return np.take(values, at, axis=k), tuple(wanted)


def _bind_table(
    table: SparseTable, kind: str, axes: Sequence[Axis], name: str, span: Span | None, members: Labels
) -> Bound:
    """A long table as a dense array; every combination must be there, or the table have a default."""
    groups = _columns_of_axes(table, kind, axes, name, span)
    shape, positions, labels = [], [], []
    for axis, columns in zip(axes, groups, strict=True):
        found, wanted = _positions(table, axis, columns, span)
        if axis.size is not None and len(wanted) != axis.size:
            raise OptError(wrong_shape(span, name, _declared(kind, axes), str(len(wanted))))
        shape.append(len(wanted))
        positions.append(found)
        labels.append(tuple(wanted) if axis.labels is not None else None)
    flat = (
        np.ravel_multi_index(tuple(positions), tuple(shape))
        if positions
        else np.zeros(len(table.values), dtype=np.int64)
    )
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if len(again):
        row = int(order[again[0] + 1])
        key = tuple(str(c[row]) for c in table.columns)
        shown = key[0] if len(key) == 1 else "(" + ", ".join(key) + ")"
        raise OptError(duplicate_key(table.cell(row, None) or span, shown, span))
    size = int(np.prod(shape, dtype=int))
    if len(flat) < size and table.default is None:
        absent = np.setdiff1d(np.arange(size), flat)
        shown_cells = [_shown_key(i, shape, axes, labels) for i in absent[:6]]
        raise OptError(missing_cells(span, name, shown_cells, len(absent)))
    values = np.full(size, table.default, dtype=float) if len(flat) < size else np.empty(size, dtype=table.values.dtype)
    values[flat] = table.values
    dense = Array(values.reshape(shape), tuple(labels), table.source)
    return Bound(_of_kind(dense.values, kind, name, span, members, dense), tuple(labels))


def _shown_key(flat: int, shape: Sequence[int], axes: Sequence[Axis], labels: Sequence[Labels | None]) -> str:
    at = np.unravel_index(int(flat), tuple(shape))
    parts = [str(names[i]) if names is not None else str(int(i)) for i, names in zip(at, labels, strict=True)]
    return "(" + ", ".join(parts) + ")"


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
        raise OptError(wrong_shape(span, name, _declared(kind, axes), f"a table indexed by {', '.join(table.names)}"))
    return groups


def _positions(
    table: SparseTable, axis: Axis, columns: tuple[NDArray[Any], ...], span: Span | None
) -> tuple[Any, Sequence[Any]]:
    keys: Any = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    if axis.labels is None:
        whole = np.asarray(keys)
        try:
            at = whole.astype(np.int64)
        except ValueError:
            at = np.full(len(whole), -1)
        size = axis.size if axis.size is not None else int(at.max(initial=-1)) + 1
        bad = (at < 0) | (at >= size)
        if bad.any():
            row = int(np.argmax(bad))
            raise OptError(
                label_not_in_set(table.cell(row, None) or span, str(whole[row]), f"0 … {size - 1}", [], span)
            )
        return at, range(size)
    if len(columns) == 1:
        unique, inverse = np.unique(np.asarray(keys, dtype=str), return_inverse=True)
        wanted: Sequence[Any] = axis.labels or tuple(dict.fromkeys(str(k) for k in keys))
        found = _find(unique.tolist(), wanted)[inverse]
    else:
        wanted = axis.labels
        found = _find(keys, wanted)
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        label = keys[row]
        raise OptError(label_not_in_set(table.cell(row, None) or span, label, axis.name or "the set", wanted, span))
    return found, wanted


DTYPES: dict[str, Any] = {"real": np.float64, "int": np.int64, "bool": np.bool_, "complex": np.complex128}


def _of_kind(values: Any, kind: str, name: str, span: Span | None, members: Labels, value: Array) -> Any:
    """The values in the declared kind, read-only."""
    if kind.startswith("label:"):
        at = _find([str(x) for x in np.asarray(values).ravel().tolist()], members).reshape(np.shape(values))
        if (at < 0).any():
            index = tuple(int(i) for i in np.argwhere(at < 0)[0])
            set_name = kind.removeprefix("label:")
            raise OptError(label_not_in_set(value.cell(index) or span, str(values[index]), set_name, members, span))
        return _frozen(at)
    flat = values.data if sp.issparse(values) else values
    if flat.dtype.kind not in "biufc":
        raise OptError(wrong_kind(span, name, kind, "the value holds text"))
    if kind != "complex" and flat.dtype.kind == "c":
        raise OptError(wrong_kind(span, name, kind, "the value is complex"))
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        _refuse_nonfinite(values, flat, name, span, value)
    if kind == "int" and flat.dtype.kind == "f" and not np.array_equal(flat, np.round(flat)):
        raise OptError(wrong_kind(span, name, kind, "some values are not whole numbers"))
    if kind == "bool" and not np.isin(flat, (0, 1)).all():
        raise OptError(wrong_kind(span, name, kind, "some values are neither 0 nor 1"))
    if sp.issparse(values):
        return sp.csr_array(values, dtype=DTYPES[kind])
    return _frozen(np.asarray(values, dtype=DTYPES[kind], order="C"))


def _refuse_nonfinite(values: Any, flat: Any, name: str, span: Span | None, value: Array) -> None:
    """NaN is never taken; an infinity only in a value written out in the problem or given by the caller."""
    bad = np.isnan(flat) if value.source.path is None or value.infinite else ~np.isfinite(flat)
    if not bad.any():
        return
    if sp.issparse(values):
        raise OptError(not_finite(span, name, str(flat[bad][0]), ""))
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    at = "[" + ", ".join(str(i) for i in index) + "]" if index else ""
    raise OptError(not_finite(value.cell(index) or span, name, str(values[index]), at))


def _frozen(array: Any) -> Any:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
