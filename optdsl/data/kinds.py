"""The declared kind of values: real, int, bool, complex, or members of a set; each value that is none, at its cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.data.labels import find, keys_of, texts
from optdsl.data.values import Array, Axis, Labels, SparseTable
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import label_not_in_set, not_a_number, not_finite, wrong_kind
from optdsl.syntax.source import Cell, Span

DTYPES: dict[str, Any] = {"real": np.float64, "int": np.int64, "bool": np.bool_, "complex": np.complex128}
#: Entries examined at a time, so that a mapped file is read through without being held.
CHUNK = 1 << 22

CellOf = Callable[[tuple[int, ...]], Cell | None]


def declared(kind: str, axes: Sequence[Axis]) -> str:
    shown = ", ".join(str(a.name or a.size) for a in axes)
    return f"{kind.removeprefix('label:')}[{shown}]" if axes else kind.removeprefix("label:")


def of_kind(
    values: Any, kind: str, name: str, span: Span | None, members: Labels, cell: CellOf, value: Array | SparseTable
) -> Any:
    """The values in the declared kind, C-contiguous (or canonical CSR), read-only, without a copy where they are so already.

    Raises OptError E307, E310, E312, E313 with the cell.
    """
    if kind.startswith("label:"):
        return _members(values, kind.removeprefix("label:"), members, cell, span)
    sparse = sp.issparse(values)
    if sparse and not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    whole: Any = values if sparse else np.asarray(values, order="C")
    flat: NDArray[Any] = whole.data if sparse else whole.reshape(-1)
    from_kind = flat.dtype.kind

    def index(at: int) -> tuple[int, ...]:
        if not sparse:
            return tuple(int(i) for i in np.unravel_index(at, whole.shape))
        return int(np.searchsorted(whole.indptr, at, side="right")) - 1, int(whole.indices[at])

    if from_kind not in "biufc":
        place = cell(index(0)) if flat.size else None
        if place is not None:
            raise OptError(not_a_number(place, str(flat[0]), span))
        raise OptError(wrong_kind(span, name, kind, "the value holds text"))
    if from_kind == "c" and kind != "complex":
        raise OptError(wrong_kind(span, name, kind, "the value is complex"))
    meant = value.source.path is None or value.infinite
    refused = np.isnan if meant else _not_finite
    at = _first(flat, refused) if from_kind in "fc" else None
    if at is not None:
        where = "[" + ", ".join(map(str, index(at))) + "]" if whole.ndim else ""
        raise OptError(not_finite(cell(index(at)) or span, name, str(flat[at]), where, span))
    if kind in ("int", "bool"):
        at = _first(flat, _no_int if kind == "int" else _no_bool)
        if at is not None:
            rule = "is no whole number of 64 bits" if kind == "int" else "is neither 0 nor 1"
            raise OptError(wrong_kind(cell(index(at)) or span, name, kind, f"{flat[at]} {rule}", span))
    if sparse:
        return sp.csr_array(whole, dtype=DTYPES[kind])
    return frozen(np.asarray(whole, dtype=DTYPES[kind], order="C"))


def _not_finite(x: NDArray[Any]) -> NDArray[np.bool_]:
    return ~np.isfinite(x)


def _no_int(x: NDArray[Any]) -> NDArray[np.bool_]:
    if x.dtype.kind == "u":
        return x > np.uint64(2**63 - 1)
    if x.dtype.kind == "f":
        return (x != np.rint(x)) | (np.abs(x) >= 2.0**63)
    return np.zeros(x.shape, dtype=bool)


def _no_bool(x: NDArray[Any]) -> NDArray[np.bool_]:
    return (x != 0) & (x != 1)


def _first(flat: NDArray[Any], wrong: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int | None:
    """The first entry that is wrong."""
    for start in range(0, flat.size, CHUNK):
        found = wrong(flat[start : start + CHUNK])
        if found.any():
            return start + int(np.argmax(found))
    return None


def _members(values: Any, set_name: str, members: Labels, cell: CellOf, span: Span | None) -> Any:
    """Positions of the values in the set."""
    whole: Any = values.toarray() if sp.issparse(values) else np.asarray(values)
    keys = texts(whole.reshape(-1))
    at = find(keys, keys_of(members))
    if (at < 0).any():
        first = int(np.argmax(at < 0))
        index = tuple(int(i) for i in np.unravel_index(first, whole.shape))
        raise OptError(label_not_in_set(cell(index) or span, keys[first], set_name, members, span))
    return frozen(at.reshape(whole.shape))


def frozen(array: Any) -> Any:
    """A read-only view; a plain array where it was memory-mapped."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
