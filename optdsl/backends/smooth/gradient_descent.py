"""Gradient descent with Armijo backtracking: the baseline whose rate depends on the condition number.

Armijo, "Minimization of functions having Lipschitz continuous first partial derivatives", Pacific J. Math. 16 (1966). The
search starts from twice the last step, so that steps may grow again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import IterativeBackend, IterativeOptions, Options, Paper, Trait
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.kernels.line_search import armijo
from optdsl.run.loop import Progress
from optdsl.run.run import Run

Vector = NDArray[np.float64]


class GradientDescentOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="target of the largest gradient entry, times 1 + |f|")
    max_iter: int = Field(100_000, ge=0, description="largest number of iterations")
    alpha: float = Field(0.1, gt=0, lt=1, description="share of the linear decrease that a step must reach")


@dataclass(frozen=True)
class DescentState:
    x: Vector
    f: float
    g: Vector
    eta: float
    values: int = 1
    gradients: int = 1
    failed: str = ""

    @property
    def size(self) -> float:
        return float(np.max(np.abs(self.g), initial=0.0))


class GradientDescent(IterativeBackend):
    name = "gradient_descent"
    forms = (SmoothUnconstrained,)
    Options: ClassVar[type[Options]] = GradientDescentOptions
    State: ClassVar[type[DescentState]] = DescentState
    summary = "gradient descent with Armijo backtracking"
    guarantees = "linear convergence for strongly convex objectives, at a rate set by their condition number"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START, Trait.BASELINE})
    paper = Paper(
        "Minimization of functions having Lipschitz continuous first partial derivatives", "doi:10.2140/pjm.1966.16.1"
    )
    preference = 90

    def init(self, form: SmoothUnconstrained, options: GradientDescentOptions, run: Run) -> DescentState:
        x = np.array(form.x0, dtype=float)
        f, g = float(form.f(x)), np.asarray(form.grad(x), dtype=float)
        run.evaluated()
        finite = np.isfinite(f) and np.isfinite(g).all()
        size = float(np.linalg.norm(g))
        eta = (1.0 + float(np.linalg.norm(x))) / size if finite and size > 0 else 1.0
        return DescentState(x, f, g, eta, failed="" if finite else "the objective is not finite at the start")

    def step(
        self, form: SmoothUnconstrained, options: GradientDescentOptions, state: DescentState, run: Run
    ) -> DescentState:
        eta, x, f, trials = armijo(form.f, state.x, state.f, state.g, -state.g, 2 * state.eta, options.alpha)
        run.evaluated(trials)
        values = state.values + trials
        if eta == 0.0:
            return replace(state, values=values, failed="no step decreases the objective beyond rounding")
        return DescentState(x, f, np.asarray(form.grad(x), dtype=float), eta, values, state.gradients + 1)

    def done(self, form: SmoothUnconstrained, options: GradientDescentOptions, state: DescentState) -> Stop | None:
        if state.failed:
            return Stop(StopKind.STALLED if np.isfinite(state.f) else StopKind.FAILED, state.failed)
        if not np.isfinite(state.g).all():
            return Stop(StopKind.FAILED, "the gradient is not finite")
        return Stop(StopKind.CONVERGED) if state.size <= options.tol * (1.0 + abs(state.f)) else None

    def progress(self, form: SmoothUnconstrained, options: GradientDescentOptions, state: DescentState) -> Progress:
        return Progress(state.f, {"gradient": state.size, "step": state.eta})

    def answer(
        self, form: SmoothUnconstrained, options: GradientDescentOptions, state: DescentState, best: DescentState,
        stop: Stop,
    ) -> Answer:  # fmt: skip
        claim = Claim.OPTIMAL if form.is_convex else Claim.STATIONARY
        return Answer(
            stop=stop,
            claim=claim if stop.kind is StopKind.CONVERGED else Claim.NONE,
            point=best.x if np.isfinite(best.f) else None,
            objective=best.f,
            counts={"f": state.values, "gradient": state.gradients},
        )
