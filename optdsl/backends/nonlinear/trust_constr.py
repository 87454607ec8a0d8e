"""SciPy's trust-constr: a trust-region interior point with exact Hessians. A baseline.

Byrd, Hribar and Nocedal, "An interior point algorithm for large-scale nonlinear programming", SIAM J. Optim. 9 (1999).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.nonlinear.scipy_solver import Functions, StopHere
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run

#: SciPy's status for a trust region below its limit, which says nothing of optimality.
SMALL_STEP = 2


class TrustConstrOptions(IterativeOptions):
    tol: float = Field(1e-9, gt=0, description="tolerance of gradient and step")
    max_iter: int = Field(3000, ge=1, description="largest number of iterations")


class TrustConstr(Backend):
    name = "trust_constr"
    forms = (Nonlinear,)
    Options: ClassVar[type[Options]] = TrustConstrOptions
    summary = "trust-region interior point (SciPy)"
    assumes = (
        Assumption("continuous", lambda form: not form.integer.any(), "some variables are restricted to whole numbers"),
    )
    guarantees = "a point that satisfies the first-order conditions"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START, Trait.BASELINE})
    paper = Paper("An interior point algorithm for large-scale nonlinear programming", "doi:10.1137/S1052623497325107")
    package = "scipy"
    preference = 80

    def solve(self, form: Nonlinear, options: TrustConstrOptions, run: Run) -> Answer:
        from scipy.optimize import NonlinearConstraint, minimize

        call = Functions(form, run)
        zero = np.zeros(len(form.row_lower))

        def hess(x: Any, weight: float, rows: Any) -> Any:
            return sp.csr_matrix(form.functions["hess"](x, weight, rows).sparse())

        constraints = []
        if len(zero):
            constraints.append(NonlinearConstraint(
                call.rows, form.row_lower, form.row_upper, jac=lambda x: sp.csr_matrix(call.jac(x)),
                hess=lambda x, rows: hess(x, 0.0, rows),
            ))  # fmt: skip
        start = np.clip(form.start, form.lower, form.upper)
        try:
            call.seen(start)
            result = minimize(
                call.f, start, jac=call.grad, hess=lambda x: hess(x, 1.0, zero), bounds=call.bounds(),
                constraints=constraints, method="trust-constr", callback=call.seen,
                options={"maxiter": options.max_iter, "gtol": options.tol, "xtol": options.tol * 1e-2, "verbose": 0},
            )  # fmt: skip
        except StopHere:
            result = None
        answer = call.answer(result, limit_status=0)
        if result is not None and result.status == SMALL_STEP:
            answer.stop, answer.claim = Stop(StopKind.STALLED, "the trust region became too small"), Claim.NONE
        return answer
