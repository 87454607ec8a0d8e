"""Proximal maps against CVXPY, and the Lipschitz constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from optdsl.kernels.prox import Shifted, make_prox

CASES: list[tuple[str, int | None, Callable[[Any], Any]]] = [
    ("norm1", None, lambda Z: cp.sum(cp.abs(Z))),
    ("sum abs", None, lambda Z: cp.sum(cp.abs(Z))),
    ("norm2", None, lambda Z: cp.norm(Z, "fro")),
    ("norm_fro", None, lambda Z: cp.norm(Z, "fro")),
    ("sum norm2", 1, lambda Z: cp.sum(cp.norm(Z, 2, axis=1))),
    ("sum norm2", 0, lambda Z: cp.sum(cp.norm(Z, 2, axis=0))),
    ("norm_inf", None, lambda Z: cp.max(cp.abs(Z))),
    ("sum norm_inf", 0, lambda Z: cp.sum(cp.max(cp.abs(Z), axis=0))),
    ("max", None, lambda Z: cp.max(Z)),
    ("sum max", 1, lambda Z: cp.sum(cp.max(Z, axis=1))),
    ("norm_nuc", None, lambda Z: cp.normNuc(Z)),
    ("sum pos", None, lambda Z: cp.sum(cp.pos(Z))),
    ("sum relu", None, lambda Z: cp.sum(cp.pos(Z))),
    ("sum huber", None, lambda Z: cp.sum(cp.huber(Z, 1))),
]


@pytest.mark.parametrize(("name", "axis", "peer"), CASES, ids=lambda c: str(c) if not callable(c) else "")
@pytest.mark.parametrize("t", [0.1, 1.7])
def test_prox_is_cvxpys(name: str, axis: int | None, peer: Callable[[Any], Any], t: float) -> None:
    rng = np.random.default_rng(3)
    Y, b = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    h = make_prox(name, 0.7, (4, 3), axis, {"M": 1})
    assert h is not None
    shifted = Shifted(h, b)
    Z = cp.Variable((4, 3))
    cp.Problem(cp.Minimize(0.7 * peer(Z - b) + cp.sum_squares(Z - Y) / (2 * t))).solve(solver="CLARABEL")
    assert Z.value is not None and np.abs(shifted.prox(Y, t) - Z.value).max() <= 1e-6
    assert shifted.value(Y) == pytest.approx(0.7 * peer(cp.Constant(Y - b)).value, rel=1e-12)
    # nearly attained somewhere, never exceeded
    for _ in range(200):
        A, B = rng.standard_normal((2, 4, 3))
        assert abs(h.value(A) - h.value(B)) <= h.lipschitz(12) * np.linalg.norm(A - B) + 1e-12


def test_unknown_functions_have_none() -> None:
    assert make_prox("sum exp", 1.0, (3,), None, {}) is None
    assert make_prox("norm_nuc", 1.0, (3,), None, {}) is None
