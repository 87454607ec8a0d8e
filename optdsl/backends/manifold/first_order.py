"""What the baselines share: their state, progress and answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optdsl.backends.base import IterativeBackend
from optdsl.backends.manifold.splitting import Split, start
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.manifold import CompositeOnManifold
from optdsl.kernels.manifolds import Array
from optdsl.run.loop import Progress
from optdsl.run.run import Run


@dataclass(frozen=True)
class FirstOrderState:
    """The point X on the manifold, a split variable y with multipliers λ (empty where a method has none), F(X), the
    residual that the method stops on, and anything of its own in `other` (an array of X's shape)."""

    k: int
    X: Array
    y: Array
    lam: Array
    other: Array
    F: float
    residual: float


class FirstOrder(IterativeBackend):
    """A method for min f(X) + h(A X) given by `advance`."""

    forms = (CompositeOnManifold,)
    State = FirstOrderState
    #: Whether a small residual means a stationary point.
    stationary = False

    def __init__(self) -> None:
        self._split: Split | None = None

    def split(self, form: CompositeOnManifold) -> Split:
        if self._split is None or self._split.form is not form:
            self._split = Split(form)
        return self._split

    def init(self, form: CompositeOnManifold, options: Any, run: Run) -> FirstOrderState:
        split = self.split(form)
        X = start(form, run.rng("start"), 0)
        return FirstOrderState(0, X, split.A(X), np.zeros(split.m), np.zeros_like(X), split.F(X), np.inf)

    def advance(self, split: Split, options: Any, s: FirstOrderState) -> FirstOrderState:
        raise NotImplementedError

    def step(self, form: CompositeOnManifold, options: Any, state: FirstOrderState, run: Run) -> FirstOrderState:
        run.evaluated()
        s = self.advance(self.split(form), options, state)
        # from y = A X and λ = 0 the first step may leave X where it is
        first = state.k == 0 and not self.stationary
        return replace(s, k=state.k + 1, residual=np.inf if first else s.residual)

    def done(self, form: CompositeOnManifold, options: Any, state: FirstOrderState) -> Stop | None:
        if not (np.isfinite(state.F) and np.all(np.isfinite(state.X))):
            return Stop(StopKind.FAILED, "the objective or the point is not a finite number")
        if state.residual <= options.tol:
            kind = StopKind.CONVERGED if self.stationary else StopKind.STALLED
            return Stop(kind, f"the method's own residual is {state.residual:.2g}")
        return None

    def progress(self, form: CompositeOnManifold, options: Any, state: FirstOrderState) -> Progress:
        residuals = {"residual": state.residual} if np.isfinite(state.residual) else {}
        return Progress(state.F, residuals)

    def answer(
        self, form: CompositeOnManifold, options: Any, state: FirstOrderState, best: FirstOrderState, stop: Stop
    ) -> Answer:
        s = state if stop.kind is StopKind.CONVERGED else best
        proven = self.stationary and stop.kind is StopKind.CONVERGED
        claim = Claim.STATIONARY if proven else Claim.FEASIBLE
        return Answer(stop, claim, s.X, s.F, dual={"terms": s.lam, "split": s.y})
