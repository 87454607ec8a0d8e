"""A form as a problem of Pymanopt: the manifold, the cost with progress and limits, the derivatives.

Townsend, Koep and Weichwald, "Pymanopt: a Python toolbox for optimization on manifolds", JMLR 17 (2016). Where Pymanopt
represents points in the same array its own manifold is used, else ours behind its interface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from optdsl.backends.manifold.splitting import start
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.manifold import SmoothOnManifold
from optdsl.kernels import manifolds as ours
from optdsl.kernels.manifolds import Array
from optdsl.run.run import Run


class Stopped(Exception):
    """Raised inside Pymanopt's loop, which has no other way out, when the run is to stop."""


def _adapted(M: ours.Manifold) -> Any:
    """One of our manifolds as Pymanopt sees it: the ambient metric, transport by projection."""
    from pymanopt.manifolds.manifold import RiemannianSubmanifold

    class Adapted(RiemannianSubmanifold):
        def __init__(self) -> None:
            super().__init__(str(M), M.dim, point_layout=1)

        @property
        def typical_dist(self) -> float:
            return float(np.sqrt(M.dim))

        def inner_product(self, point: Array, a: Array, b: Array) -> float:
            return float(np.vdot(a, b))

        def norm(self, point: Array, vector: Array) -> float:
            return float(np.linalg.norm(vector))

        def projection(self, point: Array, vector: Array) -> Array:
            return M.project(point, vector)

        to_tangent_space = projection
        euclidean_to_riemannian_gradient = projection

        def euclidean_to_riemannian_hessian(self, point: Array, G: Array, H: Array, vector: Array) -> Array:
            return M.hess(point, vector, G, H)

        def retraction(self, point: Array, vector: Array) -> Array:
            return M.retract(point, vector)

        def transport(self, a: Array, b: Array, vector: Array) -> Array:
            return M.project(b, vector)

        def zero_vector(self, point: Array) -> Array:
            return np.zeros(M.shape)

        def random_point(self) -> Array:
            raise NotImplementedError("start points come from the run's own generator")

        def random_tangent_vector(self, point: Array) -> Array:
            raise NotImplementedError("directions come from the run's own generator")

    return Adapted()


def pymanopt_manifold(M: ours.Manifold) -> Any:
    from pymanopt import manifolds as theirs

    if isinstance(M, ours.Rotations):
        return _adapted(M)
    if isinstance(M, ours.Grassmann) and M.p < M.n:
        return theirs.Grassmann(M.n, M.p)
    if isinstance(M, ours.Stiefel):
        return theirs.Stiefel(M.n, M.p, retraction="polar")
    if isinstance(M, ours.Sphere) and np.prod(M.shape) > 1:
        return theirs.Sphere(*M.shape)
    if isinstance(M, ours.Oblique):
        return theirs.Oblique(M.n, M.p)
    if isinstance(M, ours.SymmetricPositive):
        return theirs.SymmetricPositiveDefinite(M.n)
    return _adapted(M)


@dataclass
class Watch:
    """Tells of every evaluation of the cost and keeps the best point."""

    form: SmoothOnManifold
    run: Run
    calls: int = 0
    best: Array | None = None
    best_value: float = float("inf")

    def cost(self, X: Array) -> float:
        stop = self.run.stop()
        if stop is not None and self.best is not None:
            raise Stopped(stop.message)
        value = float(self.form.f(X))
        self.calls += 1
        self.run.evaluated()
        if value <= self.best_value:
            self.best, self.best_value = X, value
        self.run.report(self.calls, value)
        return value


def solve(form: SmoothOnManifold, options: Any, run: Run, name: str, optimizer: Callable[..., Any]) -> Answer:
    """Runs `optimizer(**limits)` on the form; the claim is stationary where its gradient test ended the run."""
    import pymanopt

    manifold, watch = pymanopt_manifold(form.manifold), Watch(form, run)
    function = pymanopt.function.numpy(manifold)
    derivatives: dict[str, Any] = {"euclidean_gradient": function(lambda X: np.asarray(form.egrad(X)))}
    if form.ehvp is not None:
        ehvp = form.ehvp
        derivatives["euclidean_hessian"] = function(lambda X, V: np.asarray(ehvp(X, V)))
    problem = pymanopt.Problem(manifold, function(watch.cost), **derivatives)
    limits = {"max_iterations": options.max_iter, "min_gradient_norm": options.tol, "max_time": 1e9, "verbosity": 0}
    X = start(form, run.rng(name), 0)
    try:
        result = optimizer(**limits, max_cost_evaluations=10**9).run(problem, initial_point=X)
    except Stopped as reason:
        stop = run.stop() or Stop(StopKind.INTERRUPTED, str(reason))
        return Answer(stop, Claim.FEASIBLE, watch.best, watch.best_value, counts={"values": watch.calls})
    why = result.stopping_criterion
    converged = "grad norm" in why
    kind = StopKind.ITERATION_LIMIT if "max iterations" in why else StopKind.STALLED
    stop = Stop(StopKind.CONVERGED if converged else kind, why.removeprefix("Terminated - "))
    return Answer(
        stop=stop,
        claim=Claim.STATIONARY if converged else Claim.FEASIBLE,
        point=np.asarray(result.point, float),
        objective=float(result.cost),
        iterations=int(result.iterations),
        counts={"values": watch.calls},
    )
