"""A polynomial of degree two in one array as dense matrices: f(X) = ½⟨X, 𝓗 X⟩ + ⟨G, X⟩ + c.

Where the Hessian acts on every column of a matrix in the same way, 𝓗 X = H X, only H is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optdsl.lower.torch import TorchFunction

Array = NDArray[np.float64]

#: Entries of the rows of the Hessian that are worked out.
LARGEST = 20_000_000


@dataclass(frozen=True)
class DenseQuadratic:
    """`H` is (n, n) acting on the columns of an n×p array, or (n p, n p) acting on the flat array."""

    shape: tuple[int, ...]
    H: Array
    G: Array
    constant: float

    def hvp(self, X: Array, V: Array) -> Array:
        return np.asarray(self.H @ V.reshape(self.H.shape[1], -1)).reshape(self.shape)

    def grad(self, X: Array) -> Array:
        return self.hvp(X, X) + self.G

    def value(self, X: Array) -> float:
        return float(np.vdot(X, 0.5 * self.hvp(X, X) + self.G)) + self.constant


def dense_quadratic(f: TorchFunction, shape: tuple[int, ...]) -> DenseQuadratic | None:
    """f, known to be of degree at most two in an array of that shape, as matrices; None where they are too large."""
    size = int(np.prod(shape))
    zero = np.zeros(size)
    G, constant = np.asarray(f.grad(zero)).reshape(shape), f.value(zero)
    if len(shape) == 2 and shape[1] > 1 and shape[0] * size <= LARGEST:
        n, p = shape
        rows = f.hess_rows(zero, np.arange(n) * p).reshape(n, n, p)
        found = DenseQuadratic(shape, 0.5 * (rows[:, :, 0] + rows[:, :, 0].T), G, constant)
        V = np.random.default_rng(0).standard_normal(size)
        wanted = f.hvp(zero, V).reshape(shape)
        if np.linalg.norm(found.hvp(zero, V) - wanted) <= 1e-12 * np.linalg.norm(wanted):
            return found
    if size * size <= LARGEST:
        return DenseQuadratic(shape, f.hess(zero), G, constant)
    return None
