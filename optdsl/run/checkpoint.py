"""Checkpoints: a method's state, a dataclass of arrays and numbers, written atomically to one npz file."""

from __future__ import annotations

import io
import json
import os
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

S = TypeVar("S")


def write_atomically(path: Path, content: bytes) -> None:
    """Writes beside the target, then renames, so that no reader ever sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def save_state(path: Path, key: str, state: Any, extra: dict[str, Any], best: Any = None) -> None:
    """`key` identifies problem, backend and options; a checkpoint of another key is not resumed. `best` is the best
    state so far, where it is not the last one."""
    arrays: dict[str, Any] = {}
    plain: dict[str, dict[str, Any]] = {}
    for name, kept in (("state", state), ("best", best)):
        if kept is None:
            continue
        values = {f.name: getattr(kept, f.name) for f in fields(kept)}
        arrays |= {f"{name}.{k}": v for k, v in values.items() if isinstance(v, np.ndarray)}
        plain[name] = {k: v for k, v in values.items() if not isinstance(v, np.ndarray)}
    buffer = io.BytesIO()
    header = json.dumps({"key": key, "plain": plain, "extra": extra})
    np.savez(buffer, header=np.array(header), **arrays)
    write_atomically(path, buffer.getvalue())


def load_state(path: Path, key: str, state_type: type[S]) -> tuple[S, S, dict[str, Any]] | None:
    """The saved state, the best one and the extras, or None when the file is of another run."""
    if not is_dataclass(state_type):
        raise TypeError(f"{state_type.__name__} is not a dataclass")
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(str(archive["header"]))
        if header["key"] != key:
            return None
        values = header["plain"]
        for name in archive.files:
            kept, _, field = name.partition(".")
            if field:
                values[kept][field] = archive[name]
    state = state_type(**values["state"])
    return state, state_type(**values["best"]) if "best" in values else state, header["extra"]
