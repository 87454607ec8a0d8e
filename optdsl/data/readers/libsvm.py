"""libsvm files: the sparse matrix of features (`"data"`) and the labels (`"target"`)."""

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

NAMES = ("libsvm",)
SUFFIXES = {".libsvm": "libsvm", ".svm": "libsvm"}
#: Features.
LARGEST = 200_000_000


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    """Features count from 1, or from 0 where the file uses 0. Raises E305 for a damaged file, E219 for too many features."""
    part = args[0] if args else "data"
    if kwargs or len(args) > 1 or part not in ("data", "target"):
        raise OptError(reader_argument(span, "libsvm", 'takes a file and "data" or "target"'))
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path))
    except (ValueError, TypeError, IndexError, OverflowError, EOFError) as error:
        raise OptError(damaged_file(span, shown, "libsvm", str(error) or type(error).__name__)) from None
    if X.shape[1] > LARGEST:
        raise OptError(too_large(span, f"the features of {shown!r}", X.shape[1], LARGEST))
    values = y if part == "target" else sp.csr_array(X)
    source = file_source(f"libsvm({shown!r}, {part!r})", path)
    return Array(values, (None,) * values.ndim, source, lambda index: Cell(shown, index[0] + 1 if index else None))
