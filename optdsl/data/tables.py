"""Tables of named columns, as csv and parquet hold them, and the four ways a problem reads one: long, as tuples, by columns,
wide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.data.values import Array, SparseTable, Tuples, Value
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import duplicate_key, no_such_key, not_a_number, reader_argument
from optdsl.syntax.source import Cell, Span

#: Whole numbers up to this one are exact as 64-bit reals.
EXACT = 2**53
MINUS, INFINITY = "\u2212", "\u221e"


@dataclass(frozen=True, eq=False)
class Table:
    """`columns[c]` (rows,) is text as it stands in the file, or an array of numbers. `line(row)` is the place of a row as a
    person counts. `digits_only` promises that no text has a `_`, which Python would skip inside a number."""

    shown: str
    header: Sequence[str] | None
    columns: Sequence[Any]
    rows: int
    line: Callable[[int], int]
    span: Span | None
    digits_only: bool = False

    def column(self, name: str) -> int:
        """Raises E306 for a name that no column has, E309 for one that two have."""
        present = list(self.header or ())
        if name not in present:
            raise OptError(no_such_key(self.span, self.shown, name, present))
        if present.count(name) > 1:
            raise OptError(duplicate_key(Cell(self.shown, None, name), f"column {name!r}", self.span))
        return present.index(name)

    def cell(self, row: int, column: str | int | None) -> Cell:
        if isinstance(column, int):
            column = self.header[column] if self.header is not None else str(column + 1)
        return Cell(self.shown, self.line(row) if row < self.rows else None, column)

    def texts(self, column: int) -> list[str]:
        cells = self.columns[column]
        if isinstance(cells, np.ndarray):
            cells = map(str, cells.tolist())
        return list(map(str.strip, cells))

    def labels(self, column: int) -> NDArray[Any]:
        """(rows,) of text. Raises E307 at the first empty cell."""
        texts = self.texts(column)
        if "" in texts:
            raise OptError(not_a_number(self.cell(texts.index(""), column), "", self.span))
        return np.array(texts, dtype=object)

    def is_text(self, column: int) -> bool:
        """No cell is a number, and the first is not empty."""
        cells = self.columns[column]
        if isinstance(cells, np.ndarray) or not self.rows or not cells[0].strip() or _number(cells[0]) is not None:
            return False
        return all(_number(t) is None for t in cells)

    def numbers(self, column: int) -> NDArray[Any]:
        """(rows,) of reals, or of whole numbers where reals would round them. Raises E307 at the first cell that is none."""
        cells = self.columns[column]
        if isinstance(cells, np.ndarray):
            return cells
        try:
            if not self.digits_only:
                raise ValueError
            values = np.fromiter(map(float, cells), float, self.rows)
        except ValueError:
            values = np.empty(self.rows)
            for row, text in enumerate(cells):
                value = _number(text)
                if value is None:
                    raise OptError(not_a_number(self.cell(row, column), text, self.span)) from None
                values[row] = value
        infinite = np.flatnonzero(np.isinf(values))
        for row in infinite.tolist():
            if any(c.isdigit() for c in cells[row]):
                raise OptError(not_a_number(self.cell(row, column), cells[row], self.span))
        if len(values) and not len(infinite) and np.abs(values).max() > EXACT:
            return _whole(cells, values)
        return values


def _number(text: str) -> float | None:
    """A number as people and spreadsheets write it; a minus sign may be the typographic one."""
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        plain = text.replace(MINUS, "-").replace(INFINITY, "inf")
    try:
        return float(plain)
    except ValueError:
        return None


def is_number(text: str) -> bool:
    return _number(text) is not None


def _whole(cells: Sequence[str], values: NDArray[np.float64]) -> NDArray[Any]:
    """64-bit whole numbers where every cell is one; else the reals."""
    try:
        return np.array([int(t) for t in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        return values


# --- the ways to read a table --------------------------------------------------------------------


def value_of(table: Table, reader: str, kwargs: Mapping[str, Any], source: Any) -> Value:
    """`value=` with `index=`: a long table. `index=` alone: tuples. `value=` or `columns=`: columns. Neither: wide."""
    index, value, columns = (_names(reader, k, kwargs.get(k), table.span) for k in ("index", "value", "columns"))
    default = kwargs.get("default")
    if default is not None:
        if value is None or index is None:
            raise OptError(reader_argument(table.span, reader, "takes default= with value= and index="))
        number = isinstance(default, int | float | np.integer | np.floating)
        if not number or isinstance(default, bool) or np.isnan(default):
            raise OptError(reader_argument(table.span, reader, f"needs a number for default=, not {default!r}"))
    if value is not None and len(value) != 1:
        raise OptError(reader_argument(table.span, reader, 'takes one column for value=: value="km"'))
    if value is not None and columns is not None:
        raise OptError(reader_argument(table.span, reader, "takes value= or columns=, not both"))
    if index is not None and columns is not None:
        raise OptError(
            reader_argument(table.span, reader, 'takes index= with value=: value="km", index=["from", "to"]')
        )
    if index is not None:
        keys = tuple(table.labels(table.column(name)) for name in index)
        if value is None:
            return Tuples(keys, tuple(index), source, table.cell)
        values = _values(table, table.column(value[0]))
        return SparseTable(keys, tuple(index), values, source, table.cell, default, True, value[0])
    picked = value if value is not None else columns
    if picked is not None:
        return _columns(table, picked, value is not None, source)
    return _wide(table, source)


def _names(reader: str, key: str, given: Any, span: Span | None) -> list[str] | None:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) for n in names):
        raise OptError(reader_argument(span, reader, f'needs the name of a column for {key}=, or a list: ["a", "b"]'))
    return list(names)


def _values(table: Table, column: int) -> NDArray[Any]:
    """Numbers, or text where no cell of the column is a number (labels as data)."""
    return np.array(table.texts(column), dtype=str) if table.is_text(column) else table.numbers(column)


def _columns(table: Table, picked: Sequence[str], single: bool, source: Any) -> Array:
    at = [table.column(name) for name in picked]
    text = all(table.is_text(c) for c in at)
    parts = [_values(table, c) if text else table.numbers(c) for c in at]
    others = (c for c in range(len(table.columns)) if c not in at and table.is_text(c))
    unused = tuple(table.header[c] for c in others) if table.header is not None else ()
    if single:
        return Array(parts[0], (None,), source, lambda i: table.cell(i[0], at[0]), True, unused_labels=unused)
    stacked = np.stack(parts, axis=1)
    return Array(
        stacked, (None, tuple(picked)), source, lambda i: table.cell(i[0], at[i[1]]), True, unused_labels=unused
    )


def _wide(table: Table, source: Any) -> Array:
    """Labels in the first column and in the header. Where the first column has numbers, it may be values instead: then
    `plain` reads it so, and the axes that the table is bound to decide (`bind`)."""
    width = len(table.columns)
    if table.header is None or width < 2:
        return _plain(table, source)
    values = np.stack([table.numbers(c) for c in range(1, width)], axis=1)
    first = table.columns[0]
    some_numbers = isinstance(first, np.ndarray) or any(map(is_number, first)) or not table.rows
    labels = (tuple(table.labels(0).tolist()), tuple(table.header[1:]))
    return Array(
        values, labels, source, lambda i: table.cell(i[0], (i[1] if len(i) > 1 else 0) + 1), True,
        (lambda: _plain(table, source)) if some_numbers else None, table.header[0],
    )  # fmt: skip


def _plain(table: Table, source: Any) -> Array:
    parts = [table.numbers(c) for c in range(len(table.columns))]
    values = np.stack(parts, axis=1) if parts else np.zeros((table.rows, 0))
    names = tuple(table.header) if table.header is not None else None
    return Array(values, (None, names), source, lambda i: table.cell(i[0], i[1] if len(i) > 1 else 0), True)
