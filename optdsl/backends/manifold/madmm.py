"""MADMM: alternating directions whose X-step is a short run of Riemannian gradient descent.

Kovnatsky, Glashoff and Bronstein, "MADMM: a generic algorithm for non-smooth optimization on manifolds", ECCV 2016.
Constants are those of the RADMM authors' comparison.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.first_order import FirstOrder, FirstOrderState
from optdsl.backends.manifold.splitting import COMPACT, INVARIANT, Split


class MadmmOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="stop when the objective changes by less")
    max_iter: int = Field(100, ge=0, description="largest number of outer iterations")
    eta: float = Field(1e-2, gt=0, description="step of the inner gradient descent")
    inner: int = Field(100, ge=1, description="largest number of inner steps")
    rho: float = Field(100.0, gt=0, description="penalty")


class Madmm(FirstOrder):
    name = "madmm"
    Options: ClassVar[type[Options]] = MadmmOptions
    summary = "manifold ADMM with inner gradient descent"
    assumes = (COMPACT, INVARIANT)
    guarantees = "none known"
    traits = frozenset({Trait.LOCAL, Trait.BASELINE, Trait.WARM_START})
    paper = Paper("MADMM: a generic algorithm for non-smooth optimization on manifolds", "arXiv:1505.07676")
    preference = 50

    def advance(self, split: Split, options: MadmmOptions, s: FirstOrderState) -> FirstOrderState:
        rho, X = options.rho, s.X
        U = -s.lam / rho
        for _ in range(options.inner):
            G = split.form.egrad(X) + rho * split.At(split.A(X) - s.y + U)
            g = split.M.project(X, G)
            if np.linalg.norm(g) < 1e-8:
                break
            X = split.M.retract(X, -options.eta * g)
        AX = split.A(X)
        y = split.prox(AX + U, 1.0 / rho)
        F = split.F(X)
        return replace(s, X=X, y=y, lam=-rho * (U + AX - y), F=F, residual=abs(F - s.F))
