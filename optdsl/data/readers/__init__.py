"""Readers by format, one file each: `NAMES` are the functions of the language, `SUFFIXES` the file names they take, and
`read(name, path, shown, args, kwargs, span) -> Value` (or `make(name, args, kwargs, span)` for values without a file)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from optdsl.data.access import Access
from optdsl.data.values import Value
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import damaged_file, reader_argument
from optdsl.syntax.source import Span


@cache
def readers() -> dict[str, ModuleType]:
    """The reader of each function name."""
    modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)]
    return {name: module for module in modules for name in module.NAMES}


def is_reader(name: str) -> bool:
    return name in readers()


def read(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], access: Access, span: Span | None) -> Value:
    """The value of a reader's call in a problem file. Raises OptError E303–E317."""
    module = readers()[name]
    if hasattr(module, "make"):
        return module.make(name, args, kwargs, span)
    if not args or not isinstance(args[0], str):
        raise OptError(reader_argument(span, name, "needs the file's name first"))
    path = access.resolve(args[0], span)
    return read_path(name, path, args[0], args[1:], kwargs, span)


def read_path(
    name: str, path: Path, shown: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span | None
) -> Value:
    try:
        return readers()[name].read(name, path, shown, args, kwargs, span)
    except (OSError, EOFError, MemoryError) as error:
        raise OptError(damaged_file(span, shown, name, str(error) or type(error).__name__)) from None


def by_suffix(path: Path) -> str | None:
    """The reader's name for a file by its suffix."""
    for module in readers().values():
        if path.suffix.lower() in getattr(module, "SUFFIXES", {}):
            return str(module.SUFFIXES[path.suffix.lower()])
    return None
