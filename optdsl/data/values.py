"""What a reader yields: arrays with labels, long tables, sets of tuples; each knows where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.syntax.source import Cell

Labels = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Source:
    """`description` in words, `path` the file as found; `digest` gives the SHA-256 when it is asked for."""

    description: str
    path: str | None
    digest: Callable[[], str]

    @cached_property
    def sha256(self) -> str:
        return self.digest()


def file_source(description: str, path: Path) -> Source:
    def digest() -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)

    return Source(description, str(path), digest)


def _digest(file: Any) -> str:
    h = hashlib.sha256()
    for chunk in iter(lambda: file.read(1 << 20), b""):
        h.update(chunk)
    return h.hexdigest()


def array_source(description: str, values: Any) -> Source:
    """A value without a file: the digest is of bytes, dtype and shape (of the triplets of a sparse matrix)."""

    def digest() -> str:
        h = hashlib.sha256()
        parts = [values.indptr, values.indices, values.data] if sp.issparse(values) else [np.ascontiguousarray(values)]
        for p in parts:
            h.update(str((p.dtype.str, p.shape)).encode())
            h.update(p.tobytes() if p.dtype.kind != "O" else repr(p.tolist()).encode())
        return h.hexdigest()

    return Source(description, None, digest)


def no_cell(index: tuple[int, ...]) -> Cell | None:
    return None


#: The place of a row, and of a column in it where one is named.
CellOfRow = Callable[[int, str | None], Cell | None]


def no_row(row: int, column: str | None) -> Cell | None:
    return None


@dataclass(frozen=True, eq=False)
class Array:
    """`values` is an ndarray or a SciPy CSR array; `labels` per axis, None where an axis has none. `cell(index)` is the
    place of an entry in its file, where it has one.

    `infinite`: an infinity stands in the file as a word (`inf`), so it is meant. `plain`, where it is given, reads the
    same table as numbers without labels in its first column, whose name is `corner`. `unused_labels` are columns of
    text that the call names neither as labels nor as values.
    """

    values: Any
    labels: tuple[Labels | None, ...]
    source: Source
    cell: Callable[[tuple[int, ...]], Cell | None] = no_cell
    infinite: bool = False
    plain: Callable[[], Array] | None = None
    corner: str = ""
    unused_labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A long table: one value for each tuple of labels. `columns[c]` (rows,) holds labels; `cell(row, column)` is a place in
    the file, `value_name` the column of the values there. `default` stands where no row is."""

    columns: tuple[NDArray[Any], ...]
    names: tuple[str, ...]
    values: NDArray[Any]
    source: Source
    cell: CellOfRow
    default: float | None = None
    infinite: bool = False
    value_name: str | None = None


@dataclass(frozen=True, eq=False)
class Tuples:
    """A set of tuples: columns of labels of equal length."""

    columns: tuple[NDArray[Any], ...]
    names: tuple[str, ...]
    source: Source
    cell: CellOfRow


Value = Array | SparseTable | Tuples


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
