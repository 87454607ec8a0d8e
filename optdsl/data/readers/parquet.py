"""Parquet tables, as long tables or columns; read by pyarrow where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optdsl.data.values import Array, SparseTable, Tuples, Value, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, needs_package, no_such_key
from optdsl.syntax.source import Cell, Span

NAMES = ("parquet",)
SUFFIXES = {".parquet": "parquet"}


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Value:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise OptError(needs_package(span, "parquet", "pyarrow")) from None
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise OptError(damaged_file(span, shown, "parquet", str(error))) from None
    present = table.column_names

    def column(name: str) -> Any:
        if name not in present:
            raise OptError(no_such_key(span, shown, name, present))
        return table.column(name).to_numpy(zero_copy_only=False)

    def cell(row: int, name: str | None) -> Cell:
        return Cell(shown, row + 1, name)

    source = file_source(f"parquet({shown!r})", path)
    index = kwargs.get("index")
    if index is not None:
        names = [index] if isinstance(index, str) else list(index)
        columns = tuple(column(n).astype(str) for n in names)
        if kwargs.get("value") is None:
            return Tuples(columns, tuple(names), source, cell)
        return SparseTable(columns, tuple(names), column(kwargs["value"]), source, cell, kwargs.get("default"))
    if isinstance(kwargs.get("value"), str):
        return Array(column(kwargs["value"]), (None,), source)
    picked = [str(n) for n in kwargs.get("columns", present)]
    return Array(np.stack([column(n) for n in picked], axis=1), (None, tuple(picked)), source)
