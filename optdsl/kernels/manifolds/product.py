"""Products of manifolds, one factor a variable, as flat vectors; and the Euclidean factor of a free variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optdsl.kernels.manifolds.base import Array, Manifold


@dataclass(frozen=True)
class Euclidean:
    """R^shape."""

    shape: tuple[int, ...]
    compact: bool = False

    @property
    def dim(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def project(self, X: Array, G: Array) -> Array:
        return G

    def retract(self, X: Array, V: Array) -> Array:
        return X + V

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return H

    def random(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.shape)

    def nearest(self, X: Array) -> Array:
        return X

    def residual(self, X: Array) -> float:
        return 0.0

    def __str__(self) -> str:
        return f"euclidean({', '.join(map(str, self.shape))})"


@dataclass(frozen=True)
class Product:
    """M₁ × … × M_k. A point is the concatenation of the factors' points, each in row-major order."""

    factors: tuple[Manifold, ...]

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        ends = np.cumsum([int(np.prod(M.shape, dtype=int)) for M in self.factors])
        return tuple(slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.slices[-1].stop,)

    @property
    def compact(self) -> bool:
        return all(M.compact for M in self.factors)

    @property
    def dim(self) -> int:
        return sum(M.dim for M in self.factors)

    def parts(self, X: Array) -> list[Array]:
        return [X[s].reshape(M.shape) for M, s in zip(self.factors, self.slices, strict=True)]

    def _each(self, apply: Callable[..., Array], *vectors: Array) -> Array:
        split = [self.parts(v) for v in vectors]
        pieces: Sequence[Array] = [np.ravel(apply(M, *(s[k] for s in split))) for k, M in enumerate(self.factors)]
        return np.concatenate(pieces)

    def project(self, X: Array, G: Array) -> Array:
        return self._each(lambda M, x, g: M.project(x, g), X, G)

    def retract(self, X: Array, V: Array) -> Array:
        return self._each(lambda M, x, v: M.retract(x, v), X, V)

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return self._each(lambda M, x, v, g, h: M.hess(x, v, g, h), X, V, G, H)

    def random(self, rng: np.random.Generator) -> Array:
        return np.concatenate([np.ravel(M.random(rng)) for M in self.factors])

    def nearest(self, X: Array) -> Array:
        return self._each(lambda M, x: M.nearest(x), X)

    def residual(self, X: Array) -> float:
        return max(M.residual(x) for M, x in zip(self.factors, self.parts(X), strict=True))

    def __str__(self) -> str:
        return " × ".join(str(M) for M in self.factors)
