"""Entropic transport with capacities, block by block: Dykstra's algorithm in its potential form (TSENOR, Algorithm 1).

max ⟨S, w⟩ + H(S)/τ over S 1 = N 1, Sᵀ 1 = N 1, 0 ≤ S ≤ 1 is the KL projection of exp(τ w) on three sets. Dykstra's
multiplier of the capacity telescopes, so a sweep needs only the potentials a, b of rows and columns:

    L = min(τ w + a 1ᵀ + 1 bᵀ, 0);   a += r,  L += r 1ᵀ  with r = log N − logsumexp_row(L);   b += log N − logsumexp_col(L)

A cold start and every sweep that leaves the floating-point range run like that; the others run on
K = exp(τ w + a 1ᵀ + 1 bᵀ), taken once, and on the factors α, β by which exp(a), exp(b) have changed since: no
exponential a sweep, the whole block in the first cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.kernels.masks.compiled import fast_kernel, kernel

Floats = NDArray[np.float64]
LARGEST_LOGARITHM = 60.0
LARGEST_FACTOR = 1e10


@kernel
def log_sweep(w: NDArray[Any], tau: float, N: int, a: Floats, b: Floats, L: Floats) -> None:
    """One sweep in logarithms; changes a, b (M,) in place. w, and L as work space, (M, M)."""
    M = w.shape[0]
    for i in range(M):
        top = -np.inf
        for j in range(M):
            L[i, j] = min(tau * w[i, j] + a[i] + b[j], 0.0)
            top = max(top, L[i, j])
        total = 0.0
        for j in range(M):
            total += math.exp(L[i, j] - top)
        r = math.log(N) - top - math.log(total)
        a[i] += r
        for j in range(M):
            L[i, j] += r
    for j in range(M):
        top = -np.inf
        for i in range(M):
            top = max(top, L[i, j])
        total = 0.0
        for i in range(M):
            total += math.exp(L[i, j] - top)
        b[j] += math.log(N) - top - math.log(total)


@kernel
def cold_start(w: NDArray[Any], tau: float, a: Floats, b: Floats) -> None:
    """a, b before the first sweep: a_i = −τ max_j w_ij, which leaves no row empty; the first row step makes it the same
    as a = −τ max w of the literal algorithm."""
    for i in range(w.shape[0]):
        top = w[i, 0]
        for j in range(1, w.shape[0]):
            top = max(top, w[i, j])
        a[i] = -tau * top
        b[i] = 0.0


@kernel
def take_kernel(w: NDArray[Any], tau: float, a: Floats, b: Floats, K: NDArray[Any]) -> None:
    """K = exp(τ w + a 1ᵀ + 1 bᵀ), entries far above the capacity cut off where they cannot matter."""
    M = w.shape[0]
    for i in range(M):
        for j in range(M):
            K[i, j] = min(tau * w[i, j] + a[i] + b[j], LARGEST_LOGARITHM)
    for i in range(M):
        for j in range(M):
            K[i, j] = math.exp(K[i, j])


@fast_kernel
def scaled_sweep(K: NDArray[Any], N: int, alpha: NDArray[Any], beta: NDArray[Any], c: NDArray[Any]) -> tuple[float, float]:
    """One sweep on the factors; c (M,) and the arrays in K's precision. Returns the largest row error before the row
    step, and the largest of all factors and their inverses (inf when a row or column has vanished)."""
    M = K.shape[0]
    one = K.dtype.type(1.0)
    goal = K.dtype.type(N)
    error = 0.0
    spread = 1.0
    c[:] = 0
    for i in range(M):
        row = K[i]
        x = alpha[i]
        total = K.dtype.type(0.0)
        for j in range(M):
            total += min(row[j] * x * beta[j], one)
        if total <= 0:
            return np.inf, np.inf
        r = goal / total
        error = max(error, abs(total - goal))
        for j in range(M):
            c[j] += min(row[j] * x * beta[j], one) * r
        alpha[i] = x * r
        spread = max(spread, max(alpha[i], one / alpha[i]))
    for j in range(M):
        if c[j] <= 0:
            return np.inf, np.inf
        beta[j] *= goal / c[j]
        spread = max(spread, max(beta[j], one / beta[j]))
    return error, spread


@kernel
def project(
    w: NDArray[Any],
    N: int,
    tau: float,
    sweeps: int,
    tolerance: float,
    cold: bool,
    a: Floats,
    b: Floats,
    K: NDArray[Any],
    L: Floats,
) -> float:
    """Up to `sweeps` sweeps at temperature τ for one block; changes a, b in place; ends early when the largest row
    error is at most `tolerance`.

    w, K, L (M, M), a, b (M,); K and L are work space, K's type sets the precision. Returns the last row error.
    """
    M = w.shape[0]
    alpha = np.ones(M, K.dtype)
    beta = np.ones(M, K.dtype)
    c = np.empty(M, K.dtype)
    done = 0
    if cold and sweeps > 0:
        cold_start(w, tau, a, b)
        log_sweep(w, tau, N, a, b, L)
        done = 1
    take_kernel(w, tau, a, b, K)
    error = np.inf
    while done < sweeps and error > tolerance:
        error, spread = scaled_sweep(K, N, alpha, beta, c)
        if spread == np.inf:  # the factors cannot say it: this sweep again, in logarithms
            log_sweep(w, tau, N, a, b, L)
        elif spread > LARGEST_FACTOR or done + 1 == sweeps or error <= tolerance:
            for k in range(M):
                a[k] += math.log(alpha[k])
                b[k] += math.log(beta[k])
        done += 1
        if spread > LARGEST_FACTOR:
            alpha[:] = 1
            beta[:] = 1
            take_kernel(w, tau, a, b, K)
    error = 0.0
    for i in range(M):
        total = 0.0
        for j in range(M):
            total += math.exp(min(tau * w[i, j] + a[i] + b[j], 0.0))
        error = max(error, abs(total - N))
    return error
