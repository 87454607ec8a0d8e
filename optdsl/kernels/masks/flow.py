"""Exact repair of a mask by successive shortest augmenting paths (Ahuja, Magnanti, Orlin, Network Flows, 9.7).

The maximum of Σ W X over 0 ≤ X ≤ 1 with row and column sums N is a flow from rows to columns; the at-most problem has
one more node, the ground, that takes what rows do not send (slack s) and gives what columns do not get (slack t).
Given potentials u, v and a mask X in complementary slackness with them (X = 1 where W − u − v > 0, 0 where < 0; and,
in the at-most problem, u, v ≥ 0 with no slack where they are positive), every residual arc has a nonnegative reduced
cost, and each augmentation along a shortest path keeps that so. At the end the mask is feasible, hence optimal, and
the dual value D(u, v) = N (Σu + Σv) + Σ max(0, W − u − v) equals its score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optdsl.kernels.masks.compiled import kernel

Floats = NDArray[np.float64]


@kernel
def imbalance(X: NDArray[np.bool_], u: Floats, v: Floats, N: int, at_most: bool, e: NDArray[np.int64]) -> int:
    """Fills e (2M + 1,) with each node's surplus: rows, columns, ground. Slack takes what it may. Returns Σ|e|."""
    M = X.shape[0]
    e[:] = 0
    for i in range(M):
        for j in range(M):
            if X[i, j]:
                e[i] -= 1
                e[M + j] += 1
    total = 0
    for k in range(M):
        e[k] += N
        e[M + k] -= N
        if at_most and u[k] == 0.0 and e[k] > 0:
            e[2 * M] += e[k]
            e[k] = 0
        if at_most and v[k] == 0.0 and e[M + k] < 0:
            e[2 * M] += e[M + k]
            e[M + k] = 0
        total += abs(e[k]) + abs(e[M + k])
    return total + abs(e[2 * M])


@kernel
def augment(W: Floats, X: NDArray[np.bool_], u: Floats, v: Floats, N: int, at_most: bool, e: NDArray[np.int64]) -> int:
    """Changes X, u, v in place until every surplus in e is 0; returns the number of augmentations.

    W, X (M, M); u, v (M,); e as `imbalance` left it.
    """
    M = W.shape[0]
    ground = 2 * M
    nodes = 2 * M + 1 if at_most else 2 * M
    s = np.zeros(M, np.int64)
    t = np.zeros(M, np.int64)
    if at_most:
        for i in range(M):
            rows = 0
            columns = 0
            for j in range(M):
                rows += X[i, j]
                columns += X[j, i]
            s[i] = N - rows - e[i]
            t[i] = e[M + i] - columns + N
    for i in range(M):  # entries of reduced cost 0 may be in or out: take those that help both ends
        for j in range(M):
            if e[i] > 0 and e[M + j] < 0 and not X[i, j] and W[i, j] - u[i] - v[j] == 0.0:
                X[i, j] = True
                e[i] -= 1
                e[M + j] += 1
    d = np.empty(nodes)
    before = np.empty(nodes, np.int64)
    settled = np.empty(nodes, np.bool_)
    count = 0
    while True:
        surplus = 0
        for k in range(nodes):
            settled[k] = False
            before[k] = -1
            d[k] = 0.0 if e[k] > 0 else np.inf
            surplus += max(e[k], 0)
        if surplus == 0:
            return count
        end = -1
        while end < 0:  # Dijkstra from all nodes with a surplus at once
            x = -1
            for k in range(nodes):
                if not settled[k] and (x < 0 or d[k] < d[x]):
                    x = k
            if x < 0 or d[x] == np.inf:
                return -1
            settled[x] = True
            if e[x] < 0:
                end = x
            elif x < M:
                for j in range(M):
                    if not X[x, j] and not settled[M + j]:
                        length = d[x] + max(0.0, u[x] + v[j] - W[x, j])
                        if length < d[M + j]:
                            d[M + j] = length
                            before[M + j] = x
                if at_most and not settled[ground] and d[x] + u[x] < d[ground]:
                    d[ground] = d[x] + u[x]
                    before[ground] = x
            elif x < ground:
                j = x - M
                for i in range(M):
                    if X[i, j] and not settled[i]:
                        length = d[x] + max(0.0, W[i, j] - u[i] - v[j])
                        if length < d[i]:
                            d[i] = length
                            before[i] = x
                if at_most and t[j] > 0 and not settled[ground] and d[x] < d[ground]:
                    d[ground] = d[x]
                    before[ground] = x
            else:
                for k in range(M):
                    if s[k] > 0 and d[x] < d[k]:
                        d[k] = d[x]
                        before[k] = x
                    if d[x] + v[k] < d[M + k]:
                        d[M + k] = d[x] + v[k]
                        before[M + k] = x
        D = d[end]
        lift = D - d[ground] if at_most and settled[ground] else 0.0  # keeps the ground's potential at 0
        for k in range(M):
            u[k] += lift + (d[k] - D if settled[k] else 0.0)
            v[k] -= lift + (d[M + k] - D if settled[M + k] else 0.0)
            if at_most:
                u[k] = max(u[k], 0.0)
                v[k] = max(v[k], 0.0)
        y = end
        while before[y] >= 0:
            x = before[y]
            if x < M and y < ground:
                X[x, y - M] = True
            elif x < M:
                s[x] += 1
            elif x < ground and y < M:
                X[y, x - M] = False
            elif x < ground:
                t[x - M] -= 1
            elif y < M:
                s[y] -= 1
            else:
                t[y - M] += 1
            y = x
        e[y] -= 1
        e[end] += 1
        count += 1
