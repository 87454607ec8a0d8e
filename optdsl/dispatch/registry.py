"""Backends and form matchers, found by listing their folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from typing import Any

import optdsl.backends
import optdsl.forms
from optdsl.backends.base import Backend
from optdsl.forms.base import Form, Mismatch
from optdsl.ir.problem import Problem


@cache
def backends() -> dict[str, Backend]:
    """All backends by name."""
    found: dict[str, Backend] = {}
    for entry in walk_packages(optdsl.backends.__path__, "optdsl.backends."):
        if entry.ispkg:
            continue
        module = import_module(entry.name)
        for value in vars(module).values():
            if not (isinstance(value, type) and issubclass(value, Backend) and value.__module__ == module.__name__):
                continue
            if "name" in vars(value):
                if value.name in found:
                    raise ValueError(f"two backends are named {value.name}")
                found[value.name] = value()
    return found


@dataclass(frozen=True)
class Matcher:
    """The matcher of one or more forms. `priority` is smaller for more special structure: the first form that a backend
    accepts decides (docs/dispatch.md)."""

    priority: int
    forms: Sequence[type[Form]]
    match: Callable[[Problem], Sequence[Form | Mismatch]]


@cache
def matchers() -> list[Matcher]:
    """From every module of `optdsl.forms` that has `match`, with its `FORMS` and `PRIORITY`; special structure first."""
    modules = [import_module(f"optdsl.forms.{m.name}") for m in iter_modules(optdsl.forms.__path__)]
    found = [Matcher(m.PRIORITY, m.FORMS, m.match) for m in modules if hasattr(m, "match")]
    return sorted(found, key=lambda m: m.priority)


def takes(backend: Backend, form: Any) -> bool:
    """True where the backend is written for exactly this kind of form."""
    return type(form) in backend.forms


def unmet(backend: Backend, form: Any) -> list[str]:
    """The assumptions of the backend that the form breaks, in words."""
    return [a.why_not for a in backend.assumes if not a.check(form)]
