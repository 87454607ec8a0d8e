"""ARADMM against RADMM, SOC, MADMM and ManPG on sparse PCA, and on dual principal component pursuit.

    python benchmarks/aradmm.py     # about a minute on one core

The instances are the recipes of the RADMM authors' code: H = Q diag|N(0,1)| Qᵀ, n = 300, p = 50, μ = 0.01 (NumPy's
default_rng, drawn in the order Q, |N|, X₀); D = 30, codimension 5, 500 inliers, 1167 outliers, unit columns; and
scikit-learn's digits. The residual is the certificate's: relative KKT, the smaller of given and own multipliers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.direct import solve_form
from optdsl.forms.manifold import CompositeOnManifold, ConvexTerm, LinearMap
from optdsl.kernels.manifolds import Stiefel
from optdsl.kernels.prox import L1

Array = NDArray[np.float64]


def identity(shape: tuple[int, ...]) -> LinearMap:
    return LinearMap(shape=shape, image=shape, apply=lambda X: X, adjoint=lambda Y: Y, identity=True)


def sparse_pca(H: Array, p: int, mu: float, x0: Array | None = None) -> CompositeOnManifold:
    return CompositeOnManifold(
        manifold=Stiefel(len(H), p),
        f=lambda X: -0.5 * float(np.vdot(X, H @ X)),
        egrad=lambda X: -H @ X,
        ehvp=lambda X, V: -H @ V,
        terms=[ConvexTerm(h=L1(mu), A=identity((len(H), p)))],
        x0=x0,
    )


def random_pca(seed: int, n: int = 300, p: int = 50) -> CompositeOnManifold:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    s = np.abs(rng.standard_normal(n))
    return sparse_pca(Q @ np.diag(s) @ Q.T, p, 0.01, np.linalg.qr(rng.standard_normal((n, p)))[0])


def digits(mu: float) -> CompositeOnManifold:
    from sklearn.datasets import load_digits

    D = load_digits().data
    D = D[:, D.std(0) > 0]
    D = (D - D.mean(0)) / D.std(0)
    return sparse_pca(D.T @ D / len(D), 5, mu)


def pursuit(seed: int, D: int = 30, c: int = 5) -> tuple[CompositeOnManifold, Array]:
    """min ‖YᵀX‖₁ over St(D, c), and a basis of the inliers' subspace."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((D, D - c)))[0]
    Y = np.hstack([basis @ rng.standard_normal((D - c, 500)), rng.standard_normal((D, 1167))])
    Y /= np.linalg.norm(Y, axis=0)
    A = LinearMap(shape=(D, c), image=(Y.shape[1], c), apply=lambda X: Y.T @ X, adjoint=lambda Z: Y @ Z)
    x0 = np.linalg.qr(rng.standard_normal((D, c)))[0]
    form = CompositeOnManifold(
        manifold=Stiefel(D, c), f=lambda X: 0.0, egrad=np.zeros_like, ehvp=lambda X, V: np.zeros_like(V),
        terms=[ConvexTerm(h=L1(1.0), A=A)], x0=x0,
    )  # fmt: skip
    return form, basis


def row(
    form: CompositeOnManifold, label: str, name: str, options: Mapping[str, Any], basis: Array | None = None
) -> None:
    begin = time.perf_counter()
    found = solve_form(form, name, options)
    seconds = time.perf_counter() - begin
    answer, verdict = found.answer, found.certificate.verdict.kind.value
    residual = min(c.value for c in found.certificate.checks if c.name.startswith("KKT"))
    solve = found.run.trace[-1].seconds if found.run.trace else seconds
    words = f"| {label} | {answer.objective:.6f} | {residual:.1e} | {answer.iterations} | {solve:.2f} | {verdict} |"
    if basis is not None:
        sine = float(np.linalg.norm(basis.T @ answer.point, 2))
        words += f" {sine:.1e} |"
    print(words, flush=True)


PURE = {"polish": False, "starts": 1}
PCA: list[tuple[str, str, dict[str, Any]]] = [
    ("ARADMM, 500 iterations, c_ρ = c_γ = 1", "aradmm", {**PURE, "max_iter": 500, "c_rho": 1.0, "c_gamma": 1.0}),
    ("ARADMM, 2000 iterations, c_ρ by the rule", "aradmm", {**PURE, "max_iter": 2000}),
    ("ARADMM, one start, polished", "aradmm", {"starts": 1, "iterations": 2000}),
    ("RADMM, 500 iterations", "radmm", {}),
    ("SOC, 100 outer", "soc", {}),
    ("MADMM, 60 outer", "madmm", {"max_iter": 60}),
    ("ManPG, 500 iterations", "manpg", {"max_iter": 500}),
]
DIGITS: list[tuple[str, str, dict[str, Any]]] = [
    ("ARADMM, 5 starts, polished", "aradmm", {}),
    ("ARADMM, one start, without polish", "aradmm", {**PURE, "max_iter": 5000}),
    ("ManPG", "manpg", {}),
    ("RADMM, 5000 iterations", "radmm", {"max_iter": 5000, "tol": 1e-14}),
    ("MADMM, 1000 outer", "madmm", {"max_iter": 1000, "tol": 1e-14}),
    ("Riemannian subgradient, 5000", "riemannian_subgradient", {"max_iter": 5000}),
]


def main() -> None:
    head = "| | F | KKT residual | iterations | seconds | verdict |"
    for seed in (0, 1):
        print(f"\nSparse PCA, n = 300, p = 50, μ = 0.01, seed {seed}\n\n{head}\n| --- | --- | --- | --- | --- | --- |")
        form = random_pca(seed)
        for label, name, options in PCA:
            row(form, label, name, options)
    for mu in (0.2, 0.05):
        print(f"\nDigits, p = 5, μ = {mu}\n\n{head}\n| --- | --- | --- | --- | --- | --- |")
        form = digits(mu)
        for label, name, options in DIGITS:
            row(form, label, name, options)
    form, basis = pursuit(0)
    assert form.x0 is not None
    split = form.terms[0].A.apply(form.x0)
    rule = 1.0 / float(np.median(np.abs(split)))
    print(
        f"\nDual principal component pursuit, D = 30, c = 5\n\n{head} sine |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for factor in (0.1, 1.0, 10.0):
        options = {**PURE, "max_iter": 2000, "c_rho": factor * rule}
        row(form, f"ARADMM, random start, {factor:g} c_ρ", "aradmm", options, basis)
    spectral = np.linalg.eigh(form.terms[0].A.adjoint(form.terms[0].A.apply(np.eye(30))))[1][:, :5]
    row(replace(form, x0=spectral), "ARADMM, spectral start", "aradmm", {**PURE, "max_iter": 2000}, basis)
    row(replace(form, x0=spectral), "ARADMM, spectral start, polished", "aradmm", {"starts": 1}, basis)
    row(
        form,
        "RADMM, 6000 iterations",
        "radmm",
        {"eta": 1e-4, "rho": 50, "gamma": 1e-10, "max_iter": 6000, "tol": 1e-6},
        basis,
    )


if __name__ == "__main__":
    main()
