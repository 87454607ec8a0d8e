"""SciPy's BFGS: the peer of our own, with a strong-Wolfe search and an update of n³ operations."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from optdsl.backends.base import Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.nonlinear.scipy_solver import StopHere
from optdsl.backends.smooth.lbfgsb import SmoothWatch, scipy_answer
from optdsl.forms.answer import Answer
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.run import Run


class ScipyBfgsOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="target of the largest gradient entry")
    max_iter: int = Field(5000, ge=1, description="largest number of iterations")


class ScipyBfgs(Backend):
    name = "scipy_bfgs"
    forms = (SmoothUnconstrained,)
    Options: ClassVar[type[Options]] = ScipyBfgsOptions
    summary = "BFGS with strong-Wolfe search (SciPy)"
    guarantees = "a stationary point in practice"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START, Trait.BASELINE})
    paper = Paper("Numerical Optimization (Nocedal and Wright), chapter 6", "doi:10.1007/978-0-387-40065-5")
    package = "scipy"
    preference = 55

    def solve(self, form: SmoothUnconstrained, options: ScipyBfgsOptions, run: Run) -> Answer:
        from scipy.optimize import minimize

        watch = SmoothWatch(form, run)
        settings = {"maxiter": options.max_iter, "gtol": options.tol}
        try:
            result = minimize(watch, form.x0, jac=True, method="BFGS", callback=watch.seen, options=settings)
        except StopHere:
            result = None
        return scipy_answer(form, watch, result)
