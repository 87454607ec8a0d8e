"""Values given by the caller or written in the file: numbers, arrays, frames, sparse matrices, mappings of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.data.values import Array, SparseTable, Tuples, array_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import unknown_value


def from_python(value: Any, name: str, given: str = "given by the caller") -> Array | SparseTable | Tuples:
    """Without a copy where the value is an array already; `given` describes its source. Raises E318 for what is no array."""
    if isinstance(value, Array | SparseTable | Tuples):
        return value
    if isinstance(value, Mapping):
        return _mapping(value, name, given)
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        return Array(matrix, (None, None), array_source(given, matrix))
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "index") and hasattr(value, "to_numpy"):
        array = value.to_numpy()
        labels = [_frame_labels(value.index)]
        if array.ndim == 2:
            labels.append(_frame_labels(value.columns))
        return Array(array, tuple(labels), array_source(given, array))
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        array = np.asarray(value)
    except ValueError:
        raise OptError(unknown_value(name, "rows of different lengths")) from None
    if array.dtype.kind not in "biufcUS":
        if not all(isinstance(v, str) for v in array.ravel()[:1000]) or array.size == 0:
            raise OptError(unknown_value(name, type(value).__name__))
        array = array.astype(str)
    return Array(array, (None,) * array.ndim, array_source(given, array))


def _frame_labels(index: Any) -> tuple[Any, ...] | None:
    """Labels of a frame's axis; the default 0, 1, 2 … is none."""
    labels = tuple(index.tolist())
    return None if labels == tuple(range(len(labels))) else labels


def _mapping(value: Mapping[Any, Any], name: str, given: str) -> Array | SparseTable:
    keys = list(value)
    if keys and isinstance(keys[0], tuple):
        columns = tuple(np.array(c, dtype=object) for c in zip(*keys, strict=True))
        values = np.array(list(value.values()), dtype=float)
        names = tuple(f"key {k}" for k in range(len(columns)))
        return SparseTable(columns, names, values, array_source(given, values), lambda row, column: None)
    if keys and isinstance(value[keys[0]], Mapping):
        inner = list(value[keys[0]])
        rows = []
        for k in keys:
            if set(value[k]) != set(inner):
                raise OptError(unknown_value(name, f"rows with different labels (see {k!r})"))
            rows.append([value[k][j] for j in inner])
        array = np.array(rows)
        return Array(array, (tuple(keys), tuple(inner)), array_source(given, array))
    array = np.array(list(value.values()))
    return Array(array, (tuple(keys), *(None,) * (array.ndim - 1)), array_source(given, array))
