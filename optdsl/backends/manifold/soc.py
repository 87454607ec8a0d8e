"""SOC: splitting of the orthogonality constraint; X is free and near a point P of the manifold.

Lai and Osher, "A splitting method for orthogonality constrained problems", J. Sci. Comput. 58 (2014). The X-step is a
run of proximal gradient steps, as in the RADMM authors' code; P = nearest(X + Λ) is what is returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.first_order import FirstOrder, FirstOrderState
from optdsl.backends.manifold.splitting import COMPACT, IDENTITY, INVARIANT, Split


class SocOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="stop when the objective changes by less")
    max_iter: int = Field(100, ge=0, description="largest number of outer iterations")
    eta: float = Field(1e-2, gt=0, description="step of the inner proximal gradient")
    inner: int = Field(100, ge=1, description="largest number of inner steps")
    rho: float = Field(50.0, gt=0, description="penalty")


class Soc(FirstOrder):
    name = "soc"
    Options: ClassVar[type[Options]] = SocOptions
    summary = "splitting of the manifold constraint"
    assumes = (COMPACT, IDENTITY, INVARIANT)
    guarantees = "none known"
    traits = frozenset({Trait.LOCAL, Trait.BASELINE, Trait.WARM_START})
    paper = Paper("A splitting method for orthogonality constrained problems", "doi:10.1007/s10915-013-9740-x")
    preference = 50

    def advance(self, split: Split, options: SocOptions, s: FirstOrderState) -> FirstOrderState:
        """`y` is the free X, `X` the P on the manifold, `other` Λ."""
        eta, rho = options.eta, options.rho
        P, Lam, X = s.X, s.other, s.y.reshape(s.X.shape)
        for _ in range(options.inner):
            G = split.form.egrad(X) + rho * (X - P + Lam)
            new = split.prox(np.ravel(X - eta * G), eta).reshape(X.shape)
            moved, X = float(np.linalg.norm(new - X)), new
            if moved < 1e-8:
                break
        P = split.M.nearest(X + Lam)
        F = split.F(P)
        return replace(s, X=P, y=np.ravel(X), other=Lam + X - P, F=F, residual=abs(F - s.F))
