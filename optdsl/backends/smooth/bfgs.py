"""BFGS with a weak-Wolfe line search: global linear, then superlinear convergence from any x₀ and any B₀ ≻ 0.

Jin and Mokhtari, "Affine-invariant global non-asymptotic convergence analysis of BFGS under self-concordance",
arXiv:2507.00361. With H = B⁻¹, d = −Hg, s = ηd, y = g₊ − g, r = 1/(s·y):

    H₊ = (I − r s yᵀ) H (I − r y sᵀ) + r s sᵀ = H + s wᵀ + w sᵀ,   w = ½ r (1 + r y·Hy) s − r Hy

which keeps the upper triangle of H only and costs one product with H and one rank-two update by BLAS. The decrement
ν = √(g·Hg) estimates the gap as ν²/2. With B₀ = ∇²f(x₀) the iterates do not depend on the units of the variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv, dsyr2

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
#: A decrement ν² below this share of |f| is rounding: what the gradient can still gain, it has gained.
ROUNDING = 1e-18
#: The Hessian at the start is inverted up to this many variables.
HESSIAN_LIMIT = 2000
#: Beyond this many variables the n² floats of H are refused.
LARGEST = 20_000


class BfgsOptions(IterativeOptions):
    tol: float = Field(1e-12, gt=0, description="target of ν²/2, the estimated gap, times max(1, |f|)")
    gtol: float = Field(1e-7, gt=0, description="target of the largest gradient entry, times 1 + |f|")
    max_iter: int = Field(1000, ge=0, description="largest number of iterations")
    b0: Literal["hessian", "identity", "scaled"] | Annotated[float, Field(gt=0)] = Field(
        "hessian", description="first B: the Hessian at the start, I, c I with c measured, or a number times I"
    )
    alpha: float = Field(0.1, gt=0, lt=0.5, description="share of the linear decrease that a step must reach")
    beta: float = Field(0.9, gt=0, lt=1, description="share of the slope that a step must leave behind")
    bisection: Literal["log", "plain"] = Field("log", description="how the line search bisects")

    @field_validator("beta")
    @classmethod
    def _above_alpha(cls, beta: float, info: ValidationInfo) -> float:
        if beta <= info.data.get("alpha", 0.0):
            raise ValueError("beta must be greater than alpha")
        return beta


ENDLESS = "the objective falls without end"
NO_MINIMISER = (
    "no finite minimiser: the objective still falls far out along the path (separable data? add a regulariser)"
)


@dataclass(frozen=True)
class BfgsState:
    """`H` (n, n) holds the upper triangle, in Fortran order; it is handed on and updated in place, so that of a kept
    state only the rest is read. `d` = −Hg. `ratio` is s·y/(s·Bs) of the last step, 1 in the superlinear phase."""

    x: Vector
    f: float
    g: Vector
    H: Matrix
    d: Vector
    f0: float
    eta: float = 0.0
    trials: int = 0
    ratio: float = 1.0
    skipped: int = 0
    restarts: int = 0
    unit_steps: int = 0
    values: int = 1
    gradients: int = 1
    failed: str = ""

    @cached_property
    def nu2(self) -> float:
        """ν² = g·Hg."""
        return max(-float(self.g @ self.d), 0.0)

    @cached_property
    def size(self) -> float:
        """Largest gradient entry."""
        return float(np.abs(self.g).max()) if len(self.g) else 0.0


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
        f, g = float(form.f(x)), np.array(form.grad(x), dtype=float)
        run.evaluated()
        if not (math.isfinite(f) and np.isfinite(g).all()):
            return BfgsState(x, f, g, np.zeros((0, 0)), 0 * x, f, failed="the objective is not finite at the start")
        H = first_inverse(form, options.b0, x, g)
        return BfgsState(x, f, g, H, -_times(H, g), f)

    def step(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState, run: Run) -> BfgsState:
        x, g, d, H = state.x, state.g, state.d, state.H
        found = weak_wolfe(form.f, form.grad, x, state.f, g, d, options.alpha, options.beta, options.bisection)
        run.evaluated(found.trials)
        values, gradients = state.values + found.trials, state.gradients + found.gradients
        if found.endless:
            return replace(
                state, x=found.x, f=found.f, g=found.g, eta=found.eta, trials=found.trials, values=values,
                gradients=gradients, failed=ENDLESS,
            )  # fmt: skip
        if not found.accepted:
            return self._after_failure(form, options, replace(state, values=values, gradients=gradients))
        s, y = found.x - x, found.g - g
        sy = float(s @ y)
        kept = sy > LOST * math.sqrt(float(s @ s) * float(y @ y))
        Hg = _times(H, found.g)
        if kept:
            w = update_vector(s, y, Hg + d, sy)
            H = dsyr2(1.0, s, w, a=H, overwrite_a=1)
            Hg = Hg + float(w @ found.g) * s + float(s @ found.g) * w
        curvature = -found.eta * float(s @ g)
        return BfgsState(
            found.x, found.f, found.g, H, -Hg, state.f0, found.eta, found.trials, sy / curvature if curvature else 1.0,
            state.skipped + (not kept), state.restarts, state.unit_steps + 1 if found.eta == 1.0 else 0, values, gradients,
        )  # fmt: skip

    def _after_failure(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> BfgsState:
        """Once from a multiple of the identity; a second failure stalls, and so does one within the target."""
        if 0.5 * state.nu2 <= options.tol * max(1.0, abs(state.f)):
            return replace(state, failed="no step decreases the objective beyond rounding")
        if state.restarts:
            return replace(state, failed="the line search failed twice")
        H = _scaled(form.grad, state.x, state.g)
        return replace(state, H=H, d=-_times(H, state.g), restarts=1)

    def done(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> Stop | None:
        if state.failed:
            return Stop(StopKind.STALLED if math.isfinite(state.f) else StopKind.FAILED, state.failed)
        if state.f < -1e15 * (1.0 + abs(state.f0)):
            return Stop(StopKind.STALLED, ENDLESS)
        if not self._reached(form, options, state):
            return None
        if form.is_convex and runs_away(form.f, form.x0, state.x, state.f):
            return Stop(StopKind.STALLED, NO_MINIMISER)
        return Stop(StopKind.CONVERGED)

    def _reached(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> bool:
        """By a proven gap where the form's facts give one near the target, else by ν and the gradient."""
        estimate, target = 0.5 * state.nu2, options.tol * max(1.0, abs(state.f))
        scale = options.gtol * (1.0 + abs(state.f))
        if state.nu2 < ROUNDING * abs(state.f) and state.size <= 10 * scale:
            return True
        if estimate > 2 * target:
            return False
        gap = proven_gap(form, state.x, state.g)
        if gap is None:
            return estimate <= target and state.size <= scale
        return gap <= target

    def progress(self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState) -> Progress:
        residuals = {
            "gradient": state.size, "decrement": math.sqrt(state.nu2), "step": state.eta, "trials": float(state.trials),
            "curvature ratio": state.ratio,
        }  # fmt: skip
        return Progress(state.f, residuals)

    def answer(
        self, form: SmoothUnconstrained, options: BfgsOptions, state: BfgsState, best: BfgsState, stop: Stop
    ) -> Answer:
        claim, ray = Claim.NONE, {}
        if stop.kind is StopKind.CONVERGED:
            best = state  # the gradient was tested here; a best value within rounding says less
            claim = Claim.OPTIMAL if form.is_convex else Claim.STATIONARY
        elif stop.message == ENDLESS:
            claim, ray = Claim.UNBOUNDED, {"primal": _unit(state.x - form.x0)}
        elif stop.message == NO_MINIMISER:
            ray = {"primal": _unit(state.x - form.x0)}
        return Answer(
            stop=stop,
            claim=claim,
            point=best.x if math.isfinite(best.f) else None,
            objective=best.f,
            ray=ray,
            counts={"f": state.values, "gradient": state.gradients},
            info={"skipped": state.skipped, "restarts": state.restarts, "final_unit_steps": state.unit_steps},
        )


