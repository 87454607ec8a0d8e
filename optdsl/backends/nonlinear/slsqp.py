"""SciPy's SLSQP: sequential least squares programming, dense. A baseline for small problems.

Kraft, "A software package for sequential quadratic programming", DFVLR-FB 88-28 (1988).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.nonlinear.scipy_solver import Functions, StopHere
from optdsl.forms.answer import Answer
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run


class SlsqpOptions(IterativeOptions):
    tol: float = Field(1e-12, gt=0, description="tolerance of the objective")
    max_iter: int = Field(1000, ge=1, description="largest number of iterations")


class Slsqp(Backend):
    name = "slsqp"
    forms = (Nonlinear,)
    Options: ClassVar[type[Options]] = SlsqpOptions
    summary = "sequential least squares programming (SciPy)"
    assumes = (
        Assumption("continuous", lambda form: not form.integer.any(), "some variables are restricted to whole numbers"),
    )
    guarantees = "a point that satisfies the first-order conditions"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START, Trait.BASELINE})
    paper = Paper("A software package for sequential quadratic programming", "DFVLR-FB 88-28, 1988")
    package = "scipy"
    preference = 70

    def solve(self, form: Nonlinear, options: SlsqpOptions, run: Run) -> Answer:
        from scipy.optimize import minimize

        call = Functions(form, run)
        equal = np.flatnonzero(form.row_lower == form.row_upper)
        low = np.flatnonzero(np.isfinite(form.row_lower) & (form.row_lower != form.row_upper))
        high = np.flatnonzero(np.isfinite(form.row_upper) & (form.row_lower != form.row_upper))
        constraints = []
        for kind, at, sign, side in (("eq", equal, 1.0, form.row_lower), ("ineq", low, 1.0, form.row_lower),
                                     ("ineq", high, -1.0, form.row_upper)):  # fmt: skip
            if len(at):
                constraints.append({
                    "type": kind,
                    "fun": lambda x, at=at, sign=sign, side=side: sign * (call.rows(x)[at] - side[at]),
                    "jac": lambda x, at=at, sign=sign: sign * call.jac(x)[at].toarray(),
                })  # fmt: skip
        start = np.clip(form.start, form.lower, form.upper)
        try:
            call.seen(start)
            result = minimize(
                call.f, start, jac=call.grad, bounds=call.bounds(), constraints=constraints, method="SLSQP",
                callback=call.seen, options={"maxiter": options.max_iter, "ftol": options.tol},
            )  # fmt: skip
        except StopHere:
            result = None
        return call.answer(result, limit_status=9)
