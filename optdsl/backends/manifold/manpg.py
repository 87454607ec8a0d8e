"""ManPG: proximal gradient on a manifold, the tangent subproblem solved by a semismooth Newton method.

Chen, Ma, So and Zhang, "Proximal gradient method for nonsmooth optimization over the Stiefel manifold", SIAM J. Optim.
30 (2020). D = argmin {⟨∇f, D⟩ + ‖D‖²/(2t) + h(X + D) : D tangent}; with multipliers N in the normal space,
D(N) = prox_{th}(X − t(∇f − N)) − X, and the normal part of D(N) must vanish.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from optdsl.backends.base import IterativeOptions, Options, Paper, Trait
from optdsl.backends.manifold.first_order import FirstOrder, FirstOrderState
from optdsl.backends.manifold.splitting import COMPACT, IDENTITY, INVARIANT, Split
from optdsl.kernels.manifolds import Array
from optdsl.run.run import Run

#: Steps of Newton, of conjugate gradients in each, and halvings of each line search.
NEWTON_STEPS, CG_STEPS, HALVINGS = 40, 100, 12


class ManpgOptions(IterativeOptions):
    tol: float = Field(1e-7, gt=0, description="stop when ‖D‖/t, relative to 1 + ‖∇f‖, is below")
    max_iter: int = Field(20_000, ge=0, description="largest number of iterations")


class Subproblem:
    """The tangent subproblem at X with gradient G."""

    def __init__(self, split: Split, X: Array, G: Array, t: float) -> None:
        self.split, self.X, self.G, self.t = split, X, G, t

    def normal(self, D: Array) -> Array:
        return D - self.split.M.project(self.X, D)

    def prox(self, Z: Array) -> Array:
        return self.split.prox(np.ravel(Z), self.t).reshape(Z.shape)

    def direction(self, N: Array) -> Array:
        return self.prox(self.X - self.t * (self.G - N)) - self.X

    def _newton(self, N: Array, D: Array, E: Array, shift: float) -> Array:
        """(J + shift) d = −E in the normal space, J the derivative of the normal part of D(N)."""
        Z = self.X - self.t * (self.G - N)

        def product(V: Array) -> Array:
            step = 1e-7 * (1.0 + float(np.abs(Z).max())) / max(float(np.abs(V).max()), 1e-300)
            return self.normal(self.t * (self.prox(Z + step * V) - self.X - D) / step) + shift * V

        d, r = np.zeros_like(E), -E
        p, rr = r, float(np.vdot(r, r))
        goal = 1e-4 * min(1.0, rr) * rr
        for _ in range(CG_STEPS):
            Hp = product(p)
            alpha = rr / float(np.vdot(p, Hp))
            d, r = d + alpha * p, r - alpha * Hp
            before, rr = rr, float(np.vdot(r, r))
            if rr <= goal:
                break
            p = r + (rr / before) * p
        return d

    def solve(self, N: Array, accuracy: float) -> tuple[Array, Array]:
        """(D, N) from a first guess of N, to ‖normal part of D‖ ≤ accuracy where Newton gets there."""
        N = self.normal(N)
        D = self.direction(N)
        E = self.normal(D)
        size = float(np.linalg.norm(E))
        for _ in range(NEWTON_STEPS):
            if size <= accuracy:
                break
            d = self._newton(N, D, E, 1e-3 * self.t * min(1.0, size))
            for halving in range(HALVINGS):
                trial = N + 0.5**halving * d
                D_new = self.direction(trial)
                E_new = self.normal(D_new)
                if float(np.linalg.norm(E_new)) <= (1.0 - 1e-4 * 0.5**halving) * size:
                    break
            else:
                return D, N
            N, D, E = trial, D_new, E_new
            size = float(np.linalg.norm(E))
        return D, N


class Manpg(FirstOrder):
    name = "manpg"
    Options: ClassVar[type[Options]] = ManpgOptions
    summary = "proximal gradient on a manifold"
    stationary = True
    assumes = (COMPACT, IDENTITY, INVARIANT)
    guarantees = "a stationary point, O(ε⁻²) iterations; local"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START})
    paper = Paper("Proximal gradient method for nonsmooth optimization over the Stiefel manifold", "arXiv:1811.00980")
    preference = 30

    def __init__(self) -> None:
        super().__init__()
        self._t = 1.0

    def step(self, form, options, state: FirstOrderState, run: Run) -> FirstOrderState:  # type: ignore[no-untyped-def]
        if state.k == 0:
            split = self.split(form)
            L = split.lipschitz(state.X, run.rng("manpg"))
            self._t = 1.0 / L if L else 1.0
        return super().step(form, options, state, run)

    def advance(self, split: Split, options: ManpgOptions, s: FirstOrderState) -> FirstOrderState:
        t, X = self._t, s.X
        G = split.form.egrad(X)
        D, N = Subproblem(split, X, G, t).solve(s.other, 1e-2 * options.tol * t)
        tangent = split.M.project(X, D)
        residual = float(np.linalg.norm(D)) / t / (1.0 + float(np.linalg.norm(G)))
        y, lam = np.ravel(X + D), np.ravel(G - N + D / t)
        if residual <= options.tol:
            return replace(s, y=y, lam=lam, other=N, residual=residual)
        alpha, decrease = 1.0, float(np.vdot(D, D)) / (2.0 * t)
        for _ in range(HALVINGS):
            new = split.M.retract(X, alpha * tangent)
            F = split.F(new)
            if F <= s.F - alpha * decrease + 1e-13 * (1.0 + abs(s.F)):
                break
            alpha *= 0.5
        return replace(s, X=new, y=y, lam=lam, other=N, F=F, residual=residual)
