"""CSV tables: long (`value=`, `index=`), sets of tuples (`index=` alone), wide with labels, or plain numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.data.values import Array, SparseTable, Tuples, Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, not_a_number, ragged_row, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("csv",)
SUFFIXES = {".csv": "csv"}
KEYWORDS = ("value", "index", "columns", "default", "header")


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a file as text; `first` is the line of the first row of `rows`, as a person counts."""

    shown: str
    header: list[str] | None
    rows: list[list[str]]
    lines: list[int]
    span: Span | None

    @property
    def width(self) -> int:
        return len(self.header) if self.header is not None else len(self.rows[0]) if self.rows else 0

    def column(self, name: str) -> int:
        if self.header is None or name not in self.header:
            raise OptError(no_such_key(self.span, self.shown, name, self.header or []))
        return self.header.index(name)

    def cell(self, row: int, column: str | int | None) -> Cell:
        shown = column
        if isinstance(column, int):
            shown = self.header[column] if self.header is not None else str(column + 1)
        return Cell(self.shown, self.lines[row], shown)  # type: ignore[arg-type]

    def texts(self, column: int) -> NDArray[Any]:
        return np.array([r[column].strip() for r in self.rows], dtype=str)

    def numbers(self, column: int) -> NDArray[np.float64]:
        """A column as numbers. Raises E307 at the first cell that is none."""
        texts = [r[column] for r in self.rows]
        try:
            values = np.array(texts, dtype=float)
        except ValueError:
            values = np.array([self._number(t, i, column) for i, t in enumerate(texts)])
        return values

    def _number(self, text: str, row: int, column: int) -> float:
        plain = text.strip().replace("\u2212", "-")
        try:
            if "_" in plain:
                raise ValueError
            return float(plain)
        except ValueError:
            raise OptError(not_a_number(self.cell(row, column), text, self.span)) from None


def load(path: Path, shown: str, span: Span | None, header: bool | None) -> Table:
    """All cells; blank rows at the end are left out. `header` None: there is one unless the first row is all numbers."""
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if any(c.strip() for c in row):
                    rows.append(row)
                    lines.append(reader.line_num)
    except UnicodeDecodeError:
        raise OptError(damaged_file(span, shown, "csv", "it is not UTF-8 text")) from None
    except csv.Error as error:
        raise OptError(damaged_file(Cell(shown, reader.line_num), shown, "csv", str(error))) from None
    if not rows:
        raise OptError(damaged_file(span, shown, "csv", "it has no rows"))
    has_header = not all(_is_number(c) for c in rows[0]) if header is None else header
    head = [c.strip() for c in rows[0]] if has_header else None
    body, body_lines = (rows[1:], lines[1:]) if has_header else (rows, lines)
    width = len(rows[0])
    for row, line in zip(body, body_lines, strict=True):
        if len(row) != width:
            raise OptError(ragged_row(Cell(shown, line), len(row), width, span))
    return Table(shown, head, body, body_lines, span)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    wrong = [k for k in kwargs if k not in KEYWORDS]
    if wrong or args:
        raise OptError(reader_argument(span, "csv", f"takes a file and {', '.join(KEYWORDS)}"))
    table = load(path, shown, span, kwargs.get("header"))
    source = file_source(f"csv({shown!r})", path)
    index = _names(kwargs.get("index"))
    if index is not None:
        columns = tuple(table.texts(table.column(name)) for name in index)
        if kwargs.get("value") is None:
            return Tuples(columns, tuple(index), source, table.cell)
        at = table.column(str(kwargs["value"]))
        values = _values(table, at)
        return SparseTable(columns, tuple(index), values, source, table.cell, kwargs.get("default"))
    picked = _names(kwargs.get("columns")) or _names(kwargs.get("value"))
    if picked is not None:
        at_columns = [table.column(name) for name in picked]
        stacked = np.stack([_values(table, c) for c in at_columns], axis=1)
        if isinstance(kwargs.get("value"), str):
            return Array(stacked[:, 0], (None,), source, lambda i: table.cell(i[0], at_columns[0]))
        return Array(stacked, (None, tuple(picked)), source, lambda i: table.cell(i[0], at_columns[i[1]]))
    return _wide(table, source)


def _names(given: Any) -> list[str] | None:
    if given is None:
        return None
    return [given] if isinstance(given, str) else [str(g) for g in given]


def _values(table: Table, column: int) -> NDArray[Any]:
    """Numbers, or text where no cell of the column is a number (labels as data)."""
    texts = table.texts(column)
    if (
        len(texts)
        and not any(_is_number(t.replace("\u2212", "-")) for t in texts[:50])
        and texts[0]
        and not texts[0][0].isdigit()
    ):
        return texts
    return table.numbers(column)


def _wide(table: Table, source: Any) -> Array:
    """Labels in the first column and row where the first column is not numbers; else plain numbers."""
    labelled = table.header is not None and bool(table.rows) and not all(_is_number(r[0]) for r in table.rows)
    first = 1 if labelled else 0
    columns = [table.numbers(c) for c in range(first, table.width)]
    values = np.stack(columns, axis=1) if columns else np.zeros((len(table.rows), 0))
    if not labelled:
        return Array(values, (None, None), source, lambda i: table.cell(i[0], i[1] if len(i) > 1 else None))
    assert table.header is not None
    labels = (tuple(table.texts(0).tolist()), tuple(table.header[1:]))
    return Array(values, labels, source, lambda i: table.cell(i[0], (i[1] if len(i) > 1 else 0) + 1))
