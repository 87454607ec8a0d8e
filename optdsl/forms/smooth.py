"""Smooth unconstrained minimisation: f, ∇f, Hessian-vector product, a start. `Answer.point` is x, shape (n,)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optdsl.forms.base import Form

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SmoothUnconstrained(Form):
    """minimise f(x) over x in R^n, float64 throughout.

    `hvp(x, v)` is ∇²f(x) v and `hess(x)` the dense Hessian; either may be absent. Facts, found by the analysis or stated
    by the caller: `convex` (None: not known), `strong_convexity` μ with ∇²f ⪰ μI everywhere, `self_concordance` M with
    |D³f[u, u, u]| ≤ M (uᵀ∇²f u)^(3/2); absent when not known. Each of the last two implies the first.
    """

    title: ClassVar[str] = "smooth unconstrained minimisation"
    f: Callable[[Vector], float]
    grad: Callable[[Vector], Vector]
    x0: Vector
    hvp: Callable[[Vector, Vector], Vector] | None = None
    hess: Callable[[Vector], NDArray[np.float64]] | None = None
    value_and_grad: Callable[[Vector], tuple[float, Vector]] | None = None
    convex: bool | None = None
    strong_convexity: float | None = None
    self_concordance: float | None = None

    def identity(self) -> str:
        """f and ∇f at the start stand for the functions."""
        f, g = float(self.f(self.x0)), np.asarray(self.grad(self.x0), dtype=float)
        return super().identity() + np.float64(f).tobytes().hex() + hashlib.sha256(g.tobytes()).hexdigest()

    @property
    def sizes(self) -> dict[str, Any]:
        return {"variables": len(self.x0)}

    @property
    def is_convex(self) -> bool:
        return bool(self.convex or self.strong_convexity or self.self_concordance is not None)

    @staticmethod
    def from_callables(
        f: Callable[[Vector], float],
        grad: Callable[[Vector], Vector],
        hvp: Callable[[Vector, Vector], Vector] | None = None,
        x0: ArrayLike = (),
        **facts: Any,
    ) -> SmoothUnconstrained:
        """A form without a problem file. `facts` are `convex`, `strong_convexity`, `self_concordance`, `hess`."""
        return SmoothUnconstrained(f=f, grad=grad, hvp=hvp, x0=np.atleast_1d(np.asarray(x0, dtype=np.float64)), **facts)
