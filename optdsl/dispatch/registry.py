"""Backends and form matchers, found by listing their folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


#: Special structure first: the first form that a backend accepts decides; see docs/dispatch.md for the reasons.
ORDER = ("match_mask", "match_manifold", "match_linear", "match_smooth", "match_conic", "match_nonlinear")


class Matcher:
    """The matcher of one or more forms, imported when first used."""

    def __init__(self, module: str) -> None:
        self.module = module

    @property
    def forms(self) -> Sequence[type[Form]]:
        return import_module(self.module).FORMS

    @property
    def match(self) -> Callable[[Problem], Sequence[Form | Mismatch]]:
        return import_module(self.module).match


@cache
def matchers() -> list[Matcher]:
    names = [m.name for m in iter_modules(optdsl.forms.__path__) if m.name.startswith("match_")]
    ordered = sorted(names, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))
    return [Matcher(f"optdsl.forms.{n}") for n in ordered]


def takes(backend: Backend, form: Any) -> bool:
    """True where the backend is written for exactly this kind of form."""
    return type(form) in backend.forms


def unmet(backend: Backend, form: Any) -> list[str]:
    """The assumptions of the backend that the form breaks, in words."""
    return [a.why_not for a in backend.assumes if not a.check(form)]
