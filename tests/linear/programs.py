"""Random and classical programs for the tests."""

from __future__ import annotations

import numpy as np

from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram

DANTZIG_COST = 90 * np.array([2.5, 1.7, 1.8, 2.5, 1.8, 1.4]) / 1000


def dantzig() -> LinearProgram:
    """Dantzig's transport problem (Linear Programming and Extensions, 1963, ch. 3.3): 153.675 thousand dollars."""
    A = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
    inf = np.inf
    return LinearProgram.from_arrays(DANTZIG_COST, A, [-inf, -inf, 325, 300, 275], [350, 600, inf, inf, inf], lower=0.0)


def random_program(seed: int, kind: str) -> LinearProgram:
    """Dense random programs; `kind` says what is special."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 9)), int(rng.integers(3, 9))
    A = rng.integers(-4, 5, (m, n)).astype(float)
    x = rng.integers(-2, 3, n).astype(float)
    lower, upper = np.full(n, -10.0), np.full(n, 10.0)
    side = A @ x
    row_lower, row_upper = np.full(m, -np.inf), side + rng.integers(0, 3, m)
    c = rng.integers(-5, 6, n).astype(float)
    if kind == "free":
        lower[:], upper[:] = -np.inf, np.inf
        c = -A.T @ rng.integers(0, 4, m)
    elif kind == "equality":
        k = min(m, n) // 2
        row_lower[:k] = row_upper[:k] = side[:k]
    elif kind == "ranged":
        row_lower = side - rng.integers(0, 4, m)
    elif kind == "fixed":
        lower[:2] = upper[:2] = x[:2]
    elif kind == "degenerate":
        A = np.vstack([A, A, A[:1] + A[1:2]])
        row_upper = np.concatenate([side, side, side[:1] + side[1:2]])
        row_lower = np.full(row_upper.size, -np.inf)
    elif kind == "infeasible":
        A = np.vstack([A, -(A[:1] + A[1:2])])
        row_upper = np.append(row_upper, -(row_upper[0] + row_upper[1]) - 1)
        row_lower = np.full(row_upper.size, -np.inf)
        lower[:], upper[:] = -np.inf, np.inf
    elif kind == "unbounded":
        d = rng.integers(1, 4, n)
        A -= np.outer(np.maximum(np.ceil(A @ d / (d @ d)), 0), d)
        lower[:], upper[:] = 0.0, np.inf
        row_upper = np.abs(rng.integers(0, 5, m)).astype(float)
        c = -np.abs(c) - 1
    return LinearProgram.from_arrays(c, A, row_lower, row_upper, lower, upper)


def random_quadratic(seed: int) -> QuadraticProgram:
    """½‖F x − g‖² with F (k, n) of any rank, rows and bounds around a known point."""
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(2, 8)), int(rng.integers(1, 6)), int(rng.integers(1, 9))
    F, g, A, x = rng.normal(size=(k, n)), rng.normal(size=k), rng.normal(size=(m, n)), rng.normal(size=n)
    lower = np.where(rng.random(n) < 0.5, x - 1, -np.inf)
    return QuadraticProgram.from_arrays(
        -F.T @ g, A, A @ x - 0.5, A @ x + 0.5, np.minimum(lower, x), x + 3, P=F.T @ F, c0=0.5 * float(g @ g)
    )


def knapsack(seed: int, n: int) -> MixedInteger:
    rng = np.random.default_rng(seed)
    weight, value = rng.integers(5, 50, n), rng.integers(5, 60, n)
    return MixedInteger.from_arrays(-value, weight[None], -np.inf, weight.sum() // 3, 0.0, 1.0, integer=True)


def lot_sizing(seed: int, periods: int) -> MixedInteger:
    """x_t made, s_t stored, y_t set up: x_t + s_{t−1} = d_t + s_t, x_t ≤ (demand to come) y_t; uncapacitated."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(10, 60, periods).astype(float)
    make, hold, setup = 2.0 + rng.integers(0, 3, periods), 1.0, 100.0
    eye, none = np.eye(periods), np.zeros((periods, periods))
    balance = np.hstack([eye, np.eye(periods, k=-1) - eye, none])
    to_come = np.cumsum(demand[::-1])[::-1]
    switch = np.hstack([eye, none, -np.diag(to_come)])
    integer = np.repeat([False, False, True], periods)
    return MixedInteger.from_arrays(
        np.concatenate([make, np.full(periods, hold), np.full(periods, setup)]),
        np.vstack([balance, switch]),
        np.concatenate([demand, np.full(periods, -np.inf)]),
        np.concatenate([demand, np.zeros(periods)]),
        0.0,
        np.where(integer, 1.0, np.inf),
        integer=integer,
    )


def wagner_whitin(form: MixedInteger) -> float:
    """The optimum of `lot_sizing` by dynamic programming (Wagner & Whitin, Management Science 5, 1958)."""
    periods = form.c.size // 3
    demand, make, hold, setup = form.row_lower[:periods], *np.split(form.c, 3)
    best = np.zeros(periods + 1)
    for end in range(1, periods + 1):
        costs = []
        for start in range(end):
            held = sum(demand[t] * hold[start:t].sum() for t in range(start, end))
            costs.append(best[start] + setup[start] + make[start] * demand[start:end].sum() + held)
        best[end] = min(costs)
    return float(best[-1])
