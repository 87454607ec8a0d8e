"""What the two SciPy baselines share: the form's functions in SciPy's words, watched at every iterate."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.backends.nonlinear.casadi_solver import Watch
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run

Vector = NDArray[np.float64]


class StopHere(Exception):
    """Raised from a callback: SciPy has no other way out of every method."""


class Functions:
    """f, gradient, rows and Jacobian as SciPy calls them."""

    def __init__(self, form: Nonlinear, run: Run) -> None:
        self.form, self.run, self.calls = form, run, form.functions
        self.watch = Watch(form, run)

    def f(self, x: Vector) -> float:
        self.run.evaluated()
        f = float(self.calls["f"](x))
        if f < self.watch.best_merit[1] or self.watch.best_merit[0] > 0:
            self.watch.keep(x, f, self.rows(x))
        return f

    def grad(self, x: Vector) -> Vector:
        return np.array(self.calls["grad"](x), dtype=float).ravel()

    def rows(self, x: Vector) -> Vector:
        return np.array(self.calls["g"](x), dtype=float).ravel()

    def jac(self, x: Vector) -> Any:
        return sp.csr_array(self.calls["jac"](x).sparse())

    def seen(self, x: Vector, *_: Any) -> bool:
        if not self.watch(np.asarray(x, dtype=float), float(self.calls["f"](x)), self.rows(x)):
            raise StopHere
        return False

    def bounds(self) -> Any:
        from scipy.optimize import Bounds

        return Bounds(self.form.lower, self.form.upper, keep_feasible=False)

    def answer(self, result: Any, limit_status: int, iterations: int | None = None) -> Answer:
        if result is None:
            assert self.watch.stop is not None
            best, (_, objective) = self.watch.best, self.watch.best_merit
            return Answer(self.watch.stop, Claim.NONE, best, objective, iterations=self.watch.iteration)
        kind = StopKind.CONVERGED if result.success else StopKind.STALLED
        if result.status == limit_status:
            kind = StopKind.ITERATION_LIMIT
        point, objective = np.asarray(result.x, dtype=float), float(result.fun)
        if (
            not result.success
            and self.watch.best is not None
            and self.watch.best_merit < self.watch.merit(point, objective)
        ):
            point, (_, objective) = self.watch.best, self.watch.best_merit
        return Answer(
            stop=Stop(kind, "" if result.success else str(result.message).lower()),
            claim=Claim.STATIONARY if result.success else Claim.NONE,
            point=point,
            objective=objective,
            iterations=int(iterations if iterations is not None else result.nit),
            counts={"f": int(result.nfev)},
        )
