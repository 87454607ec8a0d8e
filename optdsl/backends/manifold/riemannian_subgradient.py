"""The Riemannian subgradient method with steps μ₀/√k.

Li, Chen, Deng, Qu, Zhu and So, "Weakly convex optimization over Stiefel manifold using Riemannian subgradient-type
methods", SIAM J. Optim. 31 (2021).
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from optdsl.backends.base import IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.first_order import FirstOrder, FirstOrderState
from optdsl.backends.manifold.splitting import INVARIANT, Split

#: Scale at which the prox gives a subgradient: (y − prox_{s h}(y))/s ∈ ∂h(prox_{s h}(y)).
SMALL = 1e-8


class SubgradientOptions(IterativeOptions):
    tol: float = Field(1e-12, gt=0, description="stop when the objective changes by less")
    max_iter: int = Field(2000, ge=0, description="largest number of iterations")
    mu: float = Field(0.1, gt=0, description="step μ₀ of μ₀/√k")


class RiemannianSubgradient(FirstOrder):
    name = "riemannian_subgradient"
    Options: ClassVar[type[Options]] = SubgradientOptions
    summary = "Riemannian subgradient method"
    assumes = (INVARIANT,)
    guarantees = "O(ε⁻⁴) for weakly convex functions; local"
    traits = frozenset({Trait.LOCAL, Trait.BASELINE, Trait.WARM_START})
    paper = Paper("Weakly convex optimization over Stiefel manifold", "arXiv:1911.05047")
    preference = 60

    def advance(self, split: Split, options: SubgradientOptions, s: FirstOrderState) -> FirstOrderState:
        AX = split.A(s.X)
        y = split.prox(AX, SMALL)
        sub = (AX - y) / SMALL
        G = split.form.egrad(s.X) + split.At(sub)
        X = split.M.retract(s.X, -options.mu / (s.k + 1) ** 0.5 * split.M.project(s.X, G))
        F = split.F(X)
        return replace(s, X=X, y=y, lam=-sub, F=F, residual=abs(F - s.F))
