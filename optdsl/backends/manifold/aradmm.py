"""ARADMM: adaptive Riemannian alternating directions for min f(X) + h(A X) on a compact manifold.

Deng, Jin, Hu and Wang, "Adaptive Riemannian ADMM for Nonsmooth Optimization: Optimal Complexity without Smoothing",
NeurIPS 2025, arXiv:2510.18617. One Riemannian gradient and one prox an iteration; ρ_k = c_ρ k^{1/3} and a step of order
k^{-1/3} reach an ε-KKT point in O(ε⁻³) iterations. The exponents are the proof's; the constants c_ρ, c_γ, the cap
γ_k ≤ ρ_k on the dual step, the restarts and the end by `polish` are ours. `polish=False` is the method alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import IterativeBackend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold import polish
from optdsl.backends.manifold.splitting import COMPACT, INVARIANT, LIPSCHITZ, Split, start
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.manifold import CompositeOnManifold
from optdsl.kernels.manifolds import Array
from optdsl.run.loop import Progress
from optdsl.run.run import Run

#: The objective is computed every so many iterations, and in all of the last tenth.
LOOK = 10
#: Halvings of the step by backtracking, and the share of the promised decrease that it asks for.
HALVINGS, DECREASE = 20, 0.9
#: A point further than this from the manifold is moved to the nearest one.
DRIFT = 1e-10


class AradmmOptions(IterativeOptions):
    tol: float = Field(
        1e-8, gt=0, description="scaled KKT residual at which a start ends (1e-4 is usual without polish)"
    )
    max_iter: int = Field(100_000, ge=0, description="largest number of iterations, all starts together")
    iterations: int = Field(5000, ge=1, description="largest number of iterations of one start")
    starts: int = Field(5, ge=1, description="start points; the best end is returned")
    polish: bool = Field(True, description="finish every start by augmented Lagrangian and trust region steps")
    switch: int = Field(300, ge=1, description="iterations of a start before the polish takes over")
    c_rho: float | None = Field(None, gt=0, description="ρ_k = c_rho k^(1/3); None: entry Lipschitz / median |A X|")
    c_gamma: float | None = Field(None, gt=0, description="size of the dual steps; None: 1e4 c_rho")
    c_tau: float = Field(1.0, gt=0, description="step c_tau / (L_f + ρ_k ‖A‖²)")


@dataclass(frozen=True)
class AradmmState:
    """X^k with the triple (y, λ̄, g) of steps 2 to 4 at it; `lam` is λ^k. `best_*` belong to the current start, `found_*`
    to the best of the starts that have ended. `phase` is descent, polish or over."""

    number: int
    phase: str
    k: int
    X: Array
    lam: Array
    y: Array
    lambar: Array
    g: Array
    G: Array
    r_x: float
    r_f: float
    scaled: float
    F: float
    rho: float
    c_rho: float
    c_gamma: float
    L: float | None
    norm2: float
    tau: float
    r1: float
    radius: float
    last_r_f: float
    best_X: Array
    best_y: Array
    best_lam: Array
    best_F: float
    best_scaled: float
    found_X: Array
    found_y: Array
    found_lam: Array
    found_F: float
    found_scaled: float
    ends: Array


def _with_triple(state: AradmmState, t: polish.Triple, **changes: Any) -> AradmmState:
    return replace(state, y=t.y, lambar=t.lam, g=t.g, G=t.G, r_x=t.r_x, r_f=t.r_f, scaled=t.scaled, **changes)


class Aradmm(IterativeBackend):
    name = "aradmm"
    forms = (CompositeOnManifold,)
    Options: ClassVar[type[Options]] = AradmmOptions
    State = AradmmState
    summary = "adaptive Riemannian ADMM, several starts, polished to a KKT point"
    assumes = (COMPACT, LIPSCHITZ, INVARIANT)
    guarantees = "an ε-KKT point in O(ε⁻³) iterations; local"
    traits = frozenset({Trait.LOCAL, Trait.STOCHASTIC, Trait.WARM_START})
    paper = Paper("Adaptive Riemannian ADMM for Nonsmooth Optimization", "arXiv:2510.18617")
    preference = 10

    def __init__(self) -> None:
        self._split: Split | None = None

    def split(self, form: CompositeOnManifold) -> Split:
        if self._split is None or self._split.form is not form:
            self._split = Split(form)
        return self._split

    def _length(self, options: AradmmOptions) -> int:
        """Iterations of the method itself in one start."""
        share = max(1, min(options.iterations, options.max_iter // options.starts))
        return min(share, options.switch) if options.polish else share

    def init(self, form: CompositeOnManifold, options: AradmmOptions, run: Run) -> AradmmState:
        split, rng = self.split(form), run.rng("aradmm")
        X = start(form, rng, 0)
        nothing = np.zeros(split.m)
        blank = AradmmState(
            number=0, phase="descent", k=1, X=X, lam=nothing, y=nothing, lambar=nothing, g=X, G=X, r_x=np.inf,
            r_f=np.inf, scaled=np.inf, F=np.inf, rho=0.0, c_rho=0.0, c_gamma=0.0, L=split.lipschitz(X, rng),
            norm2=split.norm2(rng), tau=np.inf, r1=0.0, radius=0.0, last_r_f=np.inf, best_X=X, best_y=nothing,
            best_lam=nothing, best_F=np.inf, best_scaled=np.inf, found_X=X, found_y=nothing, found_lam=nothing,
            found_F=np.inf, found_scaled=np.inf, ends=np.full(options.starts, np.nan),
        )  # fmt: skip
        return self._begin(split, options, blank, X, rng)

    def _begin(
        self, split: Split, options: AradmmOptions, state: AradmmState, X: Array, rng: np.random.Generator
    ) -> AradmmState:
        """The first iterate of a start: λ¹ = 0 and c_ρ by the rule at X¹."""
        c_rho = options.c_rho or self._penalty(split, state, X, rng)
        c_gamma = options.c_gamma or 1e4 * c_rho
        lam = np.zeros(split.m)
        changes = {"X": X, "lam": lam, "k": 1, "phase": "descent", "rho": c_rho, "c_rho": c_rho, "c_gamma": c_gamma}
        changes |= {"tau": options.c_tau / (c_rho * state.norm2) if state.norm2 > 0 else 1.0, "best_F": np.inf}
        return _with_triple(state, split.triple(X, lam, c_rho), F=split.F(X), r1=0.0, **changes)

    def _penalty(self, split: Split, state: AradmmState, X: Array, rng: np.random.Generator) -> float:
        """c_ρ: the entry Lipschitz constant over median |A X¹|, at least L_f/(4‖A‖²)."""
        entry, middle = split.entry_lipschitz, float(np.median(np.abs(split.A(X))))
        L = self._local_lipschitz(split, X, rng) if state.L is None else state.L
        share = L / state.norm2 if state.norm2 > 0 else 0.0
        c_rho = max(entry / middle, 0.25 * share) if middle > 0 else max(share, entry)
        return c_rho if c_rho > 0 else 1.0

    @staticmethod
    def _local_lipschitz(split: Split, X: Array, rng: np.random.Generator) -> float:
        other = split.M.retract(X, 1e-3 * split.M.project(X, rng.standard_normal(X.shape)))
        change = split.form.egrad(other) - split.form.egrad(X)
        return float(np.linalg.norm(change) / np.linalg.norm(other - X))

    def step(self, form: CompositeOnManifold, options: AradmmOptions, state: AradmmState, run: Run) -> AradmmState:
        split = self.split(form)
        run.evaluated()
        state = self._polish(split, options, state) if state.phase == "polish" else self._descend(split, options, state)
        if state.phase == "over":
            state = self._finish(split, state)
            if state.number < options.starts:
                rng = run.rng("aradmm")
                state = self._begin(split, options, state, start(form, rng, state.number), rng)
        return state

    def _descend(self, split: Split, options: AradmmOptions, s: AradmmState) -> AradmmState:
        """Steps 6 to 8 from X^k, then 1 to 5 at X^{k+1}."""
        if s.scaled <= options.tol:
            return replace(s, phase="over")
        k = s.k
        X, tau = self._move(split, options, s)
        if split.M.residual(X) > DRIFT:
            X = split.M.nearest(X)
        residual = split.A(X) - s.y
        size = float(np.linalg.norm(residual))
        r1 = size if k == 1 else s.r1
        gamma = min(s.rho, s.c_gamma / (k ** (1 / 3) * np.log(k + 1) ** 2))
        if size > 0:
            gamma = min(gamma, s.c_gamma * r1 * np.log(2) ** 2 / (size * (k + 1) * np.log(k + 2) ** 2))
        lam = s.lam - gamma * residual
        rho = s.c_rho * (k + 1) ** (1 / 3)
        length = self._length(options)
        last = k + 1 >= 0.9 * length
        F = split.F(X) if last or (k + 1) % LOOK == 0 else s.F
        s = _with_triple(s, split.triple(X, lam, rho), X=X, lam=lam, rho=rho, k=k + 1, r1=r1, F=F, tau=tau)
        if last and F <= s.best_F:
            s = replace(s, best_X=X, best_y=s.y, best_lam=s.lambar, best_F=F, best_scaled=s.scaled)
        if k + 1 < length or s.scaled <= options.tol:
            return s
        if not options.polish:
            return replace(s, phase="over")
        inner = polish.begin(split, X, s.lambar, rho)
        s = _with_triple(s, inner.triple, lam=inner.lam, radius=inner.radius, last_r_f=inner.last_r_f)
        return replace(s, phase="polish", best_F=np.inf)

    def _move(self, split: Split, options: AradmmOptions, s: AradmmState) -> tuple[Array, float]:
        """X^{k+1} and the step; by backtracking on ψ_k where L_f is not known."""
        if s.L is not None:
            tau = options.c_tau / max(s.L + s.rho * s.norm2, 1e-300)
            return split.M.retract(s.X, -tau * s.g), tau
        longest = options.c_tau / (s.rho * s.norm2) if s.norm2 > 0 else s.tau * 2
        tau, before = min(2.0 * s.tau, longest), split.psi(s.X, s.lam, s.rho)
        for _ in range(HALVINGS):
            X = split.M.retract(s.X, -tau * s.g)
            if split.psi(X, s.lam, s.rho) <= before - 0.5 * DECREASE * tau * s.r_x**2:
                return X, tau
            tau *= 0.5
        return split.M.retract(s.X, -tau * s.g), tau

    def _polish(self, split: Split, options: AradmmOptions, s: AradmmState) -> AradmmState:
        at = polish.Triple(s.y, s.lambar, s.g, s.G, s.r_x, s.r_f, s.scaled)
        inner = polish.advance(split, polish.Inner(s.X, s.lam, s.rho, s.radius, s.last_r_f, at), options.tol)
        changes = {"lam": inner.lam, "rho": inner.rho, "radius": inner.radius, "last_r_f": inner.last_r_f}
        s = _with_triple(s, inner.triple, X=inner.X, F=split.F(inner.X), k=s.k + 1, **changes)
        share = max(1, min(options.iterations, options.max_iter // options.starts))
        over = s.scaled <= options.tol or s.radius < 1e-14 or s.k >= share
        return replace(s, phase="over") if over else s

    def _finish(self, split: Split, s: AradmmState) -> AradmmState:
        """The end of a start enters the comparison: the last point, or the best of its last tenth where that is lower."""
        s = self._compared(replace(s, F=split.F(s.X)))
        ends = s.ends.copy()
        ends[s.number] = min(s.F, s.best_F)
        return replace(s, number=s.number + 1, ends=ends)

    @staticmethod
    def _compared(s: AradmmState) -> AradmmState:
        points = [
            (s.found_F, s.found_scaled, s.found_X, s.found_y, s.found_lam),
            (s.F, s.scaled, s.X, s.y, s.lambar),
            (s.best_F, s.best_scaled, s.best_X, s.best_y, s.best_lam),
        ]
        F, scaled, X, y, lam = min(points, key=lambda p: p[0] if np.isfinite(p[0]) else np.inf)
        return replace(s, found_F=F, found_scaled=scaled, found_X=X, found_y=y, found_lam=lam)

    def done(self, form: CompositeOnManifold, options: AradmmOptions, state: AradmmState) -> Stop | None:
        if not (np.isfinite(state.F) and np.all(np.isfinite(state.X))):
            return Stop(StopKind.FAILED, "the objective or the point is not a finite number")
        if state.number < options.starts:
            return None
        if state.found_scaled <= options.tol:
            return Stop(StopKind.CONVERGED, f"scaled KKT residual {state.found_scaled:.2g}")
        words = f"every start used its iterations; scaled KKT residual {state.found_scaled:.2g}"
        return Stop(StopKind.ITERATION_LIMIT, words)

    def progress(self, form: CompositeOnManifold, options: AradmmOptions, state: AradmmState) -> Progress:
        return Progress(state.F, {"r_x": state.r_x, "r_f": state.r_f}, merit=None)

    def answer(
        self, form: CompositeOnManifold, options: AradmmOptions, state: AradmmState, best: AradmmState, stop: Stop
    ) -> Answer:
        split = self.split(form)
        s = state if state.number == options.starts else self._compared(replace(state, F=split.F(state.X)))
        ends = s.ends[np.isfinite(s.ends)]
        info: dict[str, Any] = {"kkt": s.found_scaled, "rho": s.rho, "starts": len(ends)}
        if len(ends):
            info |= {"objective_best": float(ends.min()), "objective_median": float(np.median(ends))}
        info["sparsity"] = float(np.mean(np.abs(s.found_y) < 1e-5))
        return Answer(
            stop=stop,
            claim=Claim.STATIONARY if s.found_scaled <= options.tol else Claim.FEASIBLE,
            point=s.found_X,
            objective=s.found_F,
            dual={"terms": s.found_lam, "split": s.found_y},
            info=info,
        )
