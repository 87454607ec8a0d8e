"""RADMM: one Riemannian gradient step and one step in a smoothed h an iteration.

Li, Ma and Srivastava, "A Riemannian ADMM", arXiv:2211.02163. Constants are those of the authors' code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from optdsl.backends.base import IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.first_order import FirstOrder, FirstOrderState
from optdsl.backends.manifold.splitting import COMPACT, INVARIANT, LIPSCHITZ, Split


class RadmmOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="stop when the objective changes by less")
    max_iter: int = Field(500, ge=0, description="largest number of iterations")
    eta: float = Field(1e-2, gt=0, description="step in X")
    rho: float = Field(100.0, gt=0, description="penalty")
    gamma: float = Field(1e-9, gt=0, description="smoothing of h")


class Radmm(FirstOrder):
    name = "radmm"
    Options: ClassVar[type[Options]] = RadmmOptions
    summary = "Riemannian ADMM on a smoothed problem"
    assumes = (COMPACT, LIPSCHITZ, INVARIANT)
    guarantees = "a stationary point of the smoothed problem; local"
    traits = frozenset({Trait.LOCAL, Trait.BASELINE, Trait.WARM_START})
    paper = Paper("A Riemannian ADMM", "arXiv:2211.02163")
    preference = 40

    def advance(self, split: Split, options: RadmmOptions, s: FirstOrderState) -> FirstOrderState:
        rho, gamma = options.rho, options.gamma
        Lam, Z = -s.lam, s.y
        G = split.form.egrad(s.X) + split.At(Lam + rho * (split.A(s.X) - Z))
        X = split.M.retract(s.X, -options.eta * split.M.project(s.X, G))
        AX = split.A(X)
        Y = split.prox(AX + Lam / rho, (1.0 + rho * gamma) / rho)
        Z = (Y / gamma + Lam + rho * AX) / (1.0 / gamma + rho)
        F = split.F(X)
        return replace(s, X=X, y=Z, lam=-(Lam + rho * (AX - Z)), F=F, residual=abs(F - s.F))
