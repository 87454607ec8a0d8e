"""The record of one function of the language. The modules of this folder are the only place a function is defined.

Four kinds, by how a value is computed over a table of rows (see `optdsl.lower`):

- `elementwise`: `f(m, x, …)` on arrays of one shape (or scalars);
- `reduction`: `f(m, X, **params)` turns X of shape (B, k) into (B,); with `axis=` the other axes are the batch;
- `matrix`: `f(m, X, …, **params)` on whole matrices; NumPy and torch get leading batch axes, CasADi and CVXPY one each;
- `structural`: entries are moved or added, never changed: an index array, or a sparse matrix of known coefficients.

In a lowering, `m` is the target's module: numpy, torch, casadi or cvxpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

import optdsl.functions as folder

#: Known sign of every entry: +1 nonnegative, -1 nonpositive, 0 zero, None not known.
Sign = int | None
Curvature = Literal["constant", "affine", "convex", "concave", "unknown"]
#: "+" nondecreasing, "-" nonincreasing, "=" neither.
Monotone = str
Lowering = Callable[..., Any]
Shape = tuple[int, ...]


def nonnegative(*signs: Sign) -> Sign:
    return 1


def unknown_sign(*signs: Sign) -> Sign:
    return None


def same_sign(*signs: Sign) -> Sign:
    """All arguments' common sign."""
    known = {s for s in signs if s != 0}
    if not known:
        return 0
    return known.pop() if len(known) == 1 else None


@dataclass(frozen=True)
class Function:
    """`params` are keyword arguments fixed at compile time, with defaults (`...` marks a required one); positional
    arguments past `arity` fill them in order. `monotone(signs)` gives one mark an argument. `domain(*numpy)` tells where
    constants are legal, `domain_words` how to say it; those in `positive` are held to > 0 even where others vary.
    A missing lowering means that the target has no such function. `prox` names the class of `optdsl.kernels.prox`.
    `derivative` is the formula, for the manual.
    """

    name: str
    kind: Literal["elementwise", "reduction", "matrix", "structural"]
    doc: str
    latex: str
    arity: int | None = 1
    params: Mapping[str, Any] = field(default_factory=dict)
    sign: Callable[..., Sign] = unknown_sign
    curvature: Curvature | Callable[[Mapping[str, Any]], Curvature] = "unknown"
    monotone: str | Callable[..., Sequence[Monotone]] = "="
    smooth: bool = True
    domain: Callable[..., Any] | None = None
    domain_words: str = ""
    positive: Sequence[int] = ()
    derivative: str = ""
    prox: str | None = None
    result: Literal["real", "int", "same"] = "real"
    shape: Callable[..., Shape | None] | None = None
    structure: Callable[..., Any] | None = None
    numpy: Lowering | None = None
    torch: Lowering | None = None
    casadi: Lowering | None = None
    cvxpy: Lowering | None = None

    def curvature_for(self, params: Mapping[str, Any]) -> Curvature:
        return self.curvature(params) if callable(self.curvature) else self.curvature

    def monotone_for(self, signs: Sequence[Sign]) -> Sequence[Monotone]:
        if callable(self.monotone):
            return self.monotone(*signs)
        marks = self.monotone
        return [marks[i] if i < len(marks) else marks[-1] for i in range(len(signs))]


@cache
def functions() -> dict[str, Function]:
    """All functions by name, from the modules of this folder."""
    found: dict[str, Function] = {}
    for entry in iter_modules(folder.__path__):
        for function in getattr(import_module(f"{folder.__name__}.{entry.name}"), "FUNCTIONS", ()):
            if function.name in found:
                raise ValueError(f"function {function.name} is defined twice")
            found[function.name] = function
    return found
