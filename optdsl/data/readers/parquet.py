"""Parquet tables, read as csv tables are; by pyarrow where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optdsl.data.tables import Table, value_of
from optdsl.data.values import Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, needs_package, not_a_number, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("parquet",)
SUFFIXES = {".parquet": "parquet"}
KEYWORDS = ("value", "index", "columns", "default")


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    """Rows are counted from 1. Raises E316 without pyarrow, E305 for a damaged file, E307 for a missing value."""
    if args or set(kwargs) - set(KEYWORDS):
        raise OptError(reader_argument(span, "parquet", f"takes a file and {', '.join(KEYWORDS)}"))
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OptError(needs_package(span, "parquet", "pyarrow")) from None
    try:
        content = pq.ParquetFile(path).read()
        columns = [_column(pa, content.column(k)) for k in range(content.num_columns)]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise OptError(damaged_file(span, shown, "parquet", str(error).splitlines()[0])) from None
    for column, head in zip(columns, content.column_names, strict=True):
        if column is None:
            raise OptError(damaged_file(Cell(shown, None, head), shown, "numbers or text", "its type is neither"))
        if isinstance(column, int):
            raise OptError(not_a_number(Cell(shown, column + 1, head), "", span))
    table = Table(shown, content.column_names, columns, content.num_rows, lambda row: row + 1, span)
    return value_of(table, "parquet", kwargs, file_source(f"parquet({shown!r})", path))


def _column(pa: Any, column: Any) -> Any:
    """Numbers as an array, text as a list; the row of a missing value; None for other types."""
    if column.null_count:
        return int(np.argmax(column.is_null().to_numpy()))
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_date(kind):
        return [str(x) for x in column.to_pylist()]
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column.to_numpy()
    return None
