"""Values given by the caller or written in the file: numbers, arrays, frames, sparse matrices, mappings of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.data.values import Array, SparseTable, Tuples, array_source, no_row
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import duplicate_key, unknown_value
from optdsl.syntax.source import Span


def from_python(
    value: Any, name: str, given: str = "given by the caller", span: Span | None = None
) -> Array | SparseTable | Tuples:
    """Without a copy where the value is an array already; `given` describes its source. Raises E318 for what is no array."""
    if isinstance(value, Array | SparseTable | Tuples):
        return value
    if sp.issparse(value):
        if value.ndim != 2:
            raise OptError(unknown_value(name, f"a sparse array of {value.ndim} axes; sparse ones have two", span))
        matrix = sp.csr_array(value)
        return Array(matrix, (None, None), array_source(given, matrix))
    if isinstance(value, Mapping):
        return _mapping(value, name, given, span)
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return _tensor(value, name, given, span)
    if hasattr(value, "index") and hasattr(value, "to_numpy"):
        return _frame(value, name, given, span)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise OptError(unknown_value(name, "a masked array with missing values", span))
    array = _array(value, name, span)
    return Array(array, (None,) * array.ndim, array_source(given, array))


def _array(value: Any, name: str, span: Span | None) -> NDArray[Any]:
    """Numbers, or text throughout."""
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError):
        raise OptError(unknown_value(name, "rows of different lengths", span)) from None
    if array.dtype.kind in "US" and not _all_text(value):
        raise OptError(unknown_value(name, "numbers mixed with text", span))
    if array.dtype.kind in "biufcU":
        return array
    if array.dtype.kind != "O" or array.size == 0 or not set(map(type, array.ravel().tolist())) <= {str}:
        wrong = next((x for x in array.ravel().tolist() if not isinstance(x, int | float | complex)), None)
        shown = type(value).__name__ if array.dtype.kind != "O" or array.ndim == 0 else f"values such as {wrong!r:.40}"
        raise OptError(unknown_value(name, shown, span))
    return array.astype(str)


def _all_text(value: Any) -> bool:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(map(_all_text, value))
    return isinstance(value, str | np.ndarray | np.str_)


def _tensor(value: Any, name: str, given: str, span: Span | None) -> Array:
    """A torch tensor; sparse ones stay sparse, bfloat16 widens."""
    tensor = value.detach().cpu().resolve_conj().resolve_neg()
    if str(tensor.layout) in ("torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"):
        if tensor.ndim != 2:
            raise OptError(unknown_value(name, f"a sparse tensor of {tensor.ndim} axes; sparse ones have two", span))
        coo = tensor.to_sparse_coo().coalesce()
        rows, columns = coo.indices().numpy()
        matrix = sp.csr_array((coo.values().numpy(), (rows, columns)), shape=tuple(coo.shape))
        return Array(matrix, (None, None), array_source(given, matrix))
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()
    try:
        array = tensor.numpy()
    except (TypeError, RuntimeError) as error:
        raise OptError(unknown_value(name, f"a tensor of {tensor.dtype} ({error})", span)) from None
    return Array(array, (None,) * array.ndim, array_source(given, array))


def _frame(value: Any, name: str, given: str, span: Span | None) -> Array | SparseTable:
    """A pandas Series or DataFrame: its index and columns are labels; a Series over pairs of labels is a long table."""
    array = _array(value.to_numpy(), name, span)
    labels = [_frame_labels(value.index)]
    if array.ndim == 2:
        labels.append(_frame_labels(value.columns))
    elif labels[0] and isinstance(labels[0][0], tuple):
        columns = tuple(np.array(c, dtype=object) for c in zip(*labels[0], strict=True))
        names = tuple(str(n) if n is not None else f"key {k}" for k, n in enumerate(value.index.names))
        return SparseTable(columns, names, array, array_source(given, array), no_row)
    return Array(array, tuple(labels), array_source(given, array))


def _frame_labels(index: Any) -> tuple[Any, ...] | None:
    """Labels of a frame's axis; the default 0, 1, 2 … is none."""
    labels = tuple(index.tolist())
    return None if labels == tuple(range(len(labels))) else labels


def _mapping(value: Mapping[Any, Any], name: str, given: str, span: Span | None) -> Array | SparseTable:
    keys = list(value)
    if keys and isinstance(keys[0], tuple):
        if not all(isinstance(k, tuple) and len(k) == len(keys[0]) for k in keys):
            raise OptError(unknown_value(name, "keys of different lengths", span))
        columns = tuple(np.array(c, dtype=object) for c in zip(*keys, strict=True))
        values = _array(list(value.values()), name, span)
        if values.ndim != 1:
            raise OptError(unknown_value(name, "a list for each pair of keys", span))
        names = tuple(f"key {k}" for k in range(len(columns)))
        return SparseTable(columns, names, values, array_source(given, values), no_row)
    labels = _distinct(keys, span)
    if keys and isinstance(value[keys[0]], Mapping):
        inner = list(value[keys[0]])
        rows = []
        for k in keys:
            if not isinstance(value[k], Mapping) or set(value[k]) != set(inner):
                raise OptError(unknown_value(name, f"rows with different labels (see {k!r})", span))
            rows.append([value[k][j] for j in inner])
        array = _array(rows, name, span)
        if array.ndim != 2:
            raise OptError(unknown_value(name, "mappings nested deeper than two", span))
        return Array(array, (labels, _distinct(inner, span)), array_source(given, array))
    array = _array(list(value.values()), name, span)
    return Array(array, (labels, *(None,) * (array.ndim - 1)), array_source(given, array))


def _distinct(keys: Sequence[Any], span: Span | None) -> tuple[Any, ...]:
    """Labels are told apart as they are shown, so 1 and "1" are one label."""
    shown = [str(k).strip() for k in keys]
    if len(set(shown)) < len(shown):
        raise OptError(duplicate_key(span, repr(next(s for i, s in enumerate(shown) if s in shown[:i]))))
    return tuple(keys)
