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
    cells, widths, lines = _cells(text, shown, separator or ("\t" if path.suffix.lower() == ".tsv" else ","))
    if not len(widths):
        raise OptError(damaged_file(span, shown, "csv", "it has no rows"))
    width = int(widths[0])
    if width == 1 and separator is None:
        for other in (";", "\t", "|"):
            if other in cells[0]:
                why = f"its cells are set apart by {other!r}, not by a comma; say separator={_quoted(other)}"
                raise OptError(damaged_file(Cell(shown, int(lines[0])), shown, "csv", why))
    if (widths != width).any():
        at = int(np.argmax(widths != width))
        raise OptError(ragged_row(Cell(shown, int(lines[at])), int(widths[at]), width, span))
    first = 1 if (not is_number(cells[0]) if header is None else header) else 0
    head = [c.strip() for c in cells[:width]] if first else None
    columns = [cells[first * width + k :: width] for k in range(width)]
    plain = "_" not in text
    return Table(
        shown, head, columns, len(widths) - first, lambda row: int(lines[row + first]), span, digits_only=plain
    )


def _cells(text: str, shown: str, separator: str) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """All cells row after row, each row's width, and the line at which it ends; blank rows left out. A text without quotes
    is split as a whole, which spares a list for each row."""
    if '"' not in text:
        every = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        blank = separator + " \t"
        kept = [k for k, line in enumerate(every) if line.strip(blank)]
        rows = [every[k] for k in kept]
        widths = np.array([line.count(separator) + 1 for line in rows], dtype=np.int64)
        return separator.join(rows).split(separator), widths, np.array(kept, dtype=np.int64) + 1
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    cells: list[str] = []
    found: list[tuple[int, int]] = []
    try:
        for row in reader:
            if any(map(str.strip, row)):
                cells.extend(row)
                found.append((len(row), reader.line_num))
    except csv.Error as error:
        raise OptError(damaged_file(Cell(shown, reader.line_num), shown, "csv", str(error))) from None
    widths, lines = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return cells, widths, lines


def _quoted(separator: str) -> str:
    return '"\\t"' if separator == "\t" else f'"{separator}"'
