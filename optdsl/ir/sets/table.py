"""The record of one kind of set. The modules of this folder are the only place a set is defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import optdsl.ir.sets as folder
from optdsl.ir.nodes import Expr, Var
from optdsl.ir.problem import SetSpec

Group = Literal["convex", "manifold", "pattern", "discrete", "function"]
#: (relation, left, right): left relation right, entry by entry.
RowTriple = tuple[str, Expr, Expr]
Array = NDArray[Any]


@dataclass
class Fresh:
    """Makes auxiliary variables while a set is written as rows. `lower` and `upper` are the variable's bounds (±inf)."""

    make: Callable[[str, tuple[int, ...], str], Var]
    lower: Array
    upper: Array


class NeedsBounds(Exception):
    """The set can be written as rows only when the variable has finite bounds."""


@dataclass(frozen=True)
class SetKind:
    """`params` are the arguments with defaults (`...`: required), in positional order.

    `accepts(shape, kind, params)` gives the broken rule as a sentence, or None. `rows(x, params, fresh)` writes
    membership as rows (absent: only special forms take the set). `bounds(shape, params)` gives (lower, upper) where
    membership is just that. `violation(x, params)` is the distance by which membership fails, scaled by 1 + ‖x‖,
    computed without any of the above.
    """

    name: str
    group: Group
    doc: str
    latex: str
    params: Mapping[str, Any] = field(default_factory=dict)
    accepts: Callable[[tuple[int, ...], str, Mapping[str, Any]], str | None] = lambda shape, kind, params: None
    rows: Callable[[Expr, Mapping[str, Any], Fresh], Sequence[RowTriple]] | None = None
    bounds: Callable[[tuple[int, ...], Mapping[str, Any]], tuple[Array, Array]] | None = None
    integer: bool = False
    violation: Callable[[Array, Mapping[str, Any]], float] | None = None


@cache
def set_kinds() -> dict[str, SetKind]:
    """All kinds by name, from the modules of this folder."""
    found: dict[str, SetKind] = {}
    for entry in iter_modules(folder.__path__):
        for kind in getattr(import_module(f"{folder.__name__}.{entry.name}"), "SETS", ()):
            if kind.name in found:
                raise ValueError(f"set {kind.name} is defined twice")
            found[kind.name] = kind
    return found


def members(spec: SetSpec | None) -> Sequence[SetSpec]:
    """The parts of an intersection; one part for a plain set; none without a set."""
    if spec is None:
        return ()
    return spec.members if spec.kind == "&" else (spec,)


def violation(spec: SetSpec | None, x: Array) -> float:
    """The worst violation over the parts of a set."""
    worst = 0.0
    for part in members(spec):
        check = set_kinds()[part.kind].violation
        if check is not None:
            worst = max(worst, check(np.asarray(x), part.params))
    return worst
