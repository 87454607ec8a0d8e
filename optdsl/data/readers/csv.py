"""CSV files (`tsv` by tabs): long (`value=`, `index=`), sets of tuples (`index=` alone), wide with labels, or plain numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.data.tables import Table, is_number, value_of
from optdsl.data.values import Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, ragged_row, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("csv",)
SUFFIXES = {".csv": "csv", ".tsv": "csv"}
KEYWORDS = ("value", "index", "columns", "default", "header", "separator")


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    if args or set(kwargs) - set(KEYWORDS):
        raise OptError(reader_argument(span, "csv", f"takes a file and {', '.join(KEYWORDS)}"))
    header, separator = kwargs.get("header"), kwargs.get("separator")
    if header not in (None, True, False) or isinstance(header, float):
        raise OptError(reader_argument(span, "csv", "takes true or false for header="))
    if separator is not None and not (isinstance(separator, str) and len(separator) == 1 and separator not in '"\r\n'):
        raise OptError(reader_argument(span, "csv", 'takes one character for separator=: separator=";"'))
    table = load(path, shown, span, header, separator)
    return value_of(table, "csv", kwargs, file_source(f"csv({shown!r})", path))


def load(path: Path, shown: str, span: Span | None, header: bool | None, separator: str | None) -> Table:
    """All cells; blank rows are left out. `header` None: there is one unless the first cell is a number.

    Raises E305 for what is no table, E315 for a row of another length.
    """
    content = path.read_bytes()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise OptError(damaged_file(span, shown, "csv", "it is UTF-16 text; save it as UTF-8"))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OptError(damaged_file(Cell(shown, line), shown, "csv", "it is not UTF-8 text")) from None
    rows, lines = _rows(text, shown, separator or ("\t" if path.suffix.lower() == ".tsv" else ","))
    if not rows:
        raise OptError(damaged_file(span, shown, "csv", "it has no rows"))
    width = len(rows[0])
    if width == 1 and separator is None:
        for other in (";", "\t", "|"):
            if other in rows[0][0]:
                why = f"its cells are set apart by {other!r}, not by a comma; say separator={_quoted(other)}"
                raise OptError(damaged_file(Cell(shown, int(lines[0])), shown, "csv", why))
    if set(map(len, rows)) != {width}:
        at = next(k for k, row in enumerate(rows) if len(row) != width)
        raise OptError(ragged_row(Cell(shown, int(lines[at])), len(rows[at]), width, span))
    has_header = not is_number(rows[0][0]) if header is None else header
    head = [c.strip() for c in rows[0]] if has_header else None
    first = 1 if has_header else 0
    columns = list(zip(*rows[first:], strict=True)) if len(rows) > first else [()] * width
    return Table(
        shown, head, columns, len(rows) - first, lambda row: int(lines[row + first]), span, digits_only="_" not in text
    )


def _rows(text: str, shown: str, separator: str) -> tuple[list[list[str]], NDArray[np.int64]]:
    """The rows that are not blank, and the line at which each ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise OptError(damaged_file(Cell(shown, reader.line_num), shown, "csv", str(error))) from None
    lines = np.arange(1, len(rows) + 1)
    if reader.line_num != len(rows):  # some cell holds a line break
        again = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
        lines = np.fromiter((again.line_num for _ in again), np.int64, len(rows))
    kept = [k for k, row in enumerate(rows) if row and (row[0].strip() or any(c.strip() for c in row))]
    if len(kept) < len(rows):
        rows, lines = [rows[k] for k in kept], lines[kept]
    return rows, lines


def _quoted(separator: str) -> str:
    return '"\\t"' if separator == "\t" else f'"{separator}"'
