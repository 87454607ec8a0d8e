"""A file given for a `data` at run time: `--data A=a.npz:A`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from optdsl.data.readers import by_suffix, read_path, readers
from optdsl.data.values import Value
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, no_such_file


def read_given(path: str | Path, key: str | None = None) -> Value:
    """Reads a file by its suffix; `key` names an array, tensor or column. The caller gave the path, so it is allowed."""
    path = Path(path)
    if not path.is_file():
        folder = path.parent if path.parent.is_dir() else Path()
        raise OptError(no_such_file(None, str(path), [str(p) for p in islice(folder.iterdir(), 1000)]))
    name = by_suffix(path)
    if name is None:
        known = sorted({s for m in readers().values() for s in getattr(m, "SUFFIXES", {})})
        raise OptError(damaged_file(None, str(path), "data", f"its suffix is none of {', '.join(known)}"))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    if key is not None:
        if name in ("csv", "parquet"):
            kwargs["value"] = key
        else:
            args.append(key)
    return read_path(name, path, str(path), args, kwargs, None)
