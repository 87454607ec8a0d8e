"""From scores or a fractional plan to a feasible mask, one block at a time (TSENOR, Algorithm 2, and the baselines).

In all of these `counts` of rows and columns never pass N, so that every mask meets the at-most pattern; `complete` and
`exchange` keep the counts that they find or raise them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.kernels.masks.compiled import kernel

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


@kernel
def greedy(order: NDArray[Any], W: Floats, N: int, at_most: bool, X: Bits) -> None:
    """Visits entries by decreasing `order` (M, M), ties by place, and takes what row and column still have room for."""
    M = W.shape[0]
    rows = np.zeros(M, np.int64)
    columns = np.zeros(M, np.int64)
    X[:] = False
    for k in np.argsort(-order.ravel(), kind="mergesort"):
        i = k // M
        j = k % M
        if rows[i] < N and columns[j] < N and not (at_most and W[i, j] <= 0):
            X[i, j] = True
            rows[i] += 1
            columns[j] += 1


@kernel
def complete(W: Floats, N: int, at_most: bool, steps: int, X: Bits) -> None:
    """Fills rows and columns that are short, by the best single addition or swap at a time.

    For a row i and a column j that are both short: take (i, j) where it is free, else exchange a kept (i', j') for
    (i, j') and (i', j). The at-most problem stops where nothing is gained; the exact one goes on until all are full,
    whatever `steps` (at-most only) says.
    """
    M = W.shape[0]
    rows = np.zeros(M, np.int64)
    columns = np.zeros(M, np.int64)
    for i in range(M):
        for j in range(M):
            rows[i] += X[i, j]
            columns[j] += X[i, j]
    taken = 0
    while not (at_most and taken >= steps):
        best = -np.inf
        bi = bj = bp = bq = -1
        for i in range(M):
            if rows[i] == N:
                continue
            for j in range(M):
                if columns[j] == N:
                    continue
                if not X[i, j]:
                    if W[i, j] > best:
                        best = W[i, j]
                        bi, bj, bp, bq = i, j, i, j
                    continue
                for p in range(M):
                    if X[p, j]:
                        continue
                    for q in range(M):
                        if X[p, q] and not X[i, q]:
                            gain = W[i, q] + W[p, j] - W[p, q]
                            if gain > best:
                                best = gain
                                bi, bj, bp, bq = i, j, p, q
        if bi < 0 or (at_most and best <= 0):
            return
        if bp == bi and bq == bj:
            X[bi, bj] = True
        else:
            X[bp, bq] = False
            X[bi, bq] = True
            X[bp, bj] = True
        rows[bi] += 1
        columns[bj] += 1
        taken += 1


@kernel
def exchange(W: Floats, X: Bits) -> None:
    """2-exchange to a local maximum: kept (i, j), (p, q) for (i, q), (p, j) while that gains. O(M³) a pass, since for
    two rows the gain is a sum of one term for j and one for q."""
    M = W.shape[0]
    changed = True
    while changed:
        changed = False
        for i in range(M):
            for p in range(i + 1, M):
                while True:
                    j = q = -1
                    down = up = -np.inf
                    for k in range(M):
                        if X[i, k] and not X[p, k] and W[p, k] - W[i, k] > down:
                            down = W[p, k] - W[i, k]
                            j = k
                        elif X[p, k] and not X[i, k] and W[i, k] - W[p, k] > up:
                            up = W[i, k] - W[p, k]
                            q = k
                    if j < 0 or q < 0 or not down + up > 1e-12 * (abs(W[i, j]) + abs(W[p, q])):
                        break
                    X[i, j] = X[p, q] = False
                    X[i, q] = X[p, j] = True
                    changed = True


@kernel
def two_approximation(W: Floats, N: int, X: Bits) -> None:
    """Hubara et al. 2021, Algorithm 1: visits entries by increasing W and prunes where row or column still has to lose
    some. The pruned sum is at most twice the least possible; rows and columns may end below N."""
    M = W.shape[0]
    rows = np.full(M, M - N)
    columns = np.full(M, M - N)
    X[:] = True
    for k in np.argsort(W.ravel(), kind="mergesort"):
        i = k // M
        j = k % M
        if rows[i] > 0 or columns[j] > 0:
            X[i, j] = False
            rows[i] -= 1
            columns[j] -= 1


@kernel
def round_blocks(
    W: Floats, order: NDArray[Any], N: int, at_most: bool, search: bool, steps: int, polish: bool, X: Bits
) -> None:
    """Greedy, local search and 2-exchange for blocks W, order, X (B, M, M)."""
    for k in range(W.shape[0]):
        greedy(order[k], W[k], N, at_most, X[k])
        if search or not at_most:
            complete(W[k], N, at_most, steps, X[k])
        if polish:
            exchange(W[k], X[k])


@kernel
def two_approximation_blocks(W: Floats, N: int, X: Bits) -> None:
    """`two_approximation` for blocks W, X (B, M, M)."""
    for k in range(W.shape[0]):
        two_approximation(W[k], N, X[k])