def proven_gap(form: SmoothUnconstrained, x: Vector, g: Vector) -> float | None:
    """The smallest bound on f(x) − f* from μ, ‖g‖²/(2μ), and from M, (4/M²) ω*(Mλ/2); None where neither is known."""
    bounds = []
    if form.strong_convexity:
        bounds.append(float(g @ g) / (2.0 * form.strong_convexity))
    M = form.self_concordance
    if M is not None and form.hess is not None and len(x) <= HESSIAN_LIMIT:
        try:
            newton2 = float(g @ cho_solve(cho_factor(form.hess(x)), g))
        except LinAlgError:
            newton2 = math.inf
        u = 0.5 * M * math.sqrt(newton2)
        if M == 0:
            bounds.append(0.5 * newton2)
        else:
            bounds.append(4.0 / M**2 * (-u - math.log1p(-u)) if u < 1 else math.inf)
    return min(bounds, default=None)


def runs_away(f: Callable[[Vector], float], x0: Vector, x: Vector, fx: float) -> bool:
    """True where a convex f is smaller ten and a hundred times as far out: ∇f ≈ 0 at x only because f flattens."""
    step = x - x0
    if not np.any(step):
        return False
    far = [float(f(x0 + k * step)) for k in (10.0, 100.0)]
    return far[0] < fx - 1e-12 * abs(fx) and far[1] <= far[0]


def _unit(d: Vector) -> Vector:
    size = float(np.linalg.norm(d))
    return d / size if size > 0 else d


def first_inverse(form: SmoothUnconstrained, b0: str | float, x: Vector, g: Vector) -> Matrix:
    """B₀⁻¹ in Fortran order; the Hessian is used where it is given and positive definite, else c I."""
    n = len(x)
    if not isinstance(b0, str):
        return np.asfortranarray(np.eye(n) / b0)
    if b0 == "identity":
        return np.asfortranarray(np.eye(n))
    if b0 == "hessian" and form.hess is not None and n <= HESSIAN_LIMIT:
        B = np.asarray(form.hess(x), dtype=float)
        if np.isfinite(B).all():
            try:
                return np.asfortranarray(cho_solve(cho_factor(B), np.eye(n)))
            except LinAlgError:  # not positive definite
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
        if math.isfinite(measured) and measured > 1e-12 * size:
            c = measured
    return np.asfortranarray(np.eye(n) / c)


def _times(H: Matrix, v: Vector) -> Vector:
    return np.asarray(dsymv(1.0, H, v))


def update_vector(s: Vector, y: Vector, Hy: Vector, sy: float) -> Vector:
    """w (n,) of H₊ = H + s wᵀ + w sᵀ."""
    r = 1.0 / sy
    return (0.5 * r * (1.0 + r * float(y @ Hy))) * s - r * Hy
