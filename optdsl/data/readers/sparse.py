"""Sparse matrices: Matrix Market (`mtx`) and libsvm (`"data"`, `"target"`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, reader_argument
from optdsl.syntax.source import Span

NAMES = ("mtx", "libsvm")
SUFFIXES = {".mtx": "mtx", ".libsvm": "libsvm", ".svm": "libsvm"}


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    source = file_source(f"{path.suffix.lstrip('.')}({shown!r})", path)
    try:
        if path.suffix.lower() == ".mtx":
            from scipy.io import mmread

            found = mmread(path)
            values: Any = sp.csr_array(found) if sp.issparse(found) else found
            return Array(values, (None, None), source)
        part = args[0] if args else "data"
        if part not in ("data", "target") or kwargs:
            raise OptError(reader_argument(span, "libsvm", 'takes a file and "data" or "target"'))
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path))
    except (ValueError, TypeError, IndexError) as error:
        raise OptError(damaged_file(span, shown, path.suffix.lstrip("."), str(error))) from None
    if part == "target":
        return Array(y, (None,), source)
    return Array(sp.csr_array(X), (None, None), source)
