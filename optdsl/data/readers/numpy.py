"""NumPy's `npy` (memory-mapped) and `npz`; pickled objects are never loaded."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Span

NAMES = ("npy", "npz")
#: What NumPy and zipfile raise on damaged files: headers are parsed as Python literals, members as compressed streams.
FAULTS = (
    ValueError, KeyError, OverflowError, SyntaxError, NotImplementedError, RuntimeError, TypeError, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
SUFFIXES = {".npy": "npy", ".npz": "npz"}


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if kwargs or len(args) > 1:
        raise OptError(reader_argument(span, "npz", "takes a file and the name of an array in it"))
    try:
        if path.suffix.lower() == ".npz" or zipfile.is_zipfile(path):
            with np.load(path, allow_pickle=False) as archive:
                key = _key(archive.files, args, shown, span)
                values = archive[key]
            description = f"npz({shown!r}, {key!r})"
        else:
            if args:
                raise OptError(reader_argument(span, "npy", "takes a file only; it holds one array"))
            values = np.load(path, mmap_mode="r", allow_pickle=False)
            description = f"npy({shown!r})"
    except FAULTS as error:
        raise OptError(damaged_file(span, shown, "NumPy data", str(error))) from None
    if values.dtype.kind not in "biufcU":
        raise OptError(damaged_file(span, shown, "NumPy data", f"its dtype {values.dtype} is no number"))
    return Array(values, (None,) * values.ndim, file_source(description, path))


def _key(present: Sequence[str], args: Sequence[Any], shown: str, span: Span | None) -> str:
    if not args:
        if len(present) == 1:
            return present[0]
        raise OptError(reader_argument(span, "npz", f"needs the name of one of {', '.join(present)}"))
    if args[0] not in present:
        raise OptError(no_such_key(span, shown, str(args[0]), list(present)))
    return str(args[0])
