"""BFGS with a weak-Wolfe line search: global linear, then superlinear convergence from any x₀ and any B₀ ≻ 0.

Jin and Mokhtari, "Affine-invariant global non-asymptotic convergence analysis of BFGS under self-concordance",
arXiv:2507.00361. With H = B⁻¹, d = −Hg, s = ηd, y = g₊ − g, r = 1/(s·y):

    H₊ = (I − r s yᵀ) H (I − r y sᵀ) + r s sᵀ = H − r (s (Hy)ᵀ + Hy sᵀ) + r (1 + r y·Hy) s sᵀ

which keeps the upper triangle of H only and costs 3n² flops by BLAS. The decrement ν = √(g·Hg) estimates the gap as
ν²/2. With B₀ = ∇²f(x₀) the iterates do not depend on the units of the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Assumption, IterativeBackend, IterativeOptions, Options, Paper, Trait
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.kernels.line_search import weak_wolfe
from optdsl.run.loop import Progress
from optdsl.run.run import Run

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Curvature s·y below this share of |s||y| is lost to rounding: the update is skipped.
LOST = 1e-12
#: Beyond this many variables the n² floats of H are refused.
LARGEST = 20_000


class BfgsOptions(IterativeOptions):
    tol: float = Field(1e-12, gt=0, description="target of ν²/2, the estimated gap, times max(1, |f|)")
    gtol: float = Field(1e-7, gt=0, description="target of the largest gradient entry, times 1 + |f|")
    max_iter: int = Field(1000, ge=0, description="largest number of iterations")
    b0: Literal["hessian", "identity", "scaled"] | float = Field(
        "hessian", description="first B: the Hessian at the start, I, c I with c measured, or a number times I"
    )
    alpha: float = Field(0.1, gt=0, lt=0.5, description="share of the linear decrease that a step must reach")
    beta: float = Field(0.9, gt=0, lt=1, description="share of the slope that a step must leave behind")
    bisection: Literal["log", "plain"] = Field("log", description="how the line search bisects")


@dataclass(frozen=True)
class BfgsState:
    """`H` (n, n) holds the upper triangle, in Fortran order, and is updated in place; a kept state is read for x, f, g."""

    x: Vector
    f: float
    g: Vector
    H: Matrix
    nu: float
    eta: float = 0.0
    trials: int = 0
    skipped: int = 0
    restarts: int = 0
    unit_steps: int = 0
    values: int = 0
    gradients: int = 0
    failed: str = ""


class Bfgs(IterativeBackend):
    name = "bfgs"
    forms = (SmoothUnconstrained,)
    Options: ClassVar[type[Options]] = BfgsOptions
    State: ClassVar[type[BfgsState]] = BfgsState
    summary = "BFGS with weak-Wolfe search"
    assumes = (
        Assumption("fits", lambda form: len(form.x0) <= LARGEST, f"its matrix has n² entries; n is above {LARGEST}"),
    )
    guarantees = "linear then superlinear convergence for strictly convex strongly self-concordant objectives"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START})
    paper = Paper(
        "Affine-Invariant Global Non-Asymptotic Convergence Analysis of BFGS under Self-Concordance", "arXiv:2507.00361"
    )
    preference = 10

    def init(self, form: SmoothUnconstrained, options: BfgsOptions, run: Run) -> BfgsState:
        x = np.array(form.x0, dtype=float)
        f, g = float(form.f(x)), np.asarray(form.grad(x), dtype=float)
        run.evaluated()
        if not (np.isfinite(f) and np.isfinite(g).all()):
            return BfgsState(x, f, g, np.zeros((0, 0)), np.inf, failed="the objective is not finite at the start")
        H = _first_inverse(form, options, x, g)
        return BfgsState(x, f, g, H, _decrement(H, g), values=1, gradients=1)

    def step(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState, run: Run) -> BfgsState:
        d = -_times(state.H, state.g)
        found = weak_wolfe(
            form.f, form.grad, state.x, state.f, state.g, d, options.alpha, options.beta, options.bisection
        )
        run.evaluated(found.trials)
        values, gradients = state.values + found.trials, state.gradients + found.gradients
        if not found.accepted:
            return self._after_failure(form, state, values, gradients)
        s, y = found.x - state.x, found.g - state.g
        H = state.H
        sy = float(s @ y)
        kept = sy > LOST * float(np.linalg.norm(s) * np.linalg.norm(y))
        if kept:
            _update(H, s, y, sy)
        return BfgsState(
            found.x, found.f, found.g, H, _decrement(H, found.g), found.eta, found.trials,
            state.skipped + (not kept), state.restarts, state.unit_steps + 1 if found.eta == 1.0 else 0, values, gradients,
        )  # fmt: skip

    def _after_failure(self, form: SmoothUnconstrained, state: BfgsState, values: int, gradients: int) -> BfgsState:
        """Once from a multiple of the identity; a second failure stalls."""
        if state.restarts:
            why = "the line search failed twice"
            return BfgsState(**{**state.__dict__, "values": values, "gradients": gradients, "failed": why})
        H = _scaled(form.grad, state.x, state.g)
        return BfgsState(**{
            **state.__dict__, "H": H, "nu": _decrement(H, state.g), "restarts": 1, "values": values, "gradients": gradients,
        })  # fmt: skip

    def done(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> Stop | None:
        if state.failed:
            kind = StopKind.FAILED if not np.isfinite(state.f) else StopKind.STALLED
            return Stop(kind, state.failed)
        size = float(np.max(np.abs(state.g), initial=0.0))
        scale = 1.0 + abs(state.f)
        at_rounding = state.nu**2 < 1e-15 * abs(state.f) and size <= 10 * options.gtol * scale
        if (0.5 * state.nu**2 <= options.tol * max(1.0, abs(state.f)) and size <= options.gtol * scale) or at_rounding:
            if runs_away(form.f, form.x0, state.x, state.f):
                return Stop(StopKind.STALLED, NO_MINIMISER)
            return Stop(StopKind.CONVERGED)
        if state.f < -1e15 * (1.0 + abs(float(form.f(form.x0)))):
            return Stop(StopKind.STALLED, "the objective falls without end")
        return None

    def progress(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> Progress:
        return Progress(state.f, {"decrement": state.nu, "gradient": float(np.max(np.abs(state.g), initial=0.0))})

    def answer(
        self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState, best: BfgsState, stop: Stop
    ) -> Answer:
        claim, ray = Claim.STATIONARY if stop.kind is StopKind.CONVERGED else Claim.NONE, {}
        if stop.message == "the objective falls without end":
            claim, ray = Claim.UNBOUNDED, {"primal": _unit(state.x - form.x0)}
        elif stop.message == NO_MINIMISER:
            ray = {"primal": _unit(state.x - form.x0)}
        if form.convex and claim is Claim.STATIONARY:
            claim = Claim.OPTIMAL
        return Answer(
            stop=stop,
            claim=claim,
            point=best.x if np.isfinite(best.f) else None,
            objective=best.f,
            ray=ray,
            counts={"f": state.values, "gradient": state.gradients},
            info={"skipped": state.skipped, "restarts": state.restarts, "final_unit_steps": state.unit_steps},
        )


NO_MINIMISER = (
    "no finite minimiser: the objective still falls far out along the path (separable data? add a regulariser)"
)


def runs_away(f: Callable[[Vector], float], x0: Vector, x: Vector, fx: float) -> bool:
    """True where f is smaller ten and a hundred times as far out: a point where ∇f ≈ 0 only because f flattens."""
    step = x - x0
    if not np.any(step):
        return False
    far = [float(f(x0 + k * step)) for k in (10.0, 100.0)]
    return far[0] < fx - 1e-12 * abs(fx) and far[1] <= far[0]


def _unit(d: Vector) -> Vector:
    size = float(np.linalg.norm(d))
    return d / size if size > 0 else d


def _first_inverse(form: SmoothUnconstrained, options: BfgsOptions, x: Vector, g: Vector) -> Matrix:
    """B₀⁻¹ in Fortran order; the Hessian is used where it is given and positive definite."""
    n = len(x)
    if isinstance(options.b0, float | int) and not isinstance(options.b0, bool):
        return np.asfortranarray(np.eye(n) / options.b0)
    if options.b0 == "identity":
        return np.asfortranarray(np.eye(n))
    if options.b0 == "hessian" and form.hess is not None:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        try:
            return np.asfortranarray(cho_solve(cho_factor(form.hess(x)), np.eye(n)))
        except (LinAlgError, ValueError):  # not positive definite, or not finite
            pass
    return _scaled(form.grad, x, g)


def _scaled(gradient: Callable[[Vector], Vector], x: Vector, g: Vector) -> Matrix:
    """I/c with c = s·y/‖s‖² measured on a short gradient step."""
    n, size = len(x), float(np.linalg.norm(g))
    c = max(size, 1e-300)
    if size > 0:
        s = -g * (1e-4 * (1.0 + float(np.linalg.norm(x))) / size)
        y = np.asarray(gradient(x + s), dtype=float) - g
        measured = float(s @ y) / float(s @ s)
        if np.isfinite(measured) and measured > 1e-12 * size:
            c = measured
    return np.asfortranarray(np.eye(n) / c)


def _times(H: Matrix, v: Vector) -> Vector:
    from scipy.linalg.blas import dsymv

    return np.asarray(dsymv(1.0, H, v))


def _decrement(H: Matrix, g: Vector) -> float:
    return float(np.sqrt(max(float(g @ _times(H, g)), 0.0)))


def _update(H: Matrix, s: Vector, y: Vector, sy: float) -> None:
    """The BFGS update of the upper triangle, in place."""
    from scipy.linalg.blas import dsyr, dsyr2

    r = 1.0 / sy
    Hy = _times(H, y)
    dsyr2(-r, s, Hy, a=H, overwrite_a=1)
    dsyr(r * (1.0 + r * float(y @ Hy)), s, a=H, overwrite_a=1)
