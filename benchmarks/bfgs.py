"""BFGS against SciPy's, with the same exact gradients; the four first matrices; invariance to the units.

PYTHONPATH=. OMP_NUM_THREADS=1 python benchmarks/bfgs.py [repeats]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, rosen, rosen_der

from optdsl.backends.smooth.bfgs import Bfgs, BfgsOptions
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.run import Event, Run
from tests.smooth.objectives import breast_cancer, hard_cubic, logistic, rosenbrock, transformed

Array = NDArray[np.float64]
#: Largest gradient entry asked of both.
GTOL = 1e-6


def plain(form: SmoothUnconstrained) -> SmoothUnconstrained:
    """Only f and ∇f: no Hessian, no facts."""
    return replace(form, hess=None, hvp=None, strong_convexity=None, self_concordance=None)


def digits() -> SmoothUnconstrained:
    """Even against odd digits of scikit-learn, 1797 × 65, λ = 1e-3."""
    from sklearn.datasets import load_digits

    data: Any = load_digits()
    A = np.column_stack([data.data / 16, np.ones(len(data.data))])
    return logistic(A, np.where(data.target % 2 == 0, 1.0, -1.0), 1e-3)


def log_sum_exp(n: int) -> SmoothUnconstrained:
    """log Σ exp(a_i·x − b_i) + 0.005 ‖x‖², 2n terms."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(2 * n, n)), rng.normal(size=2 * n)

    def f(x: Array) -> float:
        z = A @ x - b
        top = float(z.max())
        return top + float(np.log(np.exp(z - top).sum())) + 0.005 * float(x @ x)

    def grad(x: Array) -> Array:
        z = A @ x - b
        p = np.exp(z - z.max())
        return np.asarray(A.T @ (p / p.sum()) + 0.01 * x)

    return SmoothUnconstrained.from_callables(f, grad, x0=np.ones(n), convex=True)


def barrier(n: int) -> SmoothUnconstrained:
    """c·x − Σ ln(1 − a_i·x), 5n half-spaces, inf outside."""
    rng = np.random.default_rng(n)
    A, c = rng.normal(size=(5 * n, n)), rng.normal(size=n)

    def f(x: Array) -> float:
        slack = 1 - A @ x
        return float(c @ x - np.log(slack).sum()) if (slack > 0).all() else float("inf")

    return SmoothUnconstrained.from_callables(f, lambda x: c + A.T @ (1 / (1 - A @ x)), x0=np.zeros(n), convex=True)


def ill_conditioned(n: int) -> SmoothUnconstrained:
    """½ xᵀAx − b·x with a random basis and eigenvalues from 1 to 1e4."""
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A, b = (Q * np.logspace(0, 4, n)) @ Q.T, rng.normal(size=n)
    return SmoothUnconstrained.from_callables(
        lambda x: float(0.5 * x @ (A @ x) - b @ x), lambda x: A @ x - b, x0=np.zeros(n), convex=True
    )


def problems() -> dict[str, SmoothUnconstrained]:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(1000, 300)), np.sign(rng.normal(size=1000))
    shifted = SmoothUnconstrained.from_callables(lambda x: float(rosen(x)), rosen_der, x0=np.full(100, 0.5))
    found = {
        "Rosenbrock": rosenbrock(2), "Rosenbrock, chained": rosenbrock(20), "Rosenbrock, chained from 0.5": shifted,
        "hard cubic": hard_cubic(50), "logistic, breast cancer": logistic(*breast_cancer(), 0.01),
        "logistic, digits": digits(), "logistic, random labels": logistic(*wide, 1e-2), "log barrier": barrier(40),
        "log-sum-exp": log_sum_exp(150), "quadratic, condition 1e4": ill_conditioned(500),
    }  # fmt: skip
    return {name: plain(form) for name, form in found.items()}


def timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    out = work()
    return time.perf_counter() - start, out


