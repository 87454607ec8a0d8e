"""Tensors of a safetensors file, memory-mapped; bfloat16 widens to float32."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Cell, Span

NAMES = ("safetensors",)
SUFFIXES = {".safetensors": "safetensors"}
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "C64": "<c8",
}  # fmt: skip


def read(name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    if len(args) != 1 or kwargs or not isinstance(args[0], str):
        raise OptError(reader_argument(span, "safetensors", "takes a file and the name of a tensor in it"))
    start, header = _header(path, shown, span)
    if args[0] not in header:
        raise OptError(no_such_key(span, shown, args[0], list(header)))
    entry = header[args[0]]
    values = _tensor(path, shown, start, entry, span)
    note = ", bfloat16" if entry["dtype"] == "BF16" else ""
    source = file_source(f"safetensors({shown!r}, {args[0]!r}){note}", path)
    return Array(values, (None,) * values.ndim, source, lambda index: Cell(shown, None, args[0]))


def open_tensors(path: Path, span: Span | None) -> Iterator[tuple[str, Any]]:
    """(name, array) of every tensor, in the order of the file's header."""
    start, header = _header(path, path.name, span)
    for name, entry in header.items():
        yield name, _tensor(path, path.name, start, entry, span)


def _header(path: Path, shown: str, span: Span | None) -> tuple[int, dict[str, Any]]:
    """Where the tensors begin, and each one's dtype, shape and offsets: 8 bytes of length, JSON, bytes. The safetensors
    package proves the header consistent with the file first."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
    except (SafetensorError, OSError, ValueError) as error:
        raise OptError(damaged_file(span, shown, "safetensors", str(error))) from None
    header.pop("__metadata__", None)
    return 8 + length, header


def _tensor(path: Path, shown: str, start: int, entry: Mapping[str, Any], span: Span | None) -> NDArray[Any]:
    if entry["dtype"] not in DTYPES:
        raise OptError(damaged_file(span, shown, "numbers", f"the dtype {entry['dtype']} has no counterpart in NumPy"))
    dtype, shape = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"])
    if 0 in shape:
        return np.zeros(shape, dtype)
    values = np.memmap(path, dtype, "r", start + entry["data_offsets"][0], shape)
    if entry["dtype"] == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values
