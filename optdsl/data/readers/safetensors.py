"""Tensors of a safetensors file, by name; half precisions widen to float32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from optdsl.data.values import Array, file_source
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_key, reader_argument
from optdsl.syntax.source import Span

NAMES = ("safetensors",)
SUFFIXES = {".safetensors": "safetensors"}


def _open(path: Path, shown: str, span: Span | None) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise OptError(damaged_file(span, shown, "safetensors", str(error))) from None


def _numpy(tensor: Any) -> Any:
    import torch

    return (tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor).numpy()


def read(path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None) -> Array:
    with _open(path, shown, span) as file:
        present = list(file.keys())
        if len(args) != 1 or kwargs:
            raise OptError(reader_argument(span, "safetensors", "takes a file and the name of a tensor in it"))
        if args[0] not in present:
            raise OptError(no_such_key(span, shown, str(args[0]), present))
        values = _numpy(file.get_tensor(args[0]))
    return Array(values, (None,) * values.ndim, file_source(f"safetensors({shown!r}, {args[0]!r})", path))


def open_tensors(path: Path, span: Span | None) -> Iterator[tuple[str, Any]]:
    """(name, array) of every tensor, one at a time."""
    with _open(path, path.name, span) as file:
        for name in file.keys():  # noqa: SIM118  the file is no mapping
            yield name, _numpy(file.get_tensor(name))
