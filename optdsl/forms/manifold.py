"""Minimisation over one embedded manifold: smooth alone, or smooth plus convex terms of linear maps.

`Answer.point` is X, of the manifold's point shape (float64). `Answer.dual` holds `terms`: for the composite form, the
concatenated multipliers λ (one flat block a term, in order) with −λ_i ∈ ∂h_i(y_i), and `split` the y_i likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.base import Form
from optdsl.kernels.manifolds import Manifold
from optdsl.kernels.prox import ProxFunction

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LinearMap:
    """A: R^shape → R^image with its adjoint; `identity` marks the plain one (offsets live in the prox function)."""

    shape: tuple[int, ...]
    image: tuple[int, ...]
    apply: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]
    identity: bool = False


@dataclass(frozen=True, kw_only=True)
class ConvexTerm:
    """h(A X), h convex with a known prox."""

    h: ProxFunction
    A: LinearMap
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class SmoothOnManifold(Form):
    """minimise f(X) over X in M. `egrad` is the Euclidean gradient, `ehvp(X, V)` the Euclidean Hessian product."""

    title: ClassVar[str] = "smooth minimisation on a manifold"
    manifold: Manifold
    f: Callable[[Array], float]
    egrad: Callable[[Array], Array]
    ehvp: Callable[[Array, Array], Array] | None = None
    x0: Array | None = None

    @property
    def sizes(self) -> dict[str, Any]:
        return {"variables": int(np.prod(self.manifold.shape)), "manifold": str(self.manifold)}


@dataclass(frozen=True, kw_only=True)
class CompositeOnManifold(SmoothOnManifold):
    """minimise f(X) + Σ_i h_i(A_i X) over X in M."""

    title: ClassVar[str] = "smooth plus convex nonsmooth terms on a manifold"
    terms: Sequence[ConvexTerm] = ()

    @property
    def sizes(self) -> dict[str, Any]:
        return super().sizes | {"terms": len(self.terms)}
