"""Sparse matrices: Matrix Market (`mtx`) and libsvm (`"data"`, `"target"`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, reader_argument
from optdsl.syntax.diagnostics.names import too_large
from optdsl.syntax.source import Cell, Span

NAMES = ("mtx", "libsvm")
SUFFIXES = {".mtx": "mtx", ".libsvm": "libsvm", ".svm": "libsvm"}
#: Rows or columns of a sparse matrix, entries of a dense one.
LARGEST = 200_000_000


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    part = args[0] if args else "data"
    if kwargs or len(args) > (name == "libsvm") or part not in ("data", "target"):
        what = "a file only" if name == "mtx" else 'a file and "data" or "target"'
        raise OptError(reader_argument(span, name, f"takes {what}"))
    try:
        values = _matrix_market(path, span) if name == "mtx" else _libsvm(path, part)
    except (ValueError, TypeError, IndexError, OverflowError, EOFError) as error:
        raise OptError(damaged_file(span, shown, name, str(error))) from None
    if sp.issparse(values) and max(values.shape) > LARGEST:
        raise OptError(too_large(span, f"an axis of {shown!r}", max(values.shape), LARGEST))
    description = f"{name}({shown!r}, {part!r})" if name == "libsvm" else f"{name}({shown!r})"
    return Array(values, (None,) * values.ndim, file_source(description, path), lambda index: Cell(shown))


def _matrix_market(path: Path, span: Span | None) -> Any:
    """The sizes that the header claims are held against the file's length before anything is allocated."""
    from scipy.io import mminfo, mmread

    rows, columns, entries, form, _, _ = mminfo(path)
    dense = form == "array"
    size = rows * columns if dense else max(rows, columns)
    if size > LARGEST:
        raise OptError(too_large(span, f"{path.name!r}" if dense else f"an axis of {path.name!r}", size, LARGEST))
    if path.suffix == ".mtx" and entries > path.stat().st_size:
        raise ValueError(f"its header claims {entries:,} entries, more than it can hold")
    found = mmread(path)
    return sp.csr_array(found) if sp.issparse(found) else found


def _libsvm(path: Path, part: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    return y if part == "target" else sp.csr_array(X)
