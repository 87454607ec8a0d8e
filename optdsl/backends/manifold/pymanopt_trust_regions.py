"""Pymanopt's Riemannian trust regions (Absil, Baker and Gallivan, Found. Comput. Math. 7, 2007)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.pymanopt_problem import solve
from optdsl.backends.manifold.splitting import INVARIANT
from optdsl.forms.answer import Answer
from optdsl.forms.manifold import SmoothOnManifold
from optdsl.run.run import Run


class PymanoptTROptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="norm of the Riemannian gradient at which to stop")
    max_iter: int = Field(1000, ge=0, description="largest number of outer iterations")


class PymanoptTrustRegions(Backend):
    name = "pymanopt_trust_regions"
    forms = (SmoothOnManifold,)
    Options: ClassVar[type[Options]] = PymanoptTROptions
    summary = "Riemannian trust regions of Pymanopt"
    assumes = (
        INVARIANT,
        Assumption("Hessian", lambda form: form.ehvp is not None, "no Hessian product of the objective is given"),
    )
    guarantees = "a stationary point of second order; local"
    traits = frozenset({Trait.LOCAL, Trait.STOCHASTIC, Trait.WARM_START})
    paper = Paper("Pymanopt: a Python toolbox for optimization on manifolds", "arXiv:1603.03236")
    package = "pymanopt"
    preference = 10

    def solve(self, form: SmoothOnManifold, options: PymanoptTROptions, run: Run) -> Answer:
        from pymanopt.optimizers import TrustRegions

        return solve(form, options, run, self.name, TrustRegions)