def against_scipy(repeats: int) -> None:
    print("| problem | n | SciPy: iterations, f calls, gradient | ours | SciPy ms | ours ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    ratios = []
    for name, form in problems().items():

        def peer(form: SmoothUnconstrained = form) -> Any:
            return minimize(
                form.f, form.x0, jac=form.grad, method="BFGS", options={"gtol": GTOL, "maxiter": 5000}
            )  # fmt: skip

        scale = 1 + abs(float(peer().fun))
        options = BfgsOptions(tol=1e-6, gtol=GTOL / scale, max_iter=5000)

        def ours(form: SmoothUnconstrained = form, options: BfgsOptions = options) -> Any:
            return Bfgs().solve(form, options, Run())

        times = np.array([(timed(peer)[0], timed(ours)[0]) for _ in range(repeats)])
        theirs, mine = peer(), ours()
        ratio = float(np.median(times[:, 1]) / np.median(times[:, 0]))
        ratios.append(ratio)
        sizes = [float(np.abs(form.grad(x)).max()) for x in (theirs.x, mine.point)]
        print(
            f"| {name} | {len(form.x0)} | {theirs.nit}, {theirs.nfev}, {sizes[0]:.1e} | {mine.iterations}, "
            f"{mine.counts['f']}, {sizes[1]:.1e} | {1e3 * np.median(times[:, 0]):.1f} | {1e3 * np.median(times[:, 1]):.1f} "
            f"| {ratio:.2f} |"
        )
    print(f"\nmedian ratio {np.median(ratios):.2f}\n")


def gaps(form: SmoothUnconstrained, optimum: float, b0: Any, count: int) -> list[float]:
    events: list[Event] = []
    bare = replace(form, strong_convexity=None, self_concordance=None)
    options = BfgsOptions(b0=b0, tol=1e-30, gtol=1e-30, max_iter=count)
    Bfgs().solve(bare, options, Run(on_event=events.append))
    return [e.objective - optimum for e in events if e.objective is not None]


def first_matrices() -> None:
    A, y = breast_cancer()
    lam, optimum = 0.01, 0.1004463037812059
    form = logistic(A, y, lam)
    largest = float(np.linalg.eigvalsh(A.T @ A / len(A) / 4)[-1]) + lam
    shown = [0, 5, 10, 15, 20, 25, 30, 40, 60, 80]
    print("| B₀ | " + " | ".join(map(str, shown)) + " | gap < 1e-10 |\n" + "| --- " * (len(shown) + 2) + "|")
    for name, b0 in (("I", 1.0), ("λI", lam), ("LI", largest), ("∇²f(x₀)", "hessian")):
        gap = gaps(form, optimum, b0, 100)
        line = [f"{max(gap[t], 0.0):.0e}" if t < len(gap) and gap[t] > 1e-15 else "0" for t in shown]
        print(f"| {name} | {' | '.join(line)} | {next(t for t, g in enumerate(gap) if g < 1e-10)} |")
    rng = np.random.default_rng(0)
    T = rng.normal(size=(31, 31)) * 10 ** np.linspace(-1.5, 1.5, 31)
    other = transformed(form, T)
    same = replace(form, hess=lambda w: np.eye(31)), replace(other, hess=lambda z: T.T @ T)
    pair = [np.array(gaps(f, 0.0, "hessian", 20)) for f in same]
    print(f"\naffine change of variables, condition {np.linalg.cond(T):.1e}, B₀ = I transformed along:")
    print(f"largest relative difference of f over 20 iterations {np.max(np.abs(pair[0] / pair[1] - 1)):.1e}")
    counts = [next(t for t, g in enumerate(gaps(f, optimum, 1.0, 1000)) if g < 1e-10) for f in (form, other)]
    print(f"with B₀ = I in both units: {counts[0]} and {counts[1]} iterations to a gap of 1e-10")


if __name__ == "__main__":
    against_scipy(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
    first_matrices()
