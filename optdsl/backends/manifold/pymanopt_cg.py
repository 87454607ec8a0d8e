"""Pymanopt's Riemannian nonlinear conjugate gradients."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from optdsl.backends.base import Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.pymanopt_problem import solve
from optdsl.backends.manifold.splitting import INVARIANT
from optdsl.forms.answer import Answer
from optdsl.forms.manifold import SmoothOnManifold
from optdsl.run.run import Run


class PymanoptCGOptions(IterativeOptions):
    tol: float = Field(1e-7, gt=0, description="norm of the Riemannian gradient at which to stop")
    max_iter: int = Field(5000, ge=0, description="largest number of iterations")
    beta: Literal["HestenesStiefel", "PolakRibiere", "FletcherReeves", "HagerZhang"] = Field(
        "HestenesStiefel", description="formula of the conjugate direction"
    )


class PymanoptCG(Backend):
    name = "pymanopt_cg"
    forms = (SmoothOnManifold,)
    Options: ClassVar[type[Options]] = PymanoptCGOptions
    summary = "Riemannian conjugate gradients of Pymanopt"
    assumes = (INVARIANT,)
    guarantees = "a stationary point; local"
    traits = frozenset({Trait.LOCAL, Trait.STOCHASTIC, Trait.WARM_START})
    paper = Paper("Pymanopt: a Python toolbox for optimization on manifolds", "arXiv:1603.03236")
    package = "pymanopt"
    preference = 20

    def solve(self, form: SmoothOnManifold, options: PymanoptCGOptions, run: Run) -> Answer:
        from pymanopt.optimizers import ConjugateGradient

        return solve(
            form, options, run, self.name, lambda **limits: ConjugateGradient(beta_rule=options.beta, **limits)
        )
