"""Blocks of many kinds, and the linear program that judges them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from optdsl.forms.answer import Answer

Floats = NDArray[np.float64]


def lp_optimum(W: Floats, N: int, exactly: bool) -> float:
    """max Σ W X over 0 ≤ X ≤ 1 with row and column sums = N (or ≤ N), by SciPy's HiGHS."""
    M = len(W)
    ones = csr_array(np.ones((1, M)))
    A = vstack([kron(eye_array(M), ones), kron(ones, eye_array(M))])
    b = np.full(2 * M, float(N))
    sums = {"A_eq": A, "b_eq": b} if exactly else {"A_ub": A, "b_ub": b}
    found = linprog(-W.ravel(), bounds=(0, 1), method="highs", **sums)
    assert found.status == 0
    return -float(found.fun)


def block_kinds(M: int, count: int, seed: int) -> dict[str, Floats]:
    """Score matrices of one row of blocks, (M, count M), by kind."""
    rng = np.random.default_rng(seed)
    shape = (M, count * M)
    gaussian = np.abs(rng.standard_normal(shape))
    return {
        "gaussian": gaussian,
        "signed": rng.standard_normal(shape),
        "uniform": rng.random(shape),
        "heavy tails": np.abs(rng.standard_cauchy(shape)),
        "tied": rng.integers(0, 4, shape).astype(np.float64),
        "rank one": np.outer(rng.random(M), rng.random(count * M)),
        "zero": np.zeros(shape),
        "equal": np.full(shape, 0.3),
        "shifted below 0": gaussian - 5.0,
        "large offset": gaussian + 1e6,
        "tiny": gaussian * 1e-200,
        "huge": gaussian * 1e200,
        "permuted": np.tile(gaussian[:, :M], count)[rng.permutation(M)][:, rng.permutation(count * M)],
        "one row counts": gaussian * (np.arange(M) == 1)[:, None],
    }


def retained(answer: Answer) -> float:
    """The score that a mask keeps."""
    assert answer.objective is not None
    return -answer.objective


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
