"""Entropic transport with capacities, block by block: Dykstra's algorithm in its potential form (TSENOR, Algorithm 1).

max ⟨S, w⟩ + H(S)/τ over S 1 = N 1, Sᵀ 1 = N 1, 0 ≤ S ≤ 1 is the KL projection of exp(τ w) on three sets. Dykstra's
multiplier of the capacity telescopes, so a sweep needs only the potentials a, b of rows and columns:

    L = min(τ w + a 1ᵀ + 1 bᵀ, 0)
    r = log N − logsumexp_row(L);   a += r;   L += r 1ᵀ
    c = log N − logsumexp_col(L);   b += c

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
SMALLEST_LOGARITHM = -60.0
LARGEST_FACTOR = 1e8
BEYOND = 1e300


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
    """K = exp(τ w + a 1ᵀ + 1 bᵀ), cut off where an entry is sure to stay at 0 or at its capacity until the
    next time K is taken (the factors move by at most LARGEST_FACTOR each), in the precision of a sum."""
    M = w.shape[0]
    for i in range(M):
        for j in range(M):
            K[i, j] = min(tau * w[i, j] + a[i] + b[j], LARGEST_LOGARITHM)
    for i in range(M):
        for j in range(M):
            K[i, j] = math.exp(K[i, j]) if K[i, j] > SMALLEST_LOGARITHM else 0.0


@fast_kernel
def scaled_sweep(
    K: NDArray[Any],
    N: int,
    alpha: NDArray[Any],
    beta: NDArray[Any],
    S: NDArray[Any],
    r: NDArray[Any],
    c: NDArray[Any],
) -> tuple[float, float]:
    """One sweep on the factors; S (one row of the plan), r and c (M,) are work space, all arrays in K's precision.

    Returns the largest row error before the row step, and the largest of all factors and their inverses; changes
    nothing and returns (BEYOND, BEYOND) when a row or column has vanished in K's precision.
    """
    M = K.shape[0]
    one = K.dtype.type(1.0)
    goal = K.dtype.type(N)
    vanished = False
    error = 0.0
    spread = 1.0
    c[:] = 0
    for i in range(M):
        row = K[i]
        x = alpha[i]
        total = K.dtype.type(0.0)
        for j in range(M):
            y = row[j] * x * beta[j]
            S[j] = min(y, one)
        for j in range(M):
            total += S[j]
        vanished |= total <= 0
        error = max(error, abs(total - goal))
        r[i] = goal / total
        y = r[i]
        for j in range(M):
            c[j] += S[j] * y
    for j in range(M):
        vanished |= c[j] <= 0
    if vanished:
        return BEYOND, BEYOND
    for i in range(M):
        alpha[i] *= r[i]
        beta[i] *= goal / c[i]
        spread = max(spread, alpha[i], one / alpha[i], beta[i], one / beta[i])
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
    S = np.empty(M, K.dtype)
    r = np.empty(M, K.dtype)
    c = np.empty(M, K.dtype)
    done = 0
    if cold and sweeps > 0:
        cold_start(w, tau, a, b)
        log_sweep(w, tau, N, a, b, L)
        done = 1
    take_kernel(w, tau, a, b, K)
    error = np.inf
    while done < sweeps and error > tolerance:
        error, spread = scaled_sweep(K, N, alpha, beta, S, r, c)
        if spread > LARGEST_FACTOR or done + 1 == sweeps or error <= tolerance:
            for k in range(M):
                a[k] += math.log(alpha[k])
                b[k] += math.log(beta[k])
            if spread == BEYOND:  # the factors cannot say it: this sweep in logarithms
                log_sweep(w, tau, N, a, b, L)
            alpha[:] = 1
            beta[:] = 1
            take_kernel(w, tau, a, b, K)
        done += 1
    error = 0.0
    for i in range(M):
        total = 0.0
        for j in range(M):
            total += min(K[i, j], 1.0)
        error = max(error, abs(total - N))
    return error


@kernel
def anneal_blocks(
    w: NDArray[Any], N: int, taus: Floats, sweeps: int, tolerance: float, a: Floats, b: Floats, error: Floats
) -> None:
    """`sweeps` sweeps at each temperature for blocks w (B, M, M), warm-started: a/τ and b/τ, the prices, persist.

    Writes a, b (B, M) at the last temperature and the row errors (B,). Precision is that of w.
    """
    K = np.empty(w.shape[1:], w.dtype)
    L = np.empty(w.shape[1:])
    for k in range(w.shape[0]):
        for t in range(len(taus)):
            if t > 0:
                a[k] *= taus[t] / taus[t - 1]
                b[k] *= taus[t] / taus[t - 1]
            error[k] = project(w[k], N, taus[t], sweeps, tolerance, t == 0, a[k], b[k], K, L)
