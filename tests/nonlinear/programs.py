"""Classical and random nonlinear programs. HS: Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes"
(1981), with their optima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from optdsl.forms.nonlinear import Nonlinear


def program(
    n: int,
    f: Callable[[Any], Any],
    g: Callable[[Any], Sequence[Any]] = lambda x: [],
    sides: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    start: ArrayLike = 0.0,
    convex: bool | None = None,
    integer: ArrayLike = False,
) -> Nonlinear:
    x = ca.MX.sym("x", n)
    rows = ca.vertcat(*g(x)) if g(x) else ca.MX(0, 1)

    def spread(value: ArrayLike, size: int) -> Any:
        return np.broadcast_to(np.asarray(value, dtype=float), (size,)).copy()

    return Nonlinear(
        x=x, f=ca.MX(f(x)), g=rows, row_lower=spread(sides[0], rows.numel()), row_upper=spread(sides[1], rows.numel()),
        lower=spread(bounds[0], n), upper=spread(bounds[1], n), start=spread(start, n), convex=convex,
        integer=np.broadcast_to(np.asarray(integer, dtype=bool), (n,)).copy(),
    )  # fmt: skip


def hs71() -> Nonlinear:
    """17.0140173."""
    return program(
        4, lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], lambda x: [x[0] * x[1] * x[2] * x[3], ca.sumsqr(x)],
        ([25, 40], [np.inf, 40]), (1, 5), [1, 5, 5, 1],
    )  # fmt: skip


def hs14() -> Nonlinear:
    """9 − 2.875 √7 = 1.3934650; convex."""
    return program(
        2, lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, lambda x: [x[0] - 2 * x[1], 1 - x[0] ** 2 / 4 - x[1] ** 2],
        ([-1, 0], [-1, np.inf]), start=2, convex=True,
    )  # fmt: skip


def hs76() -> Nonlinear:
    """−4.681818181818; a convex quadratic program."""
    return program(
        4,
        lambda x: x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3] - x[0] - 3 * x[1]
        + x[2] - x[3],
        lambda x: [x[0] + 2 * x[1] + x[2] + x[3], 3 * x[0] + x[1] + 2 * x[2] - x[3], x[1] + 4 * x[2]],
        ([-np.inf, -np.inf, 1.5], [5, 4, np.inf]), (0, np.inf), 0.5, convex=True,
    )  # fmt: skip


def rosenbrock() -> Nonlinear:
    """0 at (1, 1)."""
    return program(2, lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, start=[-1.2, 1])


def empty() -> Nonlinear:
    """A disc of radius 1 around (3, 3) and the half-plane x + y ≤ 2, 4/√2 from its centre."""
    return program(
        2, lambda x: ca.sumsqr(x), lambda x: [ca.sumsqr(x - 3), x[0] + x[1]], (-np.inf, [1, 2]), convex=True
    )  # fmt: skip


def random_convex(seed: int, boxed: bool = True) -> Nonlinear:
    """Log-sum-exp plus a quadratic, under balls and half-spaces around a known point, in a box."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    A, F, inside = rng.normal(size=(6, n)), rng.normal(size=(2, n)), rng.normal(size=n)
    centres, normals = inside + 0.5 * rng.normal(size=(k, n)), rng.normal(size=(k, n))
    radii = ((centres - inside) ** 2).sum(axis=1) + rng.uniform(0.1, 1, k)
    sides = np.concatenate([radii, normals @ inside + rng.uniform(0, 0.5, k)])
    box = (np.minimum(inside - 0.3, -1), np.maximum(inside + 0.3, 1)) if boxed else (-np.inf, np.inf)
    return program(
        n,
        lambda x: ca.logsumexp(ca.mtimes(A, x)) + 0.5 * ca.sumsqr(ca.mtimes(F, x)),
        lambda x: [ca.sumsqr(x - c) for c in centres] + [ca.dot(a, x) for a in normals],
        (-np.inf, sides), box, inside, convex=True,
    )  # fmt: skip


def random_whole(seed: int) -> Nonlinear:
    """min ‖x − a‖² + exp(b·x) over whole x in [−2, 2]³ and a ball."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2, 2, 3), rng.normal(size=3)
    return program(
        3, lambda x: ca.sumsqr(x - a) + ca.exp(ca.dot(b, x)), lambda x: [ca.sumsqr(x - a / 2)],
        (-np.inf, float(rng.uniform(3, 6))), (-2, 2), 0.0, convex=True, integer=True,
    )  # fmt: skip
