"""Proximal maps: the optimality condition (y − prox)/t ∈ ∂h(prox), CVXPY on the same problem, and Lipschitz constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.functions.table import functions
from optdsl.kernels import prox as kinds
from optdsl.kernels.prox import L1, L2, Array, Hinge, Huber, LInf, Max, Nuclear, ProxFunction, Shifted, make_prox

SHAPE = (4, 3)
WEIGHTS = np.abs(np.random.default_rng(1).standard_normal(SHAPE))
OFFSET = np.random.default_rng(2).standard_normal(SHAPE)


def _sum_of(norm: str, axis: int) -> Callable[[Any, Any], Any]:
    """The same function in CVXPY, written fibre by fibre."""

    def build(cp: Any, z: Any) -> Any:
        fibres = [z[:, j] for j in range(SHAPE[1])] if axis == 0 else [z[i, :] for i in range(SHAPE[0])]
        f = {"2": lambda v: cp.norm(v, 2), "inf": lambda v: cp.norm(v, "inf"), "max": cp.max}[norm]
        return sum(f(v) for v in fibres)

    return build


CASES: dict[str, tuple[ProxFunction, Callable[[Any, Any], Any]]] = {
    "l1": (L1(0.7), lambda cp, z: 0.7 * cp.sum(cp.abs(z))),
    "weighted l1": (L1(WEIGHTS), lambda cp, z: cp.sum(cp.multiply(WEIGHTS, cp.abs(z)))),
    "hinge": (Hinge(0.6), lambda cp, z: 0.6 * cp.sum(cp.pos(z))),
    "huber": (Huber(0.8, 0.5), lambda cp, z: 0.8 * cp.sum(cp.huber(z, 0.5))),
    "frobenius": (L2(1.3), lambda cp, z: 1.3 * cp.norm(z, "fro")),
    "columns": (L2(0.9, 0, 3), lambda cp, z: 0.9 * _sum_of("2", 0)(cp, z)),
    "rows": (L2(0.9, 1, 4), lambda cp, z: 0.9 * _sum_of("2", 1)(cp, z)),
    "l_inf": (LInf(1.1), lambda cp, z: 1.1 * cp.max(cp.abs(z))),
    "l_inf of rows": (LInf(0.5, 1, 4), lambda cp, z: 0.5 * _sum_of("inf", 1)(cp, z)),
    "l_inf of columns": (LInf(0.5, 0, 3), lambda cp, z: 0.5 * _sum_of("inf", 0)(cp, z)),
    "max": (Max(1.1), lambda cp, z: 1.1 * cp.max(z)),
    "max of columns": (Max(0.5, 0, 3), lambda cp, z: 0.5 * _sum_of("max", 0)(cp, z)),
    "nuclear": (Nuclear(SHAPE, 0.9), lambda cp, z: 0.9 * cp.normNuc(z)),
    "shifted rows": (Shifted(L2(0.9, 1, 4), OFFSET), lambda cp, z: 0.9 * _sum_of("2", 1)(cp, z - OFFSET)),
}
EACH = pytest.mark.parametrize("name", CASES)
FEW = settings(max_examples=25, deadline=None, derandomize=True)
DRAWS = given(seed=st.integers(0, 2**32 - 1), t=st.sampled_from([1e-3, 0.1, 0.5, 2.0, 50.0]), tied=st.booleans())


def _draw(seed: int, tied: bool) -> tuple[np.random.Generator, Array]:
    """An array, with zeros and equal entries where `tied`."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(SHAPE) * rng.choice([0.1, 1.0, 10.0])
    return rng, np.asarray(np.round(y)) if tied else y


@EACH
@FEW
@DRAWS
def test_the_residual_is_a_subgradient(name: str, seed: int, t: float, tied: bool) -> None:
    """h(z) ≥ h(p) + ⟨(y − p)/t, z − p⟩ for z near, far, along the axes and along the subgradient itself."""
    h, _ = CASES[name]
    rng, y = _draw(seed, tied)
    p = h.prox(y, t)
    assert p.shape == SHAPE
    s = (y - p) / t
    axes = [sign * e.reshape(SHAPE) for e in np.eye(12) for sign in (1.0, -1.0)]
    for d in [*axes, s, -s, y, *rng.standard_normal((10, *SHAPE))]:
        for size in (1e-3, 1.0, 100.0):
            slack = h.value(p + size * d) - h.value(p) - size * float(np.vdot(s, d))
            assert slack >= -1e-11 * (1.0 + size) * (1.0 + np.abs(y).max() / t)


@EACH
@FEW
@DRAWS
def test_prox_is_firmly_nonexpansive(name: str, seed: int, t: float, tied: bool) -> None:
    h, _ = CASES[name]
    rng, y = _draw(seed, tied)
    z = y + rng.standard_normal(SHAPE)
    d = h.prox(y, t) - h.prox(z, t)
    assert np.vdot(d, d) <= np.vdot(d, y - z) + 1e-11 * (1.0 + np.abs(y).max() ** 2)


@EACH
def test_the_same_as_cvxpy(name: str) -> None:
    import cvxpy as cp

    h, theirs = CASES[name]
    rng = np.random.default_rng(9)
    y, t = 2.0 * rng.standard_normal(SHAPE), 0.7
    z = cp.Variable(SHAPE)
    z.value = y
    assert h.value(y) == pytest.approx(float(theirs(cp, z).value), rel=1e-12)
    cp.Problem(cp.Minimize(theirs(cp, z) + cp.sum_squares(z - y) / (2 * t))).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(h.prox(y, t), z.value, atol=2e-5)


@EACH
@FEW
@DRAWS
def test_lipschitz_constants_bound_the_changes(name: str, seed: int, t: float, tied: bool) -> None:
    h, _ = CASES[name]
    rng, y = _draw(seed, tied)
    d = t * rng.standard_normal(SHAPE)
    rounding = 1e-11 * (1.0 + abs(h.value(y)) + t)
    assert abs(h.value(y + d) - h.value(y)) <= h.lipschitz(12) * np.linalg.norm(d) + rounding
    e = np.zeros(SHAPE)
    e.flat[int(rng.integers(12))] = t
    assert abs(h.value(y + e) - h.value(y)) <= h.entry_lipschitz() * t + rounding


@pytest.mark.parametrize("name", [f.name for f in functions().values() if f.prox is not None])
def test_the_function_table_names_the_class(name: str) -> None:
    """What a function promises as `prox` is what `make_prox` makes of it, with the value of its own NumPy lowering."""
    f = functions()[name]
    h = make_prox(name, 1.0, SHAPE, None, dict(f.params))
    assert f.prox is not None and type(h) is getattr(kinds, f.prox)


def test_families_of_norms_add_up_over_their_groups() -> None:
    """Σ over rows or columns, against np.linalg.norm."""
    y = np.random.default_rng(4).standard_normal(SHAPE)
    for axis in (0, 1):
        for name, order in (("sum norm2", 2), ("sum norm_inf", np.inf), ("sum norm1", 1)):
            h = make_prox(name, 2.0, SHAPE, axis, {})
            assert h is not None
            assert h.value(y) == pytest.approx(2.0 * np.linalg.norm(y, ord=order, axis=axis).sum(), rel=1e-14)
