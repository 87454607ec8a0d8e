"""SciPy's L-BFGS-B: the limited-memory baseline, with no guarantee of a rate.

Byrd, Lu, Nocedal and Zhu, "A limited memory algorithm for bound constrained optimization", SIAM J. Sci. Comput. 16 (1995).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.nonlinear.scipy_solver import StopHere
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.run import Run


class LbfgsbOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="target of the largest gradient entry")
    max_iter: int = Field(15_000, ge=1, description="largest number of iterations")
    memory: int = Field(20, ge=1, description="pairs kept")


class SmoothWatch:
    """f and gradient in one call, reported at every iterate, the best point kept."""

    def __init__(self, form: SmoothUnconstrained, run: Run) -> None:
        self.form, self.run = form, run
        self.best, self.best_f, self.iteration = np.array(form.x0, dtype=float), float("inf"), 0
        self.stop: Stop | None = None
        self.values = 0

    def __call__(self, x: Any) -> tuple[float, Any]:
        self.values += 1
        self.run.evaluated()
        f, g = (
            self.form.value_and_grad(x)
            if self.form.value_and_grad is not None
            else (float(self.form.f(x)), self.form.grad(x))
        )
        if f < self.best_f:
            self.best, self.best_f = np.array(x, dtype=float), f
        return f, g

    def seen(self, *_: Any) -> None:
        self.iteration += 1
        self.run.report(self.iteration, self.best_f)
        self.stop = self.run.stop()
        if self.stop is not None:
            raise StopHere


def scipy_answer(form: SmoothUnconstrained, watch: SmoothWatch, result: Any) -> Answer:
    if result is None:
        assert watch.stop is not None
        return Answer(watch.stop, Claim.NONE, watch.best, watch.best_f, iterations=watch.iteration)
    kind = StopKind.CONVERGED if result.success else StopKind.STALLED
    if result.status == 1 and not result.success:
        kind = StopKind.ITERATION_LIMIT
    claim = Claim.STATIONARY if result.success else Claim.NONE
    return Answer(
        stop=Stop(kind, "" if result.success else str(result.message).lower()),
        claim=Claim.OPTIMAL if form.is_convex and result.success else claim,
        point=np.asarray(result.x, dtype=float),
        objective=float(result.fun),
        iterations=int(result.nit),
        counts={"f": int(result.nfev), "gradient": int(result.njev)},
    )


class Lbfgsb(Backend):
    name = "lbfgsb"
    forms = (SmoothUnconstrained,)
    Options: ClassVar[type[Options]] = LbfgsbOptions
    summary = "limited-memory BFGS (SciPy)"
    guarantees = "a stationary point in practice; no rate"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START, Trait.BASELINE})
    paper = Paper("A limited memory algorithm for bound constrained optimization", "doi:10.1137/0916069")
    package = "scipy"
    preference = 50

    def solve(self, form: SmoothUnconstrained, options: LbfgsbOptions, run: Run) -> Answer:
        from scipy.optimize import minimize

        watch = SmoothWatch(form, run)
        settings = {"maxiter": options.max_iter, "maxfun": 10 * options.max_iter, "maxcor": options.memory,
                    "gtol": options.tol, "ftol": 0.0}  # fmt: skip
        try:
            result = minimize(watch, form.x0, jac=True, method="L-BFGS-B", callback=watch.seen, options=settings)
        except StopHere:
            result = None
        return scipy_answer(form, watch, result)
