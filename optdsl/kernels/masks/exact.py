"""Exact transposable N:M masks: dual coordinate descent, threshold, repair.

For a block W (M, M): maximise Σ W X, X in {0, 1}, every row and column sum = N (or ≤ N). The dual function
D(u, v) = N (Σ u_i + Σ v_j) + Σ max(0, W_ij − u_i − v_j) (u, v ≥ 0 in the at-most problem) is piecewise linear in u_i;
its minimisers lie between the N-th and the (N+1)-th largest of W_i· − v. A few rounds of exact minimisation over all
rows, then all columns, leave a thresholded mask that is off in very few places; `flow.augment` mends it exactly.
The rounds run in single precision on many rows at once: any u, v are a valid start for the repair, which is in double.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.kernels.masks.compiled import kernel
from optdsl.kernels.masks.flow import augment, imbalance

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@kernel
def minimise_lines(
    A: Singles, other: Singles, N: int, M: int, at_most: bool, network: NDArray[np.int64], T: Singles, own: Singles
) -> None:
    """Minimises D over the potentials `own` of all lines, those of the crossing lines (`other`) fixed.

    A and T (M, L): A[k, l] is the k-th entry of line l; lines l of one block are M neighbours. `own`, `other` (L,).
    """
    L = A.shape[1]
    for k in range(M):
        for g in range(0, L, M):
            price = other[g + k]
            for l in range(g, g + M):
                T[k, l] = A[k, l] - price
    for c in range(network.shape[0]):
        first = T[network[c, 0]]
        second = T[network[c, 1]]
        for l in range(L):
            x = first[l]
            y = second[l]
            first[l] = max(x, y)
            second[l] = min(x, y)
    for l in range(L):
        low = T[N, l]
        own[l] = np.float32(0.0) if at_most and low <= 0 else np.float32(0.5) * (T[N - 1, l] + low)


@kernel
def solve_blocks(
    scores: NDArray[Any],
    N: int,
    M: int,
    at_most: bool,
    sweeps: int,
    network: NDArray[np.int64],
    start: int,
    stop: int,
    mask: NDArray[np.bool_],
    u: Floats,
    v: Floats,
    value: Floats,
    bound: Floats,
    repairs: NDArray[np.int64],
) -> None:
    """Solves blocks start … stop − 1 (row-major) of `scores` (m, n); 0 < N < M.

    Writes their part of `mask` (m, n), and for each block: u, v (M,) in the row of the block, the mask's score
    `value`, the dual value `bound`, the number of augmentations `repairs`.
    """
    across = scores.shape[1] // M
    together = max(1, 128 // M)
    rows = np.empty((M, together * M), np.float32)
    columns = np.empty((M, together * M), np.float32)
    T = np.empty((M, together * M), np.float32)
    p = np.zeros(together * M, np.float32)
    q = np.zeros(together * M, np.float32)
    scale = np.empty(together)
    W = np.empty((M, M))
    X = np.empty((M, M), np.bool_)
    e = np.empty(2 * M + 1, np.int64)
    rows[:] = 0
    columns[:] = 0
    for first in range(start, stop, together):
        inside = min(together, stop - first)
        for g in range(inside):
            top = (first + g) // across * M
            left = (first + g) % across * M
            largest = 0.0
            for i in range(M):
                for j in range(M):
                    largest = max(largest, abs(np.float64(scores[top + i, left + j])))
            # a power of two, so that ties stay ties in single precision
            scale[g] = 2.0 ** min(max(math.frexp(largest)[1], -1000), 1000)
            for i in range(M):
                for j in range(M):
                    w = np.float32(np.float64(scores[top + i, left + j]) / scale[g])
                    rows[j, g * M + i] = w
                    columns[i, g * M + j] = w
        q[:] = 0
        if (
            at_most
        ):  # away from the edge v = 0 of the feasible prices: a row's price is half the row's, half its columns'
            minimise_lines(rows, q, N, M, at_most, network, T, p)
            for g in range(inside):
                middle = np.float32(0.0)
                for i in range(M):
                    middle += p[g * M + i]
                for j in range(M):
                    q[g * M + j] = middle / np.float32(2 * M)
        for _ in range(sweeps):
            minimise_lines(rows, q, N, M, at_most, network, T, p)
            minimise_lines(columns, p, N, M, at_most, network, T, q)
        for g in range(inside):
            b = first + g
            top = b // across * M
            left = b % across * M
            for k in range(M):
                u[b, k] = p[g * M + k] * scale[g]
                v[b, k] = q[g * M + k] * scale[g]
            for i in range(M):
                for j in range(M):
                    W[i, j] = scores[top + i, left + j]
                    X[i, j] = W[i, j] - u[b, i] - v[b, j] > 0.0
            repairs[b] = 0
            if imbalance(X, u[b], v[b], N, at_most, e) > 0:
                repairs[b] = augment(W, X, u[b], v[b], N, at_most, e)
            primal = 0.0
            dual = 0.0
            for i in range(M):
                dual += N * (u[b, i] + v[b, i])
                for j in range(M):
                    dual += max(0.0, W[i, j] - u[b, i] - v[b, j])
                    if X[i, j]:
                        primal += W[i, j]
                    mask[top + i, left + j] = X[i, j]
            value[b] = primal
            bound[b] = dual
